/* options.c: the command line, read from the table. */
#include "driver/driver.h"
#include <stdio.h>
#include <stdlib.h>

struct option_row {
    const char *spelling, *argument, *group, *help;
};

static const struct option_row rows[OPT_COUNT] = {
#define OPTION(id, spelling, argument, group, help) [OPT_##id] = {spelling, argument, group, help},
#include "options.def"
};

/* -- Printing the table
 * ------------------------------------------------------------------------------ */
static void print_spelling(struct text *out, const struct option_row *r) {
    text_puts(out, r->spelling);
    if (!*r->argument) return;
    bool glued = !strcmp(r->spelling, "-D") || !strcmp(r->spelling, "-W");
    bool optional = r->argument[0] == '[';
    if (optional)
        text_printf(out, "[=%.*s]", (int)strlen(r->argument) - 2, r->argument + 1);
    else
        text_printf(out, "%s%s", glued ? "" : r->spelling[1] == '-' ? "=" : " ", r->argument);
}

void options_help(struct text *out) {
    text_puts(
        out,
        "usage: tilec [options] FILE.tile\n"
        "       tilec verify [options] FILE.tile\n\n"
        "Compiles tile kernels to a self-contained .cu and a C header. verify runs the lowered "
        "code on a model\nof the GPU instead and compares it with what the text means.\n");
    const char *group = "";
    for (int i = 0; i < OPT_COUNT; i++) {
        if (strcmp(group, rows[i].group)) text_printf(out, "\n%s:\n", group = rows[i].group);
        struct text left = text_new(out->arena);
        print_spelling(&left, &rows[i]);
        text_printf(out, "  %-28s %s\n", left.at, rows[i].help);
    }
}

void options_list(struct text *out) {
    for (int i = 0; i < OPT_COUNT; i++) {
        print_spelling(out, &rows[i]);
        text_printf(out, "\t%s\t%s\n", rows[i].group, rows[i].help);
    }
}

/* Hyphens of options are no hyphens of words; a '.' or "'" in front would be a request. */
static void print_roff(struct text *out, const char *s) {
    if (*s == '.' || *s == '\'') text_puts(out, "\\&");
    for (; *s; s++) text_printf(out, *s == '-' ? "\\-" : *s == '\\' ? "\\e" : "%c", *s);
}

void options_man(struct text *out) {
    const char *group = "";
    for (int i = 0; i < OPT_COUNT; i++) {
        if (strcmp(group, rows[i].group)) text_printf(out, ".SS %s\n", group = rows[i].group);
        struct text left = text_new(out->arena);
        print_spelling(&left, &rows[i]);
        text_puts(out, ".TP\n.B ");
        print_roff(out, left.at);
        text_puts(out, "\n");
        print_roff(out, rows[i].help);
        text_puts(out, ".\n");
    }
}

/* -- Errors of usage
 * ----------------------------------------------------------------------------------- */
static int distance(const char *a, const char *b) {
    int row[64], n = (int)strlen(b);
    if (n > 60) return 99;
    for (int j = 0; j <= n; j++) row[j] = j;
    for (int i = 1; *a; a++, i++) {
        int diagonal = row[0];
        row[0] = i;
        for (int j = 1; j <= n; j++) {
            int cost = diagonal + (*a != b[j - 1]);
            diagonal = row[j];
            if (row[j] + 1 < cost) cost = row[j] + 1;
            if (row[j - 1] + 1 < cost) cost = row[j - 1] + 1;
            row[j] = cost;
        }
    }
    return row[n];
}

static bool usage(int *status, const char *what, const char *word, const char *hint) {
    fprintf(stderr, "tilec: error: %s '%s'%s%s\n", what, word, *hint ? "; " : "", hint);
    *status = EXIT_USAGE;
    return false;
}

