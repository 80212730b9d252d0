/* diag_print.c: collected diagnostics as text with carets, and as JSON.
 *
 * Columns of the text form are terminal cells, so that carets stand under what they mean; tabs
 * end at multiples of eight. Of a long line only the neighbourhood of the caret is shown. */
#include "diag.h"
#include "internal.h"
#include "utf8.h"
#include <string.h>

enum { TAB = 8, LONG_LINE = 300, WINDOW_BEFORE = 60, WINDOW_AFTER = 60 };

static bool nowhere(struct span s) { return !s.begin && !s.end; }

/* -- One line of source -------------------------------------------------------------------------
 */

struct glyph {
    const char *text; /* what is printed, `bytes` long; spaces for a tab */
    int bytes, taken, cells;
};

static struct glyph glyph_at(const char *at, const char *end, int64_t cell) {
    uint32_t point;
    int taken = utf8_decode(at, end, &point);
    int cells = taken ? utf8_width(point) : -1;
    if (*at == '\t') {
        int blanks = (int)(TAB - cell % TAB);
        return (struct glyph){"        ", blanks, 1, blanks};
    }
    if (cells < 0) return (struct glyph){"\xef\xbf\xbd", 3, taken ? taken : 1, 1};
    return (struct glyph){at, taken, taken, cells};
}

/* The cell, from 0, in which byte `offset` of the line that begins at `begin` stands. */
static int64_t cell_of(const struct source *s, uint32_t begin, uint32_t offset) {
    const char *p = s->text + begin, *end = s->text + offset;
    int64_t cell = 0;
    while (p < end) {
        struct glyph g = glyph_at(p, s->text + s->length, cell);
        cell += g.cells;
        p += g.taken;
    }
    return cell;
}

struct printer {
    const struct diag *diag;
    struct text *out;
    bool color;
};

static void paint(const struct printer *p, const char *code) {
    if (p->color) text_printf(p->out, "\033[%sm", code);
}

static void put_bytes(struct text *t, const char *at, size_t bytes) {
    while (bytes) {
        int part = bytes > 4096 ? 4096 : (int)bytes;
        text_printf(t, "%.*s", part, at);
        at += part;
        bytes -= (size_t)part;
    }
}

/* The cells [from, to) of a line; stops early, so a line of megabytes costs what is shown. */
static void put_cells(struct text *t, const char *p, const char *end, int64_t from, int64_t to) {
    int64_t cell = 0;
    while (p < end && cell < to) {
        struct glyph g = glyph_at(p, end, cell);
        if (cell >= from) put_bytes(t, g.text, (size_t)g.bytes);
        cell += g.cells;
        p += g.taken;
    }
}

static void put_repeated(struct text *t, const char *s, int64_t count) {
    for (int64_t i = 0; i < count; i++) text_puts(t, s);
}

static void put_gutter(const struct printer *p, int line) {
    if (line)
        text_printf(p->out, "%5d | ", line);
    else
        text_puts(p->out, "      | ");
}

/* The part of a line that is shown. */
struct window {
    int64_t from, to; /* cells */
    bool cut_before, cut_after;
};

static struct window window_of(struct span line, int64_t caret) {
    struct window w = {0, 0, false, false};
    if (line.end - line.begin <= LONG_LINE) {
        w.to = INT64_MAX;
        return w;
    }
    w.from = caret > WINDOW_BEFORE ? caret - WINDOW_BEFORE : 0;
    w.to = caret + WINDOW_AFTER;
    w.cut_before = w.from > 0;
    w.cut_after = true;
    return w;
}

static void put_line(const struct printer *p, struct span line, struct window w) {
    const char *text = p->diag->source->text;
    if (w.cut_before) text_puts(p->out, "...");
    put_cells(p->out, text + line.begin, text + line.end, w.from, w.to);
    if (w.cut_after) text_puts(p->out, "...");
    text_puts(p->out, "\n");
}

/* The line of a span and a caret under it; a span over several lines is marked on its first. */
static void put_snippet(const struct printer *p, struct span span) {
    const struct source *s = p->diag->source;
    int number = source_position(s, span.begin).line;
    struct span line = source_line(s, number);
    uint32_t begin = span.begin > line.end ? line.end : span.begin;
    uint32_t end = span.end > line.end ? line.end : span.end < begin ? begin : span.end;
    while (end > begin && s->text[end - 1] == ' ') end--;
    int64_t caret = cell_of(s, line.begin, begin);
    struct window w = window_of(line, caret);
    int64_t shown_end = w.to < INT64_MAX && end - begin > WINDOW_AFTER
                            ? caret + WINDOW_AFTER
                            : cell_of(s, line.begin, end);
    put_gutter(p, number);
    put_line(p, line, w);
    put_gutter(p, 0);
    put_repeated(p->out, " ", caret - w.from + (w.cut_before ? 3 : 0));
    paint(p, "1;32");
    text_puts(p->out, "^");
    put_repeated(p->out, "~", shown_end - caret - 1);
    paint(p, "0");
    text_puts(p->out, "\n");
}

