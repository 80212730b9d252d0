/* outputs.c: which files a compilation writes, and writing them. */
#include "driver/driver.h"
#include <stdio.h>

struct output {
    const char *path;
    const char *data;
    size_t length;
    enum emit_kind kind;
    const struct target *target; /* PTX CUBIN */
};

struct outputs {
    VEC(struct output) list;
};

static struct emit_options emit_options_of(struct compilation *c, const char *header) {
    const struct options *o = c->options;
    const char *name = file_mapped(c->arena, c->source->path, o);
    const char *unit = o->output && strcmp(o->output, "-") ? o->output : header;
    return (struct emit_options){
        .version = TILEC_VERSION,
        .source_name = name,
        .header_name = file_base(c->arena, header),
        .unit_name = file_with_suffix(c->arena, file_base(c->arena, unit), ".cu"),
        .stem = file_with_suffix(c->arena, file_base(c->arena, header), ""),
        .line = o->line_none ? LINE_NONE : LINE_TILE};
}

static const char *suffix_of(struct compilation *c, enum emit_kind k, const struct target *t) {
    static const char *const suffix[] = {".cu",     ".ptx", ".cubin", ".h", ".json",
                                         ".tokens", ".ast", ".ir",    ""};
    bool per_target = k == EMIT_PTX || k == EMIT_CUBIN;
    if (per_target && c->module_count > 1)
        return arena_printf(c->arena, ".%s%s", t->name, suffix[k]);
    return suffix[k];
}

static const char *stem_of(struct compilation *c) {
    const struct options *o = c->options;
    if (o->output && strcmp(o->output, "-")) return o->output;
    return file_base(c->arena, strcmp(o->input, "-") ? o->input : "stdin");
}

/* The path of an emission: its own, -o for the first, else the stem with the kind's suffix. */
static const char *path_of(struct compilation *c, const struct emission *e, bool first,
                           const struct target *t) {
    if (e->file) return e->file;
    bool several = (e->kind == EMIT_PTX || e->kind == EMIT_CUBIN) && c->module_count > 1;
    if (first && c->options->output && !several) return c->options->output;
    return file_with_suffix(c->arena, stem_of(c), suffix_of(c, e->kind, t));
}

static void add(struct compilation *c, struct outputs *out, struct output o) {
    vec_push(c->arena, &out->list, o);
}

static void add_text(struct compilation *c, struct outputs *out, enum emit_kind kind,
                     const char *path, const struct text *t) {
    add(c, out, (struct output){.path = path, .data = t->at, .length = t->length, .kind = kind});
}

static void make_device(struct compilation *c, struct outputs *out, const struct emission *e,
                        bool first, const char *header) {
    struct emit_options o = emit_options_of(c, header);
    o.entry_points = true;
    for (int i = 0; i < c->module_count; i++) {
        struct text t = text_new(c->arena);
        emit_cuda(&t, &c->modules[i], 1, &o);
        add(c, out,
            (struct output){path_of(c, e, first, c->modules[i]->target), t.at, t.length, e->kind,
                            c->modules[i]->target});
    }
}

static void make(struct compilation *c, struct outputs *out, const struct emission *e, bool first,
                 const char *header) {
    struct text t = text_new(c->arena);
    struct emit_options o = emit_options_of(c, header);
    bool device = e->kind == EMIT_PTX || e->kind == EMIT_CUBIN; /* a file for each architecture */
    const char *path = device ? NULL : path_of(c, e, first, NULL);
    switch (e->kind) {
    case EMIT_CU: emit_cuda(&t, c->modules, c->module_count, &o); break;
    case EMIT_HEADER: emit_header(&t, c->modules, c->module_count, &o); break;
    case EMIT_MANIFEST: emit_manifest(&t, c->modules, c->module_count, &o); break;
    case EMIT_TOKENS: tokens_print(&t, c->tokens, c->source); break;
    case EMIT_AST: ast_print(&t, c->ast); break;
    case EMIT_IR: t = c->ir; break;
    case EMIT_PTX:
    case EMIT_CUBIN: make_device(c, out, e, first, header); return;
    case EMIT_NONE: return;
    }
    add_text(c, out, e->kind, path, &t);
}