static bool unknown_option(struct options *o, const char *word, int *status) {
    int best = 4;
    const char *hint = "";
    for (int i = 0; i < OPT_COUNT; i++) {
        struct text bare = text_new(o->arena);
        text_printf(&bare, "%.*s", (int)strcspn(word, "="), word);
        int d = distance(bare.at, rows[i].spelling);
        if (d < best)
            best = d, hint = arena_printf(o->arena, "did you mean '%s'?", rows[i].spelling);
    }
    return usage(status, "unknown option", word, hint);
}

/* -- Single options
 * --------------------------------------------------------------------------------------- */
static bool one_arch(struct options *o, const char *name, int *status) {
    const struct target *t = target_find(name);
    if (!t) {
        const struct target *near = target_nearest(name);
        return usage(
            status, "unknown architecture", name,
            near ? arena_printf(o->arena, "the nearest is %s; see --print=archs", near->name)
                 : "see --print=archs");
    }
    for (int i = 0; i < o->arch_count; i++)
        if (o->archs[i] == t) return true;
    int at = o->arch_count++;
    while (at > 0 && o->archs[at - 1]->capability > t->capability)
        o->archs[at] = o->archs[at - 1], at--;
    o->archs[at] = t;
    return true;
}

/* Calls one for each part of a comma list. */
static bool each(struct options *o, const char *list,
                 bool (*one)(struct options *, const char *, int *), int *status) {
    for (const char *p = list;;) {
        size_t n = strcspn(p, ",");
        if (!one(o, arena_strndup(o->arena, p, n), status)) return false;
        if (!p[n]) return true;
        p += n + 1;
    }
}

static bool archs(struct options *o, const char *list, int *status) {
    o->archs_named = true;
    if (strcmp(list, "all")) return each(o, list, one_arch, status);
    for (int i = 0; i < target_count(); i++)
        if (!one_arch(o, target_row(i)->name, status)) return false;
    return true;
}

static bool one_emission(struct options *o, const char *text, int *status) {
    static const char *const kinds[] = {"cu",     "ptx", "cubin", "header", "manifest",
                                        "tokens", "ast", "ir",    "none"};
    size_t n = strcspn(text, "=:");
    struct emission e = {.pass = PASS_shared};
    const char *at = text + n;
    int kind = -1;
    for (int i = 0; i <= EMIT_NONE; i++)
        if (strlen(kinds[i]) == n && !strncmp(kinds[i], text, n)) kind = i;
    if (kind < 0)
        return usage(status, "unknown kind of output", text,
                     "kinds: cu, ptx, cubin, header, manifest, tokens, ast, ir, ir:PASS, none");
    e.kind = (enum emit_kind)kind;
    if (*at == ':') {
        size_t m = strcspn(at + 1, "=");
        const char *name = arena_strndup(o->arena, at + 1, m);
        e.pass = pass_find(name);
        if (kind != EMIT_IR || e.pass < PASS_analyse || e.pass >= PASS_emit)
            return usage(status, "no IR is left by", name, "see --list-passes");
        at += 1 + m;
    }
    if (*at == '=') e.file = at + 1;
    vec_push(o->arena, &o->emissions, e);
    return true;
}

static bool one_after(struct options *o, const char *name, int *status) {
    int p = pass_find(name);
    for (int i = 0; i < PASS_COUNT; i++)
        if (i == p || !strcmp(name, "all")) o->dump_after[i] = true;
    return p >= 0 || !strcmp(name, "all") ||
           usage(status, "unknown pass", name, "see --list-passes");
}

static bool one_before(struct options *o, const char *name, int *status) {
    int p = pass_find(name);
    for (int i = 0; i < PASS_COUNT; i++)
        if (i == p || !strcmp(name, "all")) o->dump_before[i] = true;
    return p >= 0 || !strcmp(name, "all") ||
           usage(status, "unknown pass", name, "see --list-passes");
}

static bool one_kernel(struct options *o, const char *name, int *status) {
    (void)status;
    vec_push(o->arena, &o->kernels, name);
    return true;
}

