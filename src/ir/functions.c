/* functions.c: functions.def as a table. */
#include "ir/expr.h"
#include <string.h>

static const struct function_row rows[] = {
#define FUNCTION(id, name, arity, types, flags, doc) \
    {name, arity, TYPES_##types, FLAG_##flags, doc},
#include "ir/functions.def"
};

const struct function_row *function_row(enum function fn) { return &rows[fn]; }

int function_find(const char *name) {
    for (int i = 0; i < FN_COUNT; i++)
        if (!strcmp(rows[i].name, name)) return i;
    return -1;
}
