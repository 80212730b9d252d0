/* helpers.c: which device functions the output needs; rows of device.def and patterns. */
#include "base/vec.h"
#include "emit_cuda/internal.h"

struct row {
    const char *name, *needs, *text;
};

static const struct row rows[] = {
#define DEVICE(name, needs, text) {name, needs, text},
#include "device.def"
};
enum { ROWS = sizeof rows / sizeof *rows };

struct made {
    const char *name, *body;
};

struct helpers {
    struct arena *arena;
    bool used[ROWS];
    VEC(struct made) list; /* in order of first use */
};

struct helpers *helpers_new(struct arena *a) {
    struct helpers *h = arena_make(a, struct helpers);
    h->arena = a;
    return h;
}

const char *helper_use(struct helpers *h, const char *name) {
    for (int i = 0; i < ROWS; i++) {
        if (strcmp(rows[i].name, name)) continue;
        h->used[i] = true;
        if (*rows[i].needs) helper_use(h, rows[i].needs);
        return rows[i].name;
    }
    return name;
}

const char *helper_make(struct helpers *h, const char *name, const char *body) {
    for (int i = 0; i < h->list.count; i++)
        if (!strcmp(h->list.at[i].name, name)) return h->list.at[i].name;
    vec_push(h->arena, &h->list, ((struct made){arena_printf(h->arena, "%s", name), body}));
    return h->list.at[h->list.count - 1].name;
}

bool helper_exists(const char *name) {
    for (int i = 0; i < ROWS; i++)
        if (!strcmp(rows[i].name, name)) return true;
    return false;
}

int helper_count(void) { return ROWS; }

const char *helper_name(int row) { return rows[row].name; }

void helpers_print(const struct helpers *h, struct text *out, bool host) {
    for (int i = 0; i < ROWS; i++)
        if (h->used[i] && !strncmp(rows[i].name, "tilec_", 6) == host)
            text_printf(out, "%s\n", rows[i].text);
    for (int i = 0; i < h->list.count && !host; i++) text_printf(out, "%s\n", h->list.at[i].body);
}