static bool one_entry(struct options *o, const char *name, int *status) {
    (void)status;
    vec_push(o->arena, &o->entries, name);
    return true;
}

static bool pass_of(const char *name, int *pass, int *status) {
    *pass = pass_find(name);
    return *pass >= 0 || usage(status, "unknown pass", name, "see --list-passes");
}

static bool choice(const char *word, const char *const *words, int *chosen, int *status) {
    for (int i = 0; words[i]; i++)
        if (!strcmp(word, words[i])) {
            *chosen = i;
            return true;
        }
    return usage(status, "unknown choice", word, "see --help");
}

static bool print_request(struct options *o, const char *kind, int *status);

static bool number(const char *word, int *value, int *status) {
    char *end;
    long v = strtol(word, &end, 10);
    if (*end || end == word || v < 0 || v > 1000000) return usage(status, "not a number", word, "");
    *value = (int)v;
    return true;
}

static bool is_topic(const char *s) {
    return !strcmp(s, "layout") || !strcmp(s, "schedule") || !strcmp(s, "shared") ||
           !strcmp(s, "all");
}

const char *options_spelling(enum option_id id) { return rows[id].spelling; }

static bool explain(struct options *o, const char *topic, int *status) {
    o->explain = topic;
    if (is_topic(topic) || (o->verify && !strcmp(topic, "counters"))) return true;
    int code = diag_code_find(topic);
    if (code < 0)
        return usage(status, "nothing to explain under", topic,
                     "topics: layout, schedule, shared, all, or a code such as E0101");
    printf("%s: %s\n", topic, diag_code_page((enum diag_code)code));
    *status = EXIT_DONE;
    return false;
}

static bool paths(struct options *o, enum option_id id, const char *v) {
    switch (id) {
    case OPT_OUTPUT: o->output = v; return true;
    case OPT_HEADER: o->header = true, o->header_file = v; return true;
    case OPT_MANIFEST: o->manifest = true, o->manifest_file = v; return true;
    case OPT_MF: o->depend_file = v; return true;
    case OPT_MT: vec_push(o->arena, &o->depend_targets, v); return true;
    case OPT_PREFIX: o->prefix = v; return true;
    case OPT_PREFIX_MAP: vec_push(o->arena, &o->prefix_maps, v); return true;
    case OPT_DEFINE: vec_push(o->arena, &o->definitions, v); return true;
    case OPT_WARN: vec_push(o->arena, &o->warnings, v); return true;
    case OPT_NVCC: o->nvcc = v; return true;
    case OPT_PTXAS: o->ptxas = v; return true;
    default: return false;
    }
}

static bool flags(struct options *o, enum option_id id) {
    switch (id) {
    case OPT_NO_HEADER: o->no_header = true; return true;
    case OPT_FAST_MATH: o->fast_math = true; return true;
    case OPT_NO_FAST_MATH: o->fast_math = false; return true;
    case OPT_M: o->depend_only = true; return true;
    case OPT_MD: o->depend = true; return true;
    case OPT_MP: o->depend_phony = true; return true;
    case OPT_NO_WARN: o->no_warnings = true; return true;
    case OPT_TIME_PASSES: o->time_passes = true; return true;
    case OPT_DRY_RUN: o->dry_run = true; return true;
    case OPT_VERBOSE: o->verbose = true; return true;
    default: return false;
    }
}

