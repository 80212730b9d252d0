/* verify_report.c: what `tilec verify` says of each run, as text or as JSON, one object a line.
 *
 * A run is printed when it ends, so that a long sweep shows how far it is. */
#include "driver/verify.h"
#include <stdio.h>

static void end(struct verify *v) {
    fwrite(v->out.at, 1, v->out.length, stdout);
    fflush(stdout);
    v->out.length = 0;
    v->out.at[0] = '\0';
}

static void count_failure(struct verify *v, int status) {
    v->failed++;
    if (status > v->status) v->status = status;
}

/* -- pieces
 * --------------------------------------------------------------------------------------- */
static void json_string(struct text *t, const char *s) {
    text_puts(t, "\"");
    for (; *s; s++) {
        if (*s == '"' || *s == '\\')
            text_printf(t, "\\%c", *s);
        else if ((unsigned char)*s < 32)
            text_printf(t, "\\u%04x", (unsigned)*s);
        else
            text_printf(t, "%c", *s);
    }
    text_puts(t, "\"");
}

static void put(struct verify *v, const char *key, const char *value) {
    text_printf(&v->out, ",\"%s\":", key);
    json_string(&v->out, value);
}

/* The dimensions and scalars of a run. */
static void put_dims(struct verify *v, const struct trial *t, const struct sim_data *d) {
    bool json = v->options->json, some = false;
    for (int i = 0; d && i < t->code->params.count; i++) {
        const struct param *p = &t->code->params.at[i];
        if (!p->var) continue;
        text_puts(&v->out, some ? "," : json ? ",\"dims\":{" : v->sizes ? ";" : " with");
        text_printf(&v->out, json ? "\"%s\":" : " %s=", p->name->text);
        bool is_float = dtype_is_float(p->var->dtype);
        if (is_float && json) text_puts(&v->out, "\"");
        if (is_float)
            text_double(&v->out, d->args.scalar[i].f);
        else
            text_printf(&v->out, "%lld", (long long)d->args.scalar[i].i);
        if (is_float && json) text_puts(&v->out, "\"");
        some = true;
    }
    if (some && json) text_puts(&v->out, "}");
}

/* "matmul sm_80: pass with M=1; n=37". */
static void begin(struct verify *v, const struct trial *t, const struct sim_data *d,
                  const char *result) {
    if (v->options->json) {
        text_puts(&v->out, "{\"type\":\"verify\",\"function\":");
        json_string(&v->out, t->code->name->text);
        put(v, "arch", t->kernel->target->name);
        text_printf(&v->out, ",\"seed\":%llu", (unsigned long long)t->seed);
        put(v, "result", result);
        put(v, "unit", t->code->doc ? t->code->doc : t->code->unit->text);
        if (v->sizes) put(v, "sizes", v->sizes);
    } else {
        text_printf(&v->out, "%s %s: %s", t->code->name->text, t->kernel->target->name, result);
        if (v->sizes) text_printf(&v->out, " with %s", v->sizes);
    }
    put_dims(v, t, d);
}

/* -- a pass
 * --------------------------------------------------------------------------------------- */
static void put_counters(struct verify *v, const struct sim_counters *n) {
    if (v->options->json)
        text_printf(&v->out,
                    ",\"shared_requests\":%lld,\"bank_passes\":%lld,\"global_requests\":%lld,"
                    "\"sectors\":%lld,\"mma\":%lld,\"barriers\":%lld",
                    (long long)n->shared_accesses, (long long)n->bank_passes,
                    (long long)n->global_accesses, (long long)n->sectors,
                    (long long)n->statements[K_MMA], (long long)n->statements[K_BARRIER]);
    else
        text_printf(&v->out,
                    "; shared memory: %lld requests in %lld passes; global: %lld requests, %lld "
                    "sectors",
                    (long long)n->shared_accesses, (long long)n->bank_passes,
                    (long long)n->global_accesses, (long long)n->sectors);
}

