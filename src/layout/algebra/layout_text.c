/* layout_text.c: the text form of a layout, printed and read. */
#include "layout/algebra/layout.h"
#include <string.h>

static const char *const space_names[SPACE_COUNT] = {
    [SPACE_REG] = "reg", [SPACE_LANE] = "lane", [SPACE_WARP] = "warp", [SPACE_OFF] = "off"};

/* -- Printing ---------------------------------------------------------------------------------- */

static void print_digits(struct text *t, const struct digit *d, int count) {
    for (int i = 0; i < count; i++)
        text_printf(t, "%s%d@%s:%d", i ? " " : "", d[i].radix, space_names[d[i].space],
                    d[i].stride);
}

static void print_axis(struct text *t, const struct layout_axis *axis) {
    int64_t size = 1;
    for (int i = 0; i < axis->count; i++) size *= axis->digit[i].radix;
    if (axis->count == 0)
        text_puts(t, "1");
    else if (size != axis->extent)
        text_printf(t, "%d: ", axis->extent);
    print_digits(t, axis->digit, axis->count);
}

void layout_print(struct text *t, const struct layout *l) {
    if (layout_is_none(l)) {
        text_puts(t, "none");
        return;
    }
    text_puts(t, "[");
    for (int a = 0; a < l->rank; a++) {
        if (a) text_puts(t, ", ");
        print_axis(t, &l->axis[a]);
    }
    text_puts(t, "]");
    if (l->reps) {
        text_puts(t, " rep [");
        print_digits(t, l->rep, l->reps);
        text_puts(t, "]");
    }
    for (int i = 0; i < l->xors; i++) {
        struct layout_xor x = l->xor_term[i];
        text_printf(t, "%s%d,%d,%d", i ? " " : " xor [", x.target, x.source, x.length);
    }
    if (l->xors) text_puts(t, "]");
}

/* -- Reading ----------------------------------------------------------------------------------- */

/* An integer from 0 to `most`. */
static int64_t read_number(struct cursor *c, int64_t most) {
    int64_t value = 0;
    if (!cursor_integer(c, &value)) {
        cursor_fail(c, "expected a number");
        return 0;
    }
    if (value >= 0 && value <= most) return value;
    cursor_fail(c, "%lld is not between 0 and %lld", (long long)value, (long long)most);
    return 0;
}

static struct digit read_digit_after(struct cursor *c, int64_t radix) {
    struct digit d = {.radix = (int32_t)radix};
    if (!cursor_expect(c, "@")) return d;
    const char *name = cursor_word(c);
    int s = 0;
    while (name && s < SPACE_COUNT && strcmp(name, space_names[s]) != 0) s++;
    if (!name || s == SPACE_COUNT) {
        cursor_fail(c, "expected reg, lane, warp or off");
        return d;
    }
    d.space = (uint8_t)s;
    if (cursor_expect(c, ":")) d.stride = (int32_t)read_number(c, INT32_MAX);
    return d;
}

static bool at_end(const struct cursor *c) {
    return c->error || cursor_at(c, ",") || cursor_at(c, "]");
}

/* Digits up to ',' or ']'; `first` is the radix already read, 0 if none was. */
static int read_digits(struct cursor *c, int64_t first, struct digit *out, int room) {
    int count = 0;
    while (first || !at_end(c)) {
        int64_t radix = first ? first : read_number(c, INT32_MAX);
        first = 0;
        if (count == room) {
            cursor_fail(c, "more than %d digits", room);
            return count;
        }
        out[count++] = read_digit_after(c, radix);
    }
    return count;
}

/* `1`, or digits with the extent in front if it is less than their product. */
static void read_axis(struct cursor *c, struct layout_axis *axis) {
    int64_t number = read_number(c, INT32_MAX);
    if (number == 0) {
        cursor_fail(c, "0 is neither an extent nor a radix");
        return;
    }
    bool digits_follow = cursor_at(c, "@");
    if (!digits_follow && at_end(c)) {
        axis->extent = (int32_t)number;
        return;
    }
    bool stated = !digits_follow && cursor_expect(c, ":");
    axis->count = read_digits(c, stated ? 0 : number, axis->digit, LAYOUT_DIGITS);
    int64_t size = 1;
    for (int i = 0; i < axis->count && size <= INT32_MAX; i++) size *= axis->digit[i].radix;
    if (size > INT32_MAX) cursor_fail(c, "an axis beyond 31 bits");
    axis->extent = (int32_t)(stated ? number : size);
}

static void read_xors(struct cursor *c, struct layout *l) {
    while (!c->error && !cursor_take(c, "]")) {
        if (l->xors == LAYOUT_XORS) {
            cursor_fail(c, "more than %d xor terms", LAYOUT_XORS);
            return;
        }
        struct layout_xor *x = &l->xor_term[l->xors++];
        x->target = (uint8_t)read_number(c, 63);
        cursor_expect(c, ",");
        x->source = (uint8_t)read_number(c, 63);
        cursor_expect(c, ",");
        x->length = (uint8_t)read_number(c, 63);
    }
}

static void read_body(struct cursor *c, struct layout *l) {
    cursor_expect(c, "[");
    while (!c->error && !cursor_at(c, "]")) {
        if (l->rank == LAYOUT_RANK) {
            cursor_fail(c, "more than %d axes", LAYOUT_RANK);
            return;
        }
        if (l->rank) cursor_expect(c, ",");
        read_axis(c, &l->axis[l->rank++]);
    }
    cursor_expect(c, "]");
    if (cursor_take_word(c, "rep") && cursor_expect(c, "[")) {
        l->reps = read_digits(c, 0, l->rep, LAYOUT_REPS);
        cursor_expect(c, "]");
    }
    if (cursor_take_word(c, "xor") && cursor_expect(c, "[")) read_xors(c, l);
}

bool layout_read(struct cursor *c, struct layout *l) {
    *l = layout_none();
    if (cursor_take_word(c, "none")) return !c->error;
    struct layout r = {.rank = 0};
    read_body(c, &r);
    const char *why = NULL;
    if (!c->error && !layout_valid(&r, &why)) cursor_fail(c, "a layout with %s", why);
    if (c->error) return false;
    *l = layout_canonical(&r);
    return true;
}
