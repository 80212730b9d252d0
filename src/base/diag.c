/* diag.c: collects errors, warnings, notes, fixes and remarks; counting; the limit. */
#include "diag.h"
#include "internal.h"
#include <stdarg.h>
#include <string.h>

static const struct code_row {
    const char *code, *name, *page;
    enum severity severity;
} rows[] = {
#define DIAG(code, severity, name, page) [code] = {#code, name, page, severity},
#include "diagnostics.def"
};

const char *diag_code_text(enum diag_code code) {
    return rows[code].severity == SEVERITY_WARNING ? rows[code].name : rows[code].code;
}

const char *diag_code_page(enum diag_code code) { return rows[code].page; }

const char *diag_code_name(enum diag_code code) { return rows[code].name; }

int diag_code_find(const char *text) {
    for (int i = 0; i < DIAG_CODE_COUNT; i++)
        if (!strcmp(diag_code_text((enum diag_code)i), text)) return i;
    return -1;
}

struct diag *diag_new(struct arena *a, const struct source *source) {
    struct diag *d = arena_make(a, struct diag);
    d->arena = a;
    d->source = source;
    d->limit = 20;
    for (int i = 0; i < DIAG_CODE_COUNT; i++) d->state[i] = DIAG_ON;
    return d;
}

/* -- Reports that were there before ------------------------------------------------------------ */

static uint32_t hash_of(const struct diag_entry *e) {
    uint32_t hash = 2166136261u ^ (uint32_t)e->code;
    for (const char *p = e->message; *p; p++) hash = (hash ^ (unsigned char)*p) * 16777619u;
    return (hash ^ e->span.begin) * 16777619u ^ e->span.end;
}

static bool same(const struct diag_entry *a, const struct diag_entry *b) {
    return a->code == b->code && a->span.begin == b->span.begin && a->span.end == b->span.end &&
           !strcmp(a->message, b->message);
}

static struct diag_entry **slot_of(struct diag *d, const struct diag_entry *e) {
    uint32_t mask = (uint32_t)d->seen_room - 1, at = hash_of(e) & mask;
    while (d->seen[at] && !same(d->seen[at], e)) at = (at + 1) & mask;
    return &d->seen[at];
}

/* Enters e; false if its like is in. */
static bool enter(struct diag *d, struct diag_entry *e) {
    if (d->entries.count * 2 >= d->seen_room) {
        d->seen_room = d->seen_room ? d->seen_room * 2 : 64;
        d->seen = arena_array(d->arena, struct diag_entry *, d->seen_room);
        for (int i = 0; i < d->entries.count; i++) *slot_of(d, d->entries.at[i]) = d->entries.at[i];
    }
    struct diag_entry **slot = slot_of(d, e);
    if (*slot) return false;
    *slot = e;
    return true;
}

/* -- Reporting -----------------------------------------------------------------------------------
 */

void diag_report(struct diag *d, struct span span, enum diag_code code, const char *format, ...) {
    bool warning = rows[code].severity == SEVERITY_WARNING;
    bool promoted = warning && d->state[code] == DIAG_AS_ERROR;
    bool error = promoted || !warning;
    d->last = NULL;
    if (warning && d->state[code] == DIAG_OFF) return;
    if (error && diag_full(d)) {
        d->dropped++;
        return;
    }
    va_list arguments;
    va_start(arguments, format);
    struct diag_entry *e = arena_make(d->arena, struct diag_entry);
    e->code = code;
    e->error = error;
    e->promoted = promoted;
    e->span = span;
    e->message = arena_vprintf(d->arena, format, arguments);
    va_end(arguments);
    if (!enter(d, e)) {
        d->dropped += error;
        return;
    }
    vec_push(d->arena, &d->entries, e);
    d->last = e;
    if (error)
        d->errors++;
    else
        d->warnings++;
}

void diag_note(struct diag *d, struct span span, const char *format, ...) {
    if (!d->last) return;
    va_list arguments;
    va_start(arguments, format);
    struct diag_note note = {span, arena_vprintf(d->arena, format, arguments)};
    va_end(arguments);
    vec_push(d->arena, &d->last->notes, note);
}

