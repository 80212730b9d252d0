/* rig.c: see rig.h. */
#include "rig.h"
#include "../support/passes.h"
#include "lexer/lexer.h"
#include "parser/parser.h"
#include <string.h>

static void define(struct arena *a, struct interns *names, struct definition *d, const char *text) {
    const char *equal = strchr(text, '=');
    struct source *s = source_of_text(a, "-D", equal + 1, strlen(equal + 1));
    d->name = intern(names, text, (size_t)(equal - text));
    d->text = text;
    d->value = parse_expression(a, names, s, diag_new(a, s));
}

static bool sound(struct module *m, enum level level, const char **errors) {
    const char *why = NULL;
    m->level = level;
    if (level == LEVEL_KERNEL ? kernel_verify(m, &why) : tile_verify(m, level, &why)) return true;
    *errors = arena_printf(m->arena, "a rule of its level is broken: %s", why ? why : "?");
    return false;
}

static bool run_passes(struct module *m, struct diag *d, const char **errors) {
    for (size_t i = 0; i < sizeof stages / sizeof *stages; i++) {
        stages[i].run(m);
        if (diag_errors(d) || !sound(m, stages[i].level, errors)) return false;
    }
    return true;
}

struct module *rig_compile(struct arena *a, const struct program_text *p, bool code,
                           const char **errors) {
    struct interns *names = interns_new(a);
    struct source *s = source_of_text(a, "case.tile", p->text, strlen(p->text));
    struct diag *d = diag_new(a, s);
    struct definition definitions[32] = {0};
    struct sema_options options = {.definitions = definitions, .prefix = ""};
    for (; p->definitions && p->definitions[options.definition_count]; options.definition_count++)
        define(a, names, &definitions[options.definition_count],
               p->definitions[options.definition_count]);
    struct tokens *t = lex(a, names, s, d);
    struct ast_module *ast = parse(a, names, s, t, d);
    struct module *m = NULL;
    *errors = NULL;
    if (!diag_errors(d)) m = analyse(a, names, d, ast, target_find(p->target), &options);
    bool ok =
        m && !diag_errors(d) && sound(m, LEVEL_TILE, errors) && (!code || run_passes(m, d, errors));
    if (ok) return m;
    if (!*errors) {
        struct text out = text_new(a);
        diag_print_text(d, &out, false);
        *errors = out.at;
    }
    return NULL;
}

struct verdict rig_judge(struct arena *a, struct module *meaning, struct module *code,
                         uint64_t seed, const struct sim_options *how) {
    struct function_ir *f = meaning->functions.at[0], *g = code->functions.at[0];
    struct verdict v = {.kind = SIM_FINE};
    struct sim_result r;
    struct sim_data *x = sim_data_new(a, f, NULL, seed, &v.why), *y;
    if (!x) return v;
    y = sim_data_copy(a, f, x);
    if (!sim_evaluate(meaning, f, x, true, &v.why)) return v;
    v.evaluated = true;
    if (!sim_run(code, g, &y->args, how, &r)) {
        v.kind = r.fault.kind;
        v.line = r.fault.at.end ? source_position(code->source, r.fault.at.begin).line : 0;
        v.other = r.fault.other.end ? source_position(code->source, r.fault.other.begin).line : 0;
        v.why = arena_printf(a, "[%s] line %d: %s", sim_kind_name(v.kind), v.line, r.fault.message);
        return v;
    }
    v.instructions = r.counters.instructions;
    v.difference = sim_compare(f, x, y, sim_tolerance_of(f, x));
    const struct sim_difference *d = &v.difference;
    if (d->buffer)
        v.why = arena_printf(
            a, "'%s'[%lld, %lld, %lld] is %.9g instead of %.9g, %lld elements differ%s",
            d->buffer->name->text, (long long)d->at[0], (long long)d->at[1], (long long)d->at[2],
            d->actual, d->expected, (long long)d->count, d->outside ? ", or bytes around it" : "");
    return v;
}
