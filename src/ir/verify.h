/* verify.h: what tile_verify.c and verify_layout.c share. */
#ifndef TILEC_IR_VERIFY_H
#define TILEC_IR_VERIFY_H
#include "ir/tile.h"

struct verifier {
    struct module *m;
    struct function_ir *f;
    struct kernel *k;
    enum level level;
    struct span span;       /* of the statement at hand */
    const struct stmt *map; /* the MAP around, or NULL */
    int loops;              /* around, within the MAP */
    bool *bound;            /* by variable id: in scope */
    int32_t bound_room;
    bool async, commits, waits; /* met in this kernel */
    const char *why;            /* the first violation */
};

void verify_fail(struct verifier *v, struct span span, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* -- verify_layout.c: rules from PLACED on
 * ------------------------------------------------------------ */
void verify_buffer(struct verifier *v, const struct buffer *b);
void verify_domain(struct verifier *v, const struct domain *d);
void verify_access(struct verifier *v, const struct buffer *b, struct expr *const *index,
                   bool write);
void verify_loads(struct verifier *v, struct expr *e); /* each a verify_access */
void verify_offsets(struct verifier *v);

#endif