static bool has_kind(const struct options *o, enum emit_kind k) {
    for (int i = 0; i < o->emissions.count; i++)
        if (o->emissions.at[i].kind == k) return true;
    return false;
}

static const char *header_path(struct compilation *c) {
    const struct options *o = c->options;
    if (o->header_file) return o->header_file;
    for (int i = 0; i < o->emissions.count; i++)
        if (o->emissions.at[i].kind == EMIT_HEADER && o->emissions.at[i].file)
            return o->emissions.at[i].file;
    return file_with_suffix(c->arena, stem_of(c), ".h");
}

static void collect(struct compilation *c, struct outputs *out) {
    const struct options *o = c->options;
    const char *header = header_path(c);
    struct emission cu = {.kind = EMIT_CU};
    bool implied = !o->emissions.count;
    if (implied) make(c, out, &cu, true, header);
    for (int i = 0; i < o->emissions.count; i++) make(c, out, &o->emissions.at[i], i == 0, header);
    bool with_cu = implied || has_kind(o, EMIT_CU);
    if (!has_kind(o, EMIT_HEADER) && !o->no_header && (o->header || with_cu)) {
        struct emission h = {.kind = EMIT_HEADER, .file = header};
        make(c, out, &h, false, header);
    }
    if (o->manifest && !has_kind(o, EMIT_MANIFEST)) {
        struct emission m = {.kind = EMIT_MANIFEST, .file = o->manifest_file};
        make(c, out, &m, false, header);
    }
}

static int write_one(struct compilation *c, const struct output *o) {
    if (o->kind == EMIT_PTX || o->kind == EMIT_CUBIN)
        return tool_compile(c,
                            &(struct device_job){o->target, o->kind, o->data, o->length, o->path});
    if (c->options->dry_run) return EXIT_DONE;
    return file_write(o->path, o->data, o->length) ? EXIT_DONE : EXIT_USAGE;
}

static int write_depend(struct compilation *c, const struct outputs *out) {
    const struct options *o = c->options;
    const char **paths = arena_array(c->arena, const char *, out->list.count + 1);
    for (int i = 0; i < out->list.count; i++) paths[i] = out->list.at[i].path;
    struct text rule = text_new(c->arena);
    depend_rule(&rule, o, paths, out->list.count);
    const char *path = o->depend_file   ? o->depend_file
                       : o->depend_only ? "-"
                                        : file_with_suffix(c->arena, stem_of(c), ".d");
    return file_write(path, rule.at, rule.length) ? EXIT_DONE : EXIT_USAGE;
}

/* What would replace the text that is being compiled is a slip. */
static bool spares_input(const struct options *o, const char *path) {
    if (!path || !file_is_input(o, path)) return true;
    fprintf(stderr, "tilec: error: the output '%s' would replace the input\n", path);
    return false;
}

static bool spare_input(const struct options *o, const struct outputs *out) {
    for (int i = 0; i < out->list.count; i++)
        if (!spares_input(o, out->list.at[i].path)) return false;
    return spares_input(o, o->depend_file);
}

/* Two outputs in one file would leave only the last. */
static bool distinct(const struct outputs *out) {
    for (int i = 0; i < out->list.count; i++)
        for (int j = 0; j < i; j++) {
            const char *path = out->list.at[i].path;
            if (strcmp(path, out->list.at[j].path) || !strcmp(path, "-")) continue;
            fprintf(stderr, "tilec: error: two outputs would be written to '%s'\n", path);
            return false;
        }
    return true;
}

int outputs_write(struct compilation *c) {
    struct outputs out = {0};
    collect(c, &out);
    if (!distinct(&out) || !spare_input(c->options, &out)) return EXIT_USAGE;
    if (c->options->depend_only) return write_depend(c, &out);
    int status = EXIT_DONE, done = 0;
    while (done < out.list.count && status == EXIT_DONE)
        status = write_one(c, &out.list.at[done++]);
    if (status == EXIT_DONE && c->options->depend) status = write_depend(c, &out);
    for (int i = 0; status != EXIT_DONE && i < done; i++) /* nothing half-done is left behind */
        file_discard(out.list.at[i].path);
    return status;
}