static bool take(struct options *o, enum option_id id, const char *v, int *status) {
    static const char *const lines[] = {"tile", "none", NULL}, *const forms[] = {"text", "json",
                                                                                 NULL};
    static const char *const colors[] = {"auto", "always", "never", NULL};
    int chosen = 0;
    bool ok = true;
    if (flags(o, id) || paths(o, id, v)) return true;
    switch (id) {
    case OPT_EMIT: return each(o, v, one_emission, status);
    case OPT_INPUT:
    case OPT_OUTPUT_ARRAY:
    case OPT_SIZE:
    case OPT_SWEEP:
    case OPT_SEED:
    case OPT_ORDER:
    case OPT_COUNT_ACCESSES: return verify_option(o, id, v, status);
    case OPT_KERNELS: return each(o, v, one_kernel, status);
    case OPT_ENTRY: return each(o, v, one_entry, status);
    case OPT_ARCH: return archs(o, v, status);
    case OPT_LINE: ok = choice(v, lines, &chosen, status), o->line_none = chosen; return ok;
    case OPT_DIAGNOSTICS: ok = choice(v, forms, &chosen, status), o->json = chosen; return ok;
    case OPT_COLOR: ok = choice(v, colors, &chosen, status), o->color = chosen; return ok;
    case OPT_MAX_ERRORS: return number(v, &o->max_errors, status);
    case OPT_EXPLAIN: return explain(o, v, status);
    case OPT_DUMP_AFTER: return each(o, v, one_after, status);
    case OPT_DUMP_BEFORE: return each(o, v, one_before, status);
    case OPT_START_AT: return pass_of(v, &o->start_at, status);
    case OPT_STOP_AFTER: return pass_of(v, &o->stop_after, status);
    case OPT_LIST_PASSES: return print_request(o, "passes", status);
    case OPT_PRINT: return print_request(o, v, status);
    case OPT_HELP:
    case OPT_HELP_LONG: return print_request(o, "help", status);
    case OPT_VERSION:
    case OPT_VERSION_V: return print_request(o, "version", status);
    default: return ok;
    }
}

/* -- Requests that only print
 * ---------------------------------------------------------------------------------- */
static void print_archs(struct text *out) {
    for (int i = 0; i < target_count(); i++) {
        const struct target *t = target_row(i);
        text_printf(out, "%-8s %6d bytes of shared memory a block\n", t->name, t->shared_block);
    }
}

static void print_codes(struct text *out, bool warnings) {
    for (int i = 0; i < DIAG_CODE_COUNT; i++) {
        const char *name = diag_code_text((enum diag_code)i);
        bool is_warning = !(name[0] == 'E' && name[1] >= '0' && name[1] <= '9');
        if (is_warning == warnings)
            text_printf(out, "%-16s %s\n", name, diag_code_page((enum diag_code)i));
    }
}

static bool print_request(struct options *o, const char *kind, int *status) {
    struct text out = text_new(o->arena);
    if (!strcmp(kind, "help"))
        options_help(&out);
    else if (!strcmp(kind, "version"))
        text_printf(&out, "tilec %s\n", TILEC_VERSION);
    else if (!strcmp(kind, "passes"))
        passes_list(&out);
    else if (!strcmp(kind, "options"))
        options_list(&out);
    else if (!strcmp(kind, "man"))
        options_man(&out);
    else if (!strcmp(kind, "archs"))
        print_archs(&out);
    else if (!strcmp(kind, "codes"))
        print_codes(&out, false);
    else if (!strcmp(kind, "warnings"))
        print_codes(&out, true);
    else if (!strcmp(kind, "builtins"))
        builtins_print(&out);
    else
        return usage(status, "nothing to print under", kind,
                     "kinds: archs, builtins, codes, options, passes, version, warnings");
    fputs(out.at, stdout);
    *status = EXIT_DONE;
    return false;
}

/* -- The whole line
 * -----------------------------------------------------------------------------------------------
 */
/* The row that `word` names; *value is its argument's text in the word, NULL if there is none. */
static int find_row(const char *word, const char **value) {
    *value = NULL;
    for (int i = 0; i < OPT_COUNT; i++) {
        size_t n = strlen(rows[i].spelling);
        if (strncmp(word, rows[i].spelling, n)) continue;
        if (!word[n]) return i;
        if (!*rows[i].argument) continue;
        if (rows[i].spelling[1] == '-' && word[n] == '=') return *value = word + n + 1, i;
        if (i == OPT_DEFINE || i == OPT_WARN || i == OPT_OUTPUT) return *value = word + n, i;
    }
    if (!strncmp(word, "-arch=", 6)) return *value = word + 6, OPT_ARCH;
    return -1;
}

