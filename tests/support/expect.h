/* expect.h: expectations written as comments where a diagnostic points.
 *
 * `# error: TEXT [CODE]` and `# warning: TEXT [NAME]` stand anywhere in a line, several in a row;
 * `# error@COL: …` also asks for the column. TEXT is a part of the message, CODE may be missing. */
#ifndef TILEC_EXPECT_H
#define TILEC_EXPECT_H
#include "base/text.h"

struct expectations;

/* What `source` expects. */
struct expectations *expectations_of(struct arena *a, const char *source);
int expectation_count(const struct expectations *e);
bool expects_errors(const struct expectations *e);

/* Compares with what a compiler wrote about the file, in text form. Says into `out` what lacks and
 * what is too much; true if neither. */
bool expectations_meet(struct expectations *e, const char *path, const char *written,
                       struct text *out);

#endif
