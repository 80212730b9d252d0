/* verify_options.c: the options that only `tilec verify` has. */
#include "driver/verify.h"
#include <stdio.h>
#include <stdlib.h>

static bool usage(int *status, const char *what, const char *word) {
    fprintf(stderr, "tilec: error: %s '%s'\n", what, word);
    *status = EXIT_USAGE;
    return false;
}

/* [FUNCTION.]NAME=FILE */
static bool read_named(struct options *o, const char *word, struct named_file *n, int *status) {
    const char *equal = strchr(word, '=');
    if (!equal || equal == word || !equal[1])
        return usage(status, "not of the form NAME=FILE.npy", word);
    const char *dot = memchr(word, '.', (size_t)(equal - word));
    const char *name = dot ? dot + 1 : word;
    *n = (struct named_file){.file = equal + 1};
    if (dot) n->function = arena_strndup(o->arena, word, (size_t)(dot - word));
    n->name = arena_strndup(o->arena, name, (size_t)(equal - name));
    return true;
}

static bool read_seed(const char *word, uint64_t *seed, int *status) {
    char *end;
    *seed = strtoull(word, &end, 10);
    if (*word >= '0' && *word <= '9' && !*end) return true;
    return usage(status, "--seed takes a number, not", word);
}

static bool read_order(const char *word, bool *random, int *status) {
    *random = !strcmp(word, "random");
    if (*random || !strcmp(word, "ascending")) return true;
    return usage(status, "--order is ascending or random, not", word);
}

static bool read_size(struct options *o, const char *word, int *status) {
    char *end;
    const char *equal = strchr(word, '=');
    if (!equal || equal == word) return usage(status, "not of the form NAME=VALUE", word);
    strtoll(equal + 1, &end, 10);
    if (!equal[1] || *end) return usage(status, "--size takes a whole number, not", equal + 1);
    vec_push(o->arena, &o->sizes, word);
    return true;
}

bool verify_option(struct options *o, enum option_id id, const char *value, int *status) {
    struct verify_options *v = o->verify;
    struct named_file n;
    if (!v) return usage(status, "only 'tilec verify' has the option", options_spelling(id));
    switch (id) {
    case OPT_SWEEP: return v->sweep = true;
    case OPT_COUNT_ACCESSES: return v->count = true;
    case OPT_SEED: return read_seed(value, &v->seed, status);
    case OPT_ORDER: return read_order(value, &v->random_order, status);
    case OPT_SIZE: return read_size(o, value, status);
    default: break;
    }
    if (!read_named(o, value, &n, status)) return false;
    if (id == OPT_INPUT)
        vec_push(o->arena, &v->inputs, n);
    else
        vec_push(o->arena, &v->outputs, n);
    return true;
}