void diag_fix(struct diag *d, struct span span, const char *replacement, const char *format, ...) {
    if (!d->last) return;
    va_list arguments;
    va_start(arguments, format);
    struct diag_fix fix = {span, arena_strndup(d->arena, replacement, strlen(replacement)),
                           arena_vprintf(d->arena, format, arguments)};
    va_end(arguments);
    vec_push(d->arena, &d->last->fixes, fix);
}

void diag_remark(struct diag *d, struct span span, const char *topic, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    struct diag_remark r = {span, topic, arena_vprintf(d->arena, format, arguments), d->remarks_of};
    va_end(arguments);
    vec_push(d->arena, &d->remarks, r);
}

void diag_remarks_of(struct diag *d, const char *name) {
    d->remarks_of = name;
    d->programs += name != NULL;
}

int diag_errors(const struct diag *d) { return d->errors + d->dropped; }
int diag_warnings(const struct diag *d) { return d->warnings; }
bool diag_full(const struct diag *d) { return d->limit && d->errors >= d->limit; }

/* -- Choices of the command line ------------------------------------------------------------------
 */

static bool in_perf(const char *name) { return !strncmp(name, "perf", 4); }

/* "all" as errors leaves alone what is switched off and the group perf: performance advice stops
 * a build only where it was asked to by its name. */
bool diag_set(struct diag *d, const char *name, enum diag_state state) {
    bool all = !strcmp(name, "all"), perf = !strcmp(name, "perf"), found = all || perf;
    for (int i = 0; i < DIAG_CODE_COUNT; i++) {
        if (rows[i].severity != SEVERITY_WARNING) continue;
        bool mine = in_perf(rows[i].name);
        bool named = !strcmp(rows[i].name, name) || (perf && mine);
        bool counted = all && (state != DIAG_AS_ERROR || (!mine && d->state[i] != DIAG_OFF));
        if (named || counted) d->state[i] = state;
        found = found || named;
    }
    return found;
}

void diag_set_limit(struct diag *d, int errors) { d->limit = errors > 0 ? errors : 0; }

/* -- Errors that turn out to be warnings ---------------------------------------------------------
 */

/* After entries changed: of those that became alike the first stays. */
static void enter_again(struct diag *d) {
    int kept = 0;
    memset(d->seen, 0, sizeof *d->seen * (size_t)d->seen_room);
    for (int i = 0; i < d->entries.count; i++) {
        struct diag_entry *e = d->entries.at[i], **slot = slot_of(d, e);
        d->errors -= *slot && e->error;
        d->warnings -= *slot && !e->error && !diag_hidden(d, e);
        if (*slot) continue;
        d->entries.at[kept++] = *slot = e;
    }
    d->entries.count = kept;
    d->last = NULL;
}

bool diag_hidden(const struct diag *d, const struct diag_entry *e) {
    return e->was && !e->error && d->state[e->code] == DIAG_OFF;
}

int diag_mark(struct diag *d) {
    d->dropped_before = d->dropped;
    return d->entries.count;
}

void diag_demote(struct diag *d, int mark, enum diag_code code, const char *prefix) {
    for (int i = mark; i < d->entries.count; i++) {
        struct diag_entry *e = d->entries.at[i];
        if (!e->error || e->promoted || e->was) continue;
        e->was = e->message;
        e->was_code = e->code;
        e->message = arena_printf(d->arena, "%s%s", prefix, e->message);
        e->code = code;
        e->error = e->promoted = d->state[code] == DIAG_AS_ERROR;
        d->errors -= !e->error;
        d->warnings += !e->error && !diag_hidden(d, e);
    }
    d->dropped = d->dropped_before;
    enter_again(d);
}

void diag_restore(struct diag *d) {
    if (!d->entries.count) return;
    for (int i = 0; i < d->entries.count; i++) {
        struct diag_entry *e = d->entries.at[i];
        if (!e->was) continue;
        d->errors += !e->error;
        d->warnings -= !e->error && !diag_hidden(d, e);
        e->message = e->was;
        e->code = e->was_code;
        e->error = true;
        e->promoted = false;
        e->was = NULL;
    }
    enter_again(d);
}