/* Names from the source may hold bytes that must not reach a terminal. */
static void put_message(struct text *t, const char *message) {
    for (const char *end; *message; message = end) {
        end = message + strcspn(message, "\n");
        put_cells(t, message, end, 0, INT64_MAX);
        if (*end++ != '\n') break;
        text_puts(t, "\n");
    }
}

/* -- Text form ------------------------------------------------------------------------------------
 */

static void put_place(const struct printer *p, struct span span) {
    const struct source *s = p->diag->source;
    paint(p, "1");
    if (s && !nowhere(span)) {
        struct position at = source_position(s, span.begin);
        int64_t cell = cell_of(s, s->line_start[at.line - 1], span.begin);
        text_printf(p->out, "%s:%d:%lld: ", s->path, at.line, (long long)cell + 1);
    } else {
        text_printf(p->out, "%s: ", s ? s->path : "tilec");
    }
    paint(p, "0");
}

static void put_note(const struct printer *p, const struct diag_note *n) {
    put_place(p, n->span);
    paint(p, "1;36");
    text_puts(p->out, "note: ");
    paint(p, "0");
    put_message(p->out, n->message);
    text_puts(p->out, "\n");
    if (p->diag->source && !nowhere(n->span)) put_snippet(p, n->span);
}

/* The line as it would read with the fix, if both are one short line. */
static bool put_fixed_line(const struct printer *p, const struct diag_fix *f) {
    const struct source *s = p->diag->source;
    if (!s || nowhere(f->span) || !*f->replacement || strchr(f->replacement, '\n')) return false;
    int number = source_position(s, f->span.begin).line;
    struct span line = source_line(s, number);
    if (f->span.end > line.end || line.end - line.begin > LONG_LINE) return false;
    int64_t cell = cell_of(s, line.begin, f->span.begin);
    int64_t width = 0;
    for (const char *q = f->replacement, *end = q + strlen(q); q < end;) {
        struct glyph g = glyph_at(q, end, cell + width);
        width += g.cells;
        q += g.taken;
    }
    put_gutter(p, number);
    put_cells(p->out, s->text + line.begin, s->text + f->span.begin, 0, INT64_MAX);
    put_cells(p->out, f->replacement, f->replacement + strlen(f->replacement), 0, INT64_MAX);
    put_cells(p->out, s->text + f->span.end, s->text + line.end, 0, INT64_MAX);
    text_puts(p->out, "\n");
    put_gutter(p, 0);
    put_repeated(p->out, " ", cell);
    paint(p, "1;32");
    put_repeated(p->out, "+", width);
    paint(p, "0");
    text_puts(p->out, " help: ");
    put_message(p->out, f->message);
    text_puts(p->out, "\n");
    return true;
}

static void put_fix(const struct printer *p, const struct diag_fix *f) {
    if (put_fixed_line(p, f)) return;
    put_place(p, f->span);
    text_puts(p->out, "help: ");
    put_message(p->out, f->message);
    text_puts(p->out, "\n");
    if (!*f->replacement && p->diag->source && !nowhere(f->span)) put_snippet(p, f->span);
}

static void put_entry(const struct printer *p, const struct diag_entry *e) {
    const char *code = diag_code_text(e->code);
    bool warning = !e->error || e->promoted;
    put_place(p, e->span);
    paint(p, e->error ? "1;31" : "1;35");
    text_puts(p->out, e->error ? "error: " : "warning: ");
    paint(p, "0");
    put_message(p->out, e->message);
    text_printf(p->out, " [%s%s]\n", !warning ? "" : e->promoted ? "-Werror=" : "-W", code);
    if (p->diag->source && !nowhere(e->span)) put_snippet(p, e->span);
    for (int i = 0; i < e->notes.count; i++) put_note(p, &e->notes.at[i]);
    for (int i = 0; i < e->fixes.count; i++) put_fix(p, &e->fixes.at[i]);
}

static void put_count(struct text *t, int count, const char *word) {
    text_printf(t, "%d %s%s", count, word, count == 1 ? "" : "s");
}

void diag_print_text(const struct diag *d, struct text *out, bool color) {
    struct printer p = {d, out, color};
    for (int i = 0; i < d->entries.count; i++)
        if (!diag_hidden(d, d->entries.at[i])) put_entry(&p, d->entries.at[i]);
    if (!d->errors && !d->warnings) return;
    if (d->errors) put_count(out, d->errors, "error");
    if (d->errors && d->warnings) text_puts(out, ", ");
    if (d->warnings) put_count(out, d->warnings, "warning");
    text_puts(out, diag_full(d) ? "; the limit of errors is reached\n" : "\n");
}

static bool remarks_alike(const struct diag_remark *a, const struct diag_remark *b) {
    return a->span.begin == b->span.begin && a->span.end == b->span.end &&
           !strcmp(a->topic, b->topic) && !strcmp(a->message, b->message);
}

