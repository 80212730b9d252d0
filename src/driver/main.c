/* main.c: main(): options, source, passes, diagnostics, outputs. */
#include "driver/driver.h"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* -- Choices that the stages take
 * ---------------------------------------------------------------------- */
static bool apply_warning(struct diag *d, const char *w) {
    if (!strcmp(w, "error")) return diag_set(d, "all", DIAG_AS_ERROR);
    if (!strncmp(w, "error=", 6)) return diag_set(d, w + 6, DIAG_AS_ERROR);
    if (!strncmp(w, "no-error=", 9)) return diag_set(d, w + 9, DIAG_ON);
    if (!strncmp(w, "no-", 3)) return diag_set(d, w + 3, DIAG_OFF);
    return !strcmp(w, "extra") || !strcmp(w, "everything") || diag_set(d, w, DIAG_ON);
}

static bool apply_warnings(struct compilation *c) {
    diag_set_limit(c->diag, c->options->max_errors);
    for (int i = 0; i < c->options->warnings.count; i++) {
        if (apply_warning(c->diag, c->options->warnings.at[i])) continue;
        fprintf(stderr, "tilec: error: unknown warning '-W%s'; see --print=warnings\n",
                c->options->warnings.at[i]);
        return false;
    }
    return !c->options->no_warnings || diag_set(c->diag, "all", DIAG_OFF);
}

/* NAME=VALUE or UNIT.NAME=VALUE. */
static bool read_definition(struct compilation *c, const char *word, struct definition *d) {
    const char *equal = strchr(word, '=');
    if (!equal || equal == word) {
        fprintf(stderr, "tilec: error: -D '%s' is not of the form NAME=VALUE\n", word);
        return false;
    }
    const char *dot = memchr(word, '.', (size_t)(equal - word)), *name = dot ? dot + 1 : word;
    d->text = word;
    d->unit = dot ? intern(c->names, word, (size_t)(dot - word)) : NULL;
    d->name = intern(c->names, name, (size_t)(equal - name));
    struct source *s = source_of_text(c->arena, arena_printf(c->arena, "-D %s", word), equal + 1,
                                      strlen(equal + 1));
    struct diag *own = diag_new(c->arena, s);
    d->value = parse_expression(c->arena, c->names, s, own);
    if (d->value && !diag_errors(own)) return true;
    struct text out = text_new(c->arena);
    diag_print_text(own, &out, false);
    fputs(out.at, stderr);
    return false;
}

static struct sym **symbols(struct compilation *c, const char *const *names, int count) {
    struct sym **list = arena_array(c->arena, struct sym *, count + 1);
    for (int i = 0; i < count; i++) list[i] = intern_text(c->names, names[i]);
    return list;
}

static bool fill_sema_options(struct compilation *c) {
    const struct options *o = c->options;
    struct sema_options *s = &c->sema;
    int count = o->definitions.count;
    s->definition_count = count + o->sizes.count;
    s->definitions = arena_array(c->arena, struct definition, s->definition_count + 1);
    for (int i = 0; i < s->definition_count; i++) {
        bool always = i >= count;
        const char *word = always ? o->sizes.at[i - count] : o->definitions.at[i];
        if (!read_definition(c, word, &s->definitions[i])) return false;
        s->definitions[i].always = always;
    }
    s->entries = symbols(c, o->entries.at, o->entries.count);
    s->entry_count = o->entries.count;
    s->kernels = symbols(c, o->kernels.at, o->kernels.count);
    s->kernel_count = o->kernels.count;
    s->prefix = o->prefix ? o->prefix : "";
    s->fast_math = o->fast_math;
    return true;
}

static bool definitions_used(const struct compilation *c) {
    bool all = true;
    for (int i = 0; i < c->sema.definition_count; i++) {
        if (c->sema.definitions[i].used) continue;
        fprintf(stderr,
                "tilec: error: -D %s fits no parameter of a selected unit and no module constant\n",
                c->sema.definitions[i].text);
        all = false;
    }
    return all;
}

/* -- Diagnostics
 * -------------------------------------------------------------------------------------------- */
static bool wants_color(const struct options *o) {
    const char *none = getenv("NO_COLOR"), *force = getenv("CLICOLOR_FORCE"),
               *term = getenv("TERM");
    if (o->color != COLOR_AUTO) return o->color == COLOR_ALWAYS;
    if (none && *none) return false;
    if (force && *force && strcmp(force, "0")) return true;
    return isatty(2) && term && strcmp(term, "dumb");
}

static void print_diagnostics(const struct compilation *c) {
    struct text out = text_new(c->arena);
    if (c->options->json)
        diag_print_json(c->diag, &out);
    else
        diag_print_text(c->diag, &out, wants_color(c->options));
    if (c->options->explain) diag_print_remarks(c->diag, &out, c->options->explain);
    fputs(out.at, stderr);
}

/* -- One compilation
 * ------------------------------------------------------------------------------------------ */
static int wanted_ir(const struct options *o) {
    for (int i = 0; i < o->emissions.count; i++)
        if (o->emissions.at[i].kind == EMIT_IR) return o->emissions.at[i].pass;
    return -1;
}

static bool only_front(const struct options *o) {
    for (int i = 0; i < o->emissions.count; i++)
        if (o->emissions.at[i].kind != EMIT_TOKENS && o->emissions.at[i].kind != EMIT_AST)
            return false;
    return o->emissions.count > 0;
}

int compile_silently(struct compilation *c) {
    const char *why = NULL;
    if (!c->source) c->source = source_read(c->arena, c->options->input, &why);
    if (!c->source) {
        fprintf(stderr, "tilec: error: cannot read '%s': %s\n", c->options->input, why);
        return EXIT_USAGE;
    }
    c->diag = diag_new(c->arena, c->source);
    if (!apply_warnings(c) || !fill_sema_options(c)) return EXIT_USAGE;
    c->ir = text_new(c->arena);
    c->ir_pass = wanted_ir(c->options);
    return passes_run(c) ? EXIT_DONE : EXIT_SOURCE;
}

int compile_modules(struct compilation *c) {
    int status = compile_silently(c);
    if (status != EXIT_USAGE) print_diagnostics(c);
    return status;
}

static int compile(struct compilation *c) {
    int status = compile_modules(c);
    if (status != EXIT_DONE) return status;
    if (c->options->stop_after >= 0 && c->ir_pass < 0 && !only_front(c->options)) return EXIT_DONE;
    if (c->module_count && !definitions_used(c)) return EXIT_USAGE;
    return outputs_write(c);
}

int main(int argc, char **argv) {
    struct arena *a = arena_new_large();
    struct options options = {.arena = a};
    int status = EXIT_DONE;
    if (argc > 1 && !strcmp(argv[1], "verify")) {
        status = verify_main(a, argc - 1, argv + 1);
    } else if (options_parse(&options, argc, argv, &status)) {
        if (only_front(&options)) options.stop_after = PASS_parse;
        struct compilation c = {.arena = a, .names = interns_new(a), .options = &options};
        status = compile(&c);
    }
    arena_free(a);
    if ((fflush(stdout) || ferror(stdout)) && status == EXIT_DONE) {
        fputs("tilec: error: cannot write standard output\n", stderr);
        status = EXIT_USAGE;
    }
    return status;
}
