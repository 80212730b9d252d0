/* internal.h: what the files of base/ share. */
#ifndef TILEC_BASE_INTERNAL_H
#define TILEC_BASE_INTERNAL_H
#include "diag.h"
#include "vec.h"
#include <stdarg.h>

/* text.c */
char *arena_vprintf(struct arena *a, const char *format, va_list arguments)
    __attribute__((format(printf, 2, 0)));

/* arena.c */
/* Makes what was allocated last longer where it is; false if something else came after it. */
bool arena_extend(struct arena *a, void *memory, size_t bytes, size_t more);
/* Takes the end of what was allocated last back; it must still be zero. */
void arena_trim(struct arena *a, void *memory, size_t bytes, size_t fewer);

struct diag_fix {
    struct span span;
    const char *replacement, *message;
};

struct diag_note {
    struct span span;
    const char *message;
};

struct diag_entry {
    enum diag_code code;
    bool error; /* of the source, or a warning that -Werror promoted */
    bool promoted;
    struct span span;
    const char *message;
    const char *was; /* before diag_demote; NULL: as reported */
    enum diag_code was_code;
    VEC(struct diag_note) notes;
    VEC(struct diag_fix) fixes;
};

struct diag_remark {
    struct span span;
    const char *topic, *message;
    const char *of; /* diag_remarks_of; NULL: all */
};

struct diag {
    struct arena *arena;
    const struct source *source;
    VEC(struct diag_entry *) entries;
    VEC(struct diag_remark) remarks;
    const char *remarks_of;
    int programs; /* that diag_remarks_of has named */
    struct diag_entry *last;  /* NULL: the last report was dropped */
    struct diag_entry **seen; /* open hash table of `entries` */
    int seen_room;
    int errors, warnings, limit;
    int dropped, dropped_before; /* errors not entered, in all and before the last mark */
    enum diag_state state[DIAG_CODE_COUNT];
};

const char *diag_code_name(enum diag_code code);

/* A demoted error whose warning is switched off: kept, since diag_restore may need it, not shown.
 */
bool diag_hidden(const struct diag *d, const struct diag_entry *e);

#endif