static bool writes_code(int id) {
    switch (id) {
    case OPT_OUTPUT:
    case OPT_EMIT:
    case OPT_HEADER:
    case OPT_NO_HEADER:
    case OPT_MANIFEST:
    case OPT_M:
    case OPT_MD:
    case OPT_MF:
    case OPT_MT:
    case OPT_MP:
    case OPT_NVCC:
    case OPT_PTXAS:
    case OPT_DRY_RUN: return true;
    default: return false;
    }
}

static bool take_word(struct options *o, int argc, char **argv, int *i, int *status) {
    const char *word = argv[*i], *value;
    int id = find_row(word, &value);
    if (id < 0) return unknown_option(o, word, status);
    if (o->verify && writes_code(id))
        return usage(status, "verify writes no code: it does not take", rows[id].spelling,
                     "--output NAME=FILE.npy keeps an array");
    bool needs = *rows[id].argument && rows[id].argument[0] != '[';
    if (needs && !value) {
        if (*i + 1 >= argc) return usage(status, "no argument behind", word, "");
        value = argv[++*i];
    }
    return take(o, (enum option_id)id, value, status);
}

/* What goes in front of a C name begins one; a map has two sides. */
static bool well_formed(const struct options *o, int *status) {
    for (const char *c = o->prefix ? o->prefix : ""; *c; c++) {
        bool letter = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || *c == '_';
        if (!letter && (c == o->prefix || *c < '0' || *c > '9'))
            return usage(status, "no beginning of a C name", o->prefix,
                         "use letters, digits and '_', a letter first");
    }
    for (int i = 0; i < o->prefix_maps.count; i++)
        if (!strchr(o->prefix_maps.at[i], '='))
            return usage(status, "not of the form OLD=NEW", o->prefix_maps.at[i], "");
    return true;
}

/* NAME=VALUE of the same NAME: which one counts? */
static bool given_once(const char *const *at, int count, int *status) {
    for (int i = 0; i < count; i++) {
        size_t n = strcspn(at[i], "=");
        for (int k = 0; k < i; k++)
            if (strcspn(at[k], "=") == n && !strncmp(at[i], at[k], n))
                return usage(status, "a second value for the same name:", at[i],
                             "give each name once");
    }
    return true;
}

static bool finish(struct options *o, int *status) {
    if (!o->input) {
        fprintf(stderr, "tilec: error: no input file; usage: tilec [options] FILE.tile\n");
        *status = EXIT_USAGE;
        return false;
    }
    if (!well_formed(o, status) || !given_once(o->definitions.at, o->definitions.count, status) ||
        !given_once(o->sizes.at, o->sizes.count, status))
        return false;
    if (!strcmp(o->input, "-") && !o->output && !o->verify)
        return usage(status, "no output file for the input", "-", "name one with -o");
    if (!o->arch_count) return one_arch(o, "sm_80", status) && one_arch(o, "sm_90a", status);
    return true;
}

bool options_parse(struct options *o, int argc, char **argv, int *status) {
    o->start_at = o->stop_after = -1;
    o->max_errors = 20;
    bool only_files = false;
    for (int i = 1; i < argc; i++) {
        const char *word = argv[i];
        if (!only_files && !strcmp(word, "--")) {
            only_files = true;
        } else if (!only_files && word[0] == '-' && word[1]) {
            if (!take_word(o, argc, argv, &i, status)) return false;
        } else if (o->input) {
            return usage(status, "a second input file", word, "tilec compiles one file at a time");
        } else {
            o->input = word;
        }
    }
    return finish(o, status);
}