void report_pass(struct verify *v, const struct trial *t, const struct sim_data *d,
                 const struct sim_result *r) {
    const struct sim_counters *n = &r->counters;
    bool json = v->options->json;
    v->passed++;
    begin(v, t, d, "pass");
    text_printf(&v->out,
                json ? ",\"blocks\":%lld,\"instructions\":%lld"
                     : " (%lld blocks, %lld thread instructions",
                (long long)n->blocks, (long long)n->instructions);
    if (v->how->count) put_counters(v, n);
    text_puts(&v->out, json ? "" : ")\n");
    if (v->how->explain) put_explanation(v, r);
    text_puts(&v->out, json ? "}\n" : "");
    end(v);
}

/* -- a fault
 * -------------------------------------------------------------------------------------- */
static int line_of(const struct verify *v, struct span s) {
    return s.end ? source_position(v->c->source, s.begin).line : 0;
}

static void quote_line(struct verify *v, int line, const char *what) {
    if (!line) return;
    struct span s = source_line(v->c->source, line);
    text_printf(&v->out, "%5d | %.*s%s\n", line, (int)(s.end - s.begin),
                v->c->source->text + s.begin, what);
}

void report_fault(struct verify *v, const struct trial *t, const struct sim_data *d,
                  const struct sim_fault *f) {
    int line = line_of(v, f->at), other = line_of(v, f->other);
    count_failure(v, EXIT_SOURCE);
    begin(v, t, d, "fault");
    if (v->options->json) {
        put(v, "kind", sim_kind_name(f->kind));
        put(v, "file", v->c->source->path);
        text_printf(&v->out,
                    ",\"line\":%d,\"other_line\":%d,\"thread\":%d,\"block\":[%lld,%lld,%lld]", line,
                    other, f->thread, (long long)f->block[0], (long long)f->block[1],
                    (long long)f->block[2]);
        put(v, "message", f->message);
        text_puts(&v->out, "}\n");
    } else {
        text_printf(&v->out, " [%s]\n%s:%d: ", sim_kind_name(f->kind), v->c->source->path, line);
        if (f->thread >= 0) text_printf(&v->out, "thread %d ", f->thread);
        text_printf(&v->out, "of block (%lld, %lld, %lld): %s\n", (long long)f->block[0],
                    (long long)f->block[1], (long long)f->block[2], f->message);
        quote_line(v, line, "");
        if (other != line) quote_line(v, other, "   <- the other one");
    }
    end(v);
}

/* -- a difference
 * --------------------------------------------------------------------------------- */
enum { ROWS_AROUND = 1, COLUMNS_AROUND = 2 };

/* Rows of values around the element, along the last two axes. */
static void put_around(struct verify *v, const char *title, const struct tensor *t,
                       const int64_t *at) {
    int64_t p[TILE_RANK];
    bool json = v->options->json, some = false;
    int last = t->rank - 1;
    memcpy(p, at, sizeof p);
    text_printf(&v->out, json ? ",\"%s\":[" : "  %s\n", title);
    for (int64_t i = -ROWS_AROUND; i <= ROWS_AROUND; i++) {
        if (last > 0) p[last - 1] = at[last - 1] + i;
        if (last > 0 ? p[last - 1] < 0 || p[last - 1] >= t->extent[last - 1] : i != 0) continue;
        text_puts(&v->out, json ? some ? ",[" : "[" : "   ");
        const char *between = "";
        some = true;
        for (int64_t j = -COLUMNS_AROUND; j <= COLUMNS_AROUND; j++) {
            p[last] = at[last] + j;
            if (p[last] < 0 || p[last] >= t->extent[last]) continue;
            text_printf(&v->out, json ? "%s\"%.9g\"" : "%s %12.6g", between, sim_element(t, p));
            if (json) between = ",";
        }
        text_puts(&v->out, json ? "]" : "\n");
    }
    if (json) text_puts(&v->out, "]");
}

