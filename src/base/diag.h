/* diag.h: errors, warnings, notes and fixes with carets; counting; the limit.
 *
 * A diagnostic is collected, not printed, so that the driver decides on the form (text or JSON)
 * and so that a compilation for several architectures can say a thing once. */
#ifndef TILEC_DIAG_H
#define TILEC_DIAG_H
#include "source.h"
#include "text.h"
#include <stdio.h>

/* E0101 … are errors of the source, W_… warnings that -W names; the table says which. */
enum diag_code {
#define DIAG(code, severity, name, page) code,
#include "diagnostics.def"
    DIAG_CODE_COUNT
};

enum severity { SEVERITY_ERROR, SEVERITY_WARNING, SEVERITY_NOTE, SEVERITY_REMARK };
enum diag_state { DIAG_OFF, DIAG_ON, DIAG_AS_ERROR };

struct diag;

struct diag *diag_new(struct arena *a, const struct source *source);

/* One error or warning at `span`. The message is lower case without a full stop, names the user's
 * thing in quotes, says what is wrong with the numbers, then the next legal value. An identical
 * report at the same place is dropped. A code that is a warning obeys diag_set. */
void diag_report(struct diag *d, struct span span, enum diag_code code, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Added to the report that came last; nothing happens if that one was dropped. */
void diag_note(struct diag *d, struct span span, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void diag_fix(struct diag *d, struct span span, const char *replacement, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* One line of --explain: a decision of the compiler, with its place. `topic` is "layout",
 * "schedule" or "shared". Kept apart from the diagnostics. */
void diag_remark(struct diag *d, struct span span, const char *topic, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* The remarks from here on are about one of several programs, an architecture's. What is said of all
 * of them is printed once, what is not with the names behind it. NULL: about all again. */
void diag_remarks_of(struct diag *d, const char *name);

/* Warnings that became errors included, and so is what was dropped: more than before means that
 * something failed since. */
int diag_errors(const struct diag *d);
int diag_warnings(const struct diag *d);
bool diag_full(const struct diag *d); /* the limit of errors is reached: stop looking for more */

/* -W: by name ("stages", "perf" for the group, "all"); false if there is no such warning. */
bool diag_set(struct diag *d, const char *name, enum diag_state state);
void diag_set_limit(struct diag *d, int errors); /* 0: none */

/* Errors reported after the last `mark` become warnings of `code`, each message behind `prefix`: what an
 * architecture that was not asked for by name cannot take does not stop the others. Warnings that
 * are errors by wish stay so. */
int diag_mark(struct diag *d);
void diag_demote(struct diag *d, int mark, enum diag_code code, const char *prefix);

/* Takes back what diag_demote did; what is then said twice is said once. */
void diag_restore(struct diag *d);

/* Prints everything collected, in the order of reporting, with a summary line (text form). */
void diag_print_text(const struct diag *d, struct text *out, bool color);
void diag_print_json(const struct diag *d, struct text *out);
void diag_print_remarks(const struct diag *d, struct text *out, const char *topic_or_all);

/* The row of the table. */
const char *diag_code_text(enum diag_code code); /* "E0101" or the warning's name */
const char *diag_code_page(enum diag_code code); /* the text of --explain=CODE */
int diag_code_find(const char *text);            /* -1 if unknown */

#endif