/* Was the same said of another program before, or of this one and its turn has come? */
static bool is_repeated(const struct diag *d, int at) {
    const struct diag_remark *r = &d->remarks.at[at];
    for (int i = 0; i < at; i++)
        if (d->remarks.at[i].of != r->of && remarks_alike(&d->remarks.at[i], r)) return true;
    return false;
}

static void put_programs(struct text *out, const struct diag *d, int at) {
    const struct diag_remark *r = &d->remarks.at[at];
    const char *last = r->of;
    struct text names = text_new(d->arena);
    int count = 1;
    if (!r->of) return;
    text_printf(&names, ", %s", r->of);
    for (int i = at + 1; i < d->remarks.count; i++) {
        const struct diag_remark *o = &d->remarks.at[i];
        if (!o->of || o->of == last || o->of == r->of || !remarks_alike(o, r)) continue;
        text_printf(&names, ", %s", last = o->of);
        count++;
    }
    if (count < d->programs) text_puts(out, names.at);
}

void diag_print_remarks(const struct diag *d, struct text *out, const char *topic_or_all) {
    struct printer p = {d, out, false};
    for (int i = 0; i < d->remarks.count; i++) {
        const struct diag_remark *r = &d->remarks.at[i];
        if (strcmp(topic_or_all, "all") != 0 && strcmp(topic_or_all, r->topic) != 0) continue;
        if (is_repeated(d, i)) continue;
        put_place(&p, r->span);
        text_printf(out, "remark: %s [%s", r->message, r->topic);
        put_programs(out, d, i);
        text_puts(out, "]\n");
    }
}

/* -- JSON
 * ------------------------------------------------------------------------------------------ */

/* A JSON string. Bytes that are not UTF-8 become U+FFFD, since a reader refuses them. */
static void put_quoted(struct text *t, const char *s) {
    const char *end = s + strlen(s);
    text_puts(t, "\"");
    while (s < end) {
        uint32_t point;
        int bytes = utf8_decode(s, end, &point);
        if (!bytes)
            text_puts(t, "\\ufffd");
        else if (point == '"' || point == '\\')
            text_printf(t, "\\%c", (char)point);
        else if (point == '\n')
            text_puts(t, "\\n");
        else if (point < 0x20 || point == 0x7f)
            text_printf(t, "\\u%04x", (unsigned)point);
        else
            put_bytes(t, s, (size_t)bytes);
        s += bytes ? bytes : 1;
    }
    text_puts(t, "\"");
}

static void put_spans(const struct diag *d, struct text *t, struct span span) {
    text_puts(t, "\"spans\":[");
    if (d->source && !nowhere(span)) {
        struct position from = source_position(d->source, span.begin);
        struct position to = source_position(d->source, span.end);
        text_puts(t, "{\"file\":");
        put_quoted(t, d->source->path);
        text_printf(t, ",\"line\":%d,\"col\":%d,\"end_line\":%d,\"end_col\":%d", from.line,
                    from.column, to.line, to.column);
        text_printf(t, ",\"byte\":%u,\"end_byte\":%u,\"primary\":true,\"label\":null}", span.begin,
                    span.end);
    }
    text_puts(t, "]");
}

static void put_json_fix(struct text *t, const struct diag_fix *f) {
    text_puts(t, "{\"message\":");
    put_quoted(t, f->message);
    text_printf(
        t, ",\"applicability\":\"suggested\",\"edits\":[{\"byte\":%u,\"end_byte\":%u,\"text\":",
        f->span.begin, f->span.end);
    put_quoted(t, f->replacement);
    text_puts(t, "}]}");
}

static void put_json_entry(const struct diag *d, struct text *t, const struct diag_entry *e) {
    struct text rendered = text_new(d->arena);
    put_entry(&(struct printer){d, &rendered, false}, e);
    text_printf(
        t,
        "{\"type\":\"diagnostic\",\"severity\":\"%s\",\"code\":\"%s\",\"name\":\"%s\",\"message\":",
        e->error ? "error" : "warning", diag_code_text(e->code), diag_code_name(e->code));
    put_quoted(t, e->message);
    text_puts(t, ",");
    put_spans(d, t, e->span);
    text_puts(t, ",\"notes\":[");
    for (int i = 0; i < e->notes.count; i++) {
        text_puts(t, i ? ",{\"message\":" : "{\"message\":");
        put_quoted(t, e->notes.at[i].message);
        text_puts(t, ",");
        put_spans(d, t, e->notes.at[i].span);
        text_puts(t, "}");
    }
    text_puts(t, "],\"fixes\":[");
    for (int i = 0; i < e->fixes.count; i++) {
        if (i) text_puts(t, ",");
        put_json_fix(t, &e->fixes.at[i]);
    }
    text_puts(t, "],\"rendered\":");
    put_quoted(t, rendered.at);
    text_puts(t, "}\n");
}

void diag_print_json(const struct diag *d, struct text *out) {
    for (int i = 0; i < d->entries.count; i++)
        if (!diag_hidden(d, d->entries.at[i])) put_json_entry(d, out, d->entries.at[i]);
}
