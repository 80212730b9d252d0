/* verify_counters.c: --explain=counters: what a run on the model was made of, and what each line's
 * memory requests cost against the least that they could. */
#include "driver/verify.h"

static const char *const kinds[] = {[K_VAR] = "assignment",
                                    [K_ARRAY] = "",
                                    [K_SET] = "assignment",
                                    [K_PUT] = "assignment",
                                    [K_FOR] = "loop",
                                    [K_WHILE] = "loop",
                                    [K_IF] = "branch",
                                    [K_BREAK] = "branch",
                                    [K_CONTINUE] = "branch",
                                    [K_LOAD] = "load",
                                    [K_STORE] = "store",
                                    [K_ATOMIC] = "atomic",
                                    [K_CP_ASYNC] = "cp.async",
                                    [K_COMMIT] = "commit",
                                    [K_WAIT] = "wait",
                                    [K_BARRIER] = "barrier",
                                    [K_SYNC_WARP] = "syncwarp",
                                    [K_LDMATRIX] = "ldmatrix",
                                    [K_STMATRIX] = "stmatrix",
                                    [K_MMA] = "mma",
                                    [K_PRINT] = "print",
                                    [K_ASSERT] = "assert",
                                    [K_COMMENT] = ""};

/* Statements of one name, a warp each; those of equal names follow each other or are added up. */
static int64_t count_of(const struct sim_counters *n, int kind) {
    int64_t sum = 0;
    for (int i = 0; i <= K_COMMENT; i++) {
        if (strcmp(kinds[i], kinds[kind]) != 0) continue;
        if (i < kind) return 0; /* said before */
        sum += n->statements[i];
    }
    return *kinds[kind] ? sum : 0;
}

static void put_kinds(struct verify *v, const struct sim_counters *n) {
    bool json = v->options->json;
    const char *between = "";
    text_puts(&v->out, json ? ",\"statements\":{" : "  statements, a warp each: ");
    for (int i = 0; i <= K_COMMENT; i++) {
        int64_t count = count_of(n, i);
        if (!count) continue;
        if (json)
            text_printf(&v->out, "%s\"%s\":%lld", between, kinds[i], (long long)count);
        else
            text_printf(&v->out, "%s%s %lld", between, kinds[i], (long long)count);
        between = json ? "," : ", ";
    }
    text_puts(&v->out, json ? "}" : "\n");
}

static void put_cost(struct verify *v, const struct sim_cost *c, bool first) {
    int line = c->at.end ? source_position(v->c->source, c->at.begin).line : 0;
    bool global = c->buffer->scope == SCOPE_GLOBAL;
    if (v->options->json) {
        text_printf(&v->out,
                    "%s{\"line\":%d,\"kind\":\"%s\",\"buffer\":\"%s\",\"space\":\"%s\","
                    "\"requests\":%lld,\"%s\":%lld,\"least\":%lld}",
                    first ? "" : ",", line, kinds[c->kind], c->buffer->name->text,
                    global ? "global" : "shared", (long long)c->requests,
                    global ? "sectors" : "passes", (long long)c->cost, (long long)c->least);
        return;
    }
    double each = (double)c->cost / (double)c->requests;
    text_printf(&v->out, "  %s:%d: %s '%s': %lld requests of %.2f %s", v->c->source->path, line,
                kinds[c->kind], c->buffer->name->text, (long long)c->requests, each,
                global ? "sectors" : "passes over the banks");
    if (c->cost > c->least)
        text_printf(&v->out, ", where %.2f would do", (double)c->least / (double)c->requests);
    text_puts(&v->out, "\n");
}

void put_explanation(struct verify *v, const struct sim_result *r) {
    put_kinds(v, &r->counters);
    if (v->options->json) text_puts(&v->out, ",\"accesses\":[");
    for (int i = 0; i < r->costs.count; i++) put_cost(v, &r->costs.at[i], i == 0);
    if (v->options->json) text_puts(&v->out, "]");
}