static void put_index(struct verify *v, const struct sim_difference *d) {
    for (int i = 0; i < d->buffer->rank; i++)
        text_printf(&v->out, "%s%lld",
                    !i                 ? ""
                    : v->options->json ? ","
                                       : ", ",
                    (long long)d->at[i]);
}

void report_difference(struct verify *v, const struct trial *t, const struct sim_difference *d,
                       const struct sim_data *expected, const struct sim_data *actual) {
    int param = 0;
    bool json = v->options->json;
    const char *name = d->buffer->name->text;
    count_failure(v, EXIT_SOURCE);
    while (t->meaning->params.at[param].buffer != d->buffer) param++;
    begin(v, t, expected, "difference");
    if (json) {
        put(v, "tensor", name);
        text_printf(&v->out, ",\"outside\":%s", d->outside ? "true" : "false");
    }
    if (d->outside) {
        if (!json) text_printf(&v->out, ": bytes around tensor '%s' were overwritten", name);
        text_puts(&v->out, json ? "}\n" : "\n");
        end(v);
        return;
    }
    if (json)
        text_printf(&v->out, ",\"count\":%lld,\"index\":[", (long long)d->count);
    else
        text_printf(&v->out, ": '%s'[", name);
    put_index(v, d);
    if (json)
        text_printf(&v->out, "],\"expected\":\"%.9g\",\"actual\":\"%.9g\"", d->expected, d->actual);
    else
        text_printf(&v->out, "] is %.9g instead of %.9g; %lld elements differ\n", d->actual,
                    d->expected, (long long)d->count);
    put_around(v, json ? "expected_around" : "expected", expected->args.tensor[param], d->at);
    put_around(v, json ? "actual_around" : "actual", actual->args.tensor[param], d->at);
    if (json) text_puts(&v->out, "}\n");
    end(v);
}

/* -- what did not run
 * ----------------------------------------------------------------------------- */
void report_error(struct verify *v, const struct trial *t, const char *why, int status) {
    count_failure(v, status);
    begin(v, t, NULL, "error");
    if (v->options->json) {
        put(v, "message", why);
        text_puts(&v->out, "}\n");
    } else {
        text_printf(&v->out, ": %s\n", why);
    }
    end(v);
}

void report_unlaunched(struct verify *v, const struct trial *t, const struct sim_data *d,
                       const char *check) {
    bool chosen = v->how->sweep;
    if (chosen)
        v->refused++;
    else
        count_failure(v, EXIT_USAGE);
    begin(v, t, d, chosen ? "refused" : "error");
    if (v->options->json) {
        put(v, "message", arena_printf(v->c->arena, "the launcher refuses this: %s", check));
        text_puts(&v->out, "}\n");
    } else {
        text_printf(&v->out, ": the launcher refuses this: %s\n", check);
    }
    end(v);
}

void report_refused(struct verify *v, const char *unit, const char *target, const char *first) {
    v->refused++;
    if (v->options->json) {
        text_puts(&v->out, "{\"type\":\"verify\",\"function\":");
        json_string(&v->out, unit);
        put(v, "arch", target);
        put(v, "result", "refused");
        put(v, "sizes", v->sizes);
        put(v, "message", first);
        text_puts(&v->out, "}\n");
    } else {
        text_printf(&v->out, "%s %s: refused with %s: %s\n", unit, target, v->sizes, first);
    }
    end(v);
}

void report_summary(struct verify *v) {
    if (v->options->json)
        text_printf(&v->out,
                    "{\"type\":\"summary\",\"schema\":\"tilec-verify-1\",\"passed\":%d,"
                    "\"refused\":%d,\"failed\":%d}\n",
                    v->passed, v->refused, v->failed);
    else
        text_printf(&v->out, "%d passed, %d refused, %d failed\n", v->passed, v->refused,
                    v->failed);
    end(v);
}
