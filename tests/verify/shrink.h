/* shrink.h: a program that shows something made as small as it can be while it still shows it. */
#ifndef TILEC_TESTS_VERIFY_SHRINK_H
#define TILEC_TESTS_VERIFY_SHRINK_H
#include "base/arena.h"
#include <stdbool.h>

struct shrink_goal {
    /* Does `text` show it? Called for texts of any kind, most of them refused by the compiler. */
    bool (*shows)(const char *text, void *data);
    void *data;
    int most;   /* calls; 0: no limit */
    int trials; /* out: calls made */
};

/* The smallest text found, `text` itself if it does not show it. Deterministic. */
const char *shrink(struct arena *a, const char *text, struct shrink_goal *goal);

#endif
