/* eval.c: expressions. What is known at compile time is computed; the rest goes to the builder. */
#include "sema/state.h"

/* -- Operators
 * ------------------------------------------------------------------------------------- */

bool on_device(struct value v) {
    return value_is_scalar_ir(v) || v.kind == VALUE_ACCESS || v.kind == VALUE_BUFFER;
}

struct value binary(struct sema *s, enum ast_operator op, struct value a, struct value b,
                    struct span span) {
    if (a.kind == VALUE_BAD || b.kind == VALUE_BAD) return value_bad();
    if (on_device(a) || on_device(b))
        return sema_measured(s, value_binary(s, op, a, b, span), span);
    return fold_binary(s, op, a, b, span);
}

/* and, or: Python gives the operand that decides; a device operand makes both conditions. */
static struct value eval_logic(struct sema *s, struct env *e, const struct ast_expr *x) {
    struct value a = eval_expr(s, e, x->binary.lhs);
    bool truth = false, is_and = x->binary.op == AST_AND;
    if (a.kind == VALUE_BAD) return a;
    if (on_device(a)) {
        struct expr *first = value_condition(s, a, x->binary.lhs->span);
        if (!first) return value_bad();
        struct part b =
            part_of(s, e, x->binary.rhs, is_and ? first : expr_unary(s->exprs, FN_LNOT, first));
        return b.value.kind == VALUE_BAD ? b.value
                                         : part_logic(s, x->binary.op, first, &b, x->span);
    }
    if (!value_truth(s, a, x->binary.lhs->span, &truth)) return value_bad();
    return truth == is_and ? eval_expr(s, e, x->binary.rhs) : a;
}

static struct value eval_binary(struct sema *s, struct env *e, const struct ast_expr *x) {
    if (x->binary.op == AST_AND || x->binary.op == AST_OR) return eval_logic(s, e, x);
    struct value a = eval_expr(s, e, x->binary.lhs);
    struct value b = operand_after(s, e, x->binary.rhs, &a, 1);
    return binary(s, x->binary.op, a, b, x->span);
}

static struct value eval_unary(struct sema *s, struct env *e, const struct ast_expr *x) {
    struct value a = eval_expr(s, e, x->unary.operand);
    if (a.kind == VALUE_BAD) return a;
    return on_device(a) ? value_unary(s, x->unary.op, a, x->span)
                        : fold_unary(s, x->unary.op, a, x->span);
}

static struct value compare(struct sema *s, enum ast_operator op, struct value a, struct value b,
                            struct span span);

static struct value both(struct sema *s, enum ast_operator op, struct value a, struct value b,
                         struct span span) {
    if (a.kind == VALUE_BAD || b.kind == VALUE_BAD) return value_bad();
    bool known = a.kind == VALUE_BOOL && b.kind == VALUE_BOOL;
    if (!known) return value_binary(s, op, a, b, span);
    return value_bool(op == AST_AND ? a.boolean && b.boolean : a.boolean || b.boolean);
}

static struct value negated(struct sema *s, struct value v, bool negate, struct span span) {
    if (v.kind == VALUE_BAD || !negate) return v;
    return v.kind == VALUE_BOOL ? value_bool(!v.boolean) : value_unary(s, AST_NOT, v, span);
}

/* i in (0, 3) with something of the device on either side: i == 0 or i == 3. */
static struct value contains_any(struct sema *s, struct value item, struct value in,
                                 struct span span) {
    struct value any = value_bool(false);
    for (int i = 0; i < in.sequence->items.count && sema_charge(s, 1); i++) {
        struct value one = compare(s, AST_EQ, item, in.sequence->items.at[i], span);
        any = both(s, AST_OR, any, one, span);
    }
    return any;
}

/* (i, j) == (0, 0): all of them. */
static struct value equal_all(struct sema *s, struct value a, struct value b, struct span span) {
    struct value all = value_bool(a.sequence->items.count == b.sequence->items.count);
    for (int i = 0; i < a.sequence->items.count && all.kind != VALUE_BAD && sema_charge(s, 1);
         i++) {
        if (all.kind == VALUE_BOOL && !all.boolean) return all;
        struct value x = a.sequence->items.at[i], y = b.sequence->items.at[i];
        all = both(s, AST_AND, all, compare(s, AST_EQ, x, y, span), span);
    }
    return all;
}

static struct value compare(struct sema *s, enum ast_operator op, struct value a, struct value b,
                            struct span span) {
    if (a.kind == VALUE_BAD || b.kind == VALUE_BAD) return value_bad();
    bool device = !value_is_static(a) || !value_is_static(b), nested = s->depth < SEMA_DEPTH;
    if ((op == AST_IN || op == AST_NOT_IN) && is_sequence(b) && device)
        return negated(s, contains_any(s, a, b, span), op == AST_NOT_IN, span);
    if ((op == AST_EQ || op == AST_NE) && is_sequence(a) && a.kind == b.kind && device && nested) {
        s->depth++; /* a list may hold itself */
        struct value v = negated(s, equal_all(s, a, b, span), op == AST_NE, span);
        s->depth--;
        return v;
    }
    bool identity = op == AST_IS || op == AST_IS_NOT;
    bool membership = op == AST_IN || op == AST_NOT_IN;
    if (identity || membership || (!on_device(a) && !on_device(b)))
        return fold_compare(s, op, a, b, span);
    if ((op == AST_EQ || op == AST_NE) && (a.kind == VALUE_NONE || b.kind == VALUE_NONE))
        return value_bool(op == AST_NE);
    return value_compare(s, op, a, b, span);
}

/* The right side of a link: of a later one only where those before hold. */
static struct value eval_link(struct sema *s, struct env *e, const struct ast_link *l,
                              struct value all, struct value *lhs) {
    if (!value_is_scalar_ir(all)) return operand_after(s, e, l->rhs, lhs, 1);
    struct part p = part_of(s, e, l->rhs, value_condition(s, all, l->rhs->span));
    if (!part_is_harmless(&p))
        return sema_bad(s, l->rhs->span, E0217,
                        "this is evaluated only if the comparison before it holds, and changes "
                        "something; write 'a < b and b < c'");
    part_join(s, &p);
    return p.value;
}

/* a < b <= c: each operand is evaluated once; a false link that is known ends the chain. */
static struct value eval_compare(struct sema *s, struct env *e, const struct ast_expr *x) {
    struct value lhs = eval_expr(s, e, x->compare.first), all = {.kind = VALUE_ABSENT};
    for (const struct ast_link *l = x->compare.rest; l; l = l->next) {
        struct value rhs = eval_link(s, e, l, all, &lhs);
        struct value one = compare(s, l->op, lhs, rhs, x->span);
        if (one.kind == VALUE_BAD || (one.kind == VALUE_BOOL && !one.boolean)) return one;
        if (all.kind == VALUE_ABSENT || all.kind == VALUE_BOOL)
            all = one;
        else if (one.kind != VALUE_BOOL)
            all = value_binary(s, AST_AND, all, one, x->span);
        lhs = rhs;
    }
    return all;
}

/* then or otherwise, as the device decides by `test`. */
static struct value eval_chosen(struct sema *s, struct env *e, struct value test,
                                const struct ast_expr *const *x, struct span span) {
    struct expr *condition = value_condition(s, test, x[0]->span);
    if (!condition) return value_bad();
    struct part then = part_of(s, e, x[1], condition);
    struct part otherwise = part_of(s, e, x[2], expr_unary(s->exprs, FN_LNOT, condition));
    struct value a = then.value, b = otherwise.value;
    if (a.kind == VALUE_BAD || b.kind == VALUE_BAD) return value_bad();
    if ((value_is_number(a) || value_is_scalar_ir(a)) &&
        (value_is_number(b) || value_is_scalar_ir(b)))
        return part_select(s, condition, &then, &otherwise, span);
    struct value wrong = value_is_number(a) || value_is_scalar_ir(a) ? b : a;
    return sema_bad(s, span, E0207,
                    "the device decides this condition, so it can choose between numbers, not %s",
                    value_a_kind(wrong));
}

static struct value eval_choice(struct sema *s, struct env *e, const struct ast_expr *x) {
    struct value test = eval_expr(s, e, x->choice.test);
    bool truth = false;
    if (test.kind == VALUE_BAD) return test;
    if (!value_is_scalar_ir(test))
        return value_truth(s, test, x->choice.test->span, &truth)
                   ? eval_named(s, e, truth ? x->choice.then : x->choice.otherwise, s->naming)
                   : value_bad();
    const struct ast_expr *const all[] = {x->choice.test, x->choice.then, x->choice.otherwise};
    return eval_chosen(s, e, test, all, x->span);
}

/* The arguments of T.if_then_else(c, a, b), of which it evaluates one as a if c else b does. */
static bool is_choice_call(struct value callee, const struct ast_expr *x,
                           const struct ast_expr **out) {
    int count = 0;
    if (callee.kind != VALUE_BUILTIN || !builtin_is(callee.builtin, "T", "if_then_else"))
        return false;
    for (const struct ast_argument *a = x->call.arguments; a; a = a->next) {
        if (count == 3 || a->keyword || a->stars) return false;
        out[count++] = a->value;
    }
    return count == 3;
}

static struct value eval_choice_call(struct sema *s, struct env *e, const struct ast_expr *const *x,
                                     struct span span) {
    struct value test = eval_expr(s, e, x[0]);
    bool truth;
    if (test.kind == VALUE_BAD) return test;
    if (!value_is_static(test)) return eval_chosen(s, e, test, x, span);
    if (!want_bool(s, test, x[0]->span, "condition", &truth)) return value_bad();
    return eval_expr(s, e, x[truth ? 1 : 2]);
}

/* -- Literals
 * ---------------------------------------------------------------------------------------- */

static struct value eval_items(struct sema *s, struct env *e, const struct ast_expr *first,
                               enum value_kind kind) {
    struct value out = value_sequence(s, kind, 0, NULL);
    for (const struct ast_expr *i = first; i && !s->stopped; i = i->next) {
        if (i->kind != AST_STARRED) {
            struct value v =
                operand_after(s, e, i, out.sequence->items.at, out.sequence->items.count);
            if (v.kind == VALUE_BAD) return v;
            sequence_push(s, out, v);
            continue;
        }
        struct sequence *spread;
        struct value v = eval_expr(s, e, i->items);
        if (v.kind == VALUE_BAD || !iterate(s, v, i->span, &spread)) return value_bad();
        for (int k = 0; k < spread->items.count && !s->stopped; k++)
            sequence_push(s, out, spread->items.at[k]);
    }
    return s->stopped ? value_bad() : out;
}

static struct value eval_dict(struct sema *s, struct env *e, const struct ast_expr *x) {
    struct value out = value_dict(s);
    const struct ast_expr *v = x->dict.values;
    for (const struct ast_expr *k = x->dict.keys; k && v && !s->stopped; k = k->next, v = v->next) {
        struct value key = eval_expr(s, e, k), item = eval_expr(s, e, v);
        if (!good_key(s, key, k->span) || item.kind == VALUE_BAD) return value_bad();
        dict_set(s, out.dict, key, item);
    }
    return s->stopped ? value_bad() : out;
}

struct value eval_fstring(struct sema *s, struct env *e, const struct ast_expr *x) {
    struct text t = text_new(s->arena);
    for (const struct ast_expr *p = x->parts; p; p = p->next) {
        struct value v = eval_expr(s, e, p);
        if (v.kind == VALUE_BAD) return v;
        text_puts(&t, value_str(s, v));
        if (t.length > SEMA_ITEMS)
            return sema_bad(s, x->span, E0211, "a string of more than %d characters", SEMA_ITEMS);
    }
    return (struct value){.kind = VALUE_STRING, .string = intern(s->names, t.at, t.length)};
}

/* [item for target in source if condition], also with '(' and '{': all made at once. */
struct value eval_comprehension(struct sema *s, struct env *e, const struct ast_expr *x) {
    struct sequence *items;
    struct value source = eval_expr(s, e, x->comprehension.source);
    if (source.kind == VALUE_BAD || !iterate(s, source, x->comprehension.source->span, &items))
        return value_bad();
    struct value out = value_sequence(s, VALUE_LIST, 0, NULL);
    struct env *inner = env_new(s, ENV_FUNCTION, e, x->span);
    inner->comprehension = true;
    for (int i = 0; i < items->items.count && !s->stopped; i++) {
        bool keep = true;
        assign_target(s, inner, x->comprehension.target, items->items.at[i]);
        if (x->comprehension.condition) {
            struct value c = eval_expr(s, inner, x->comprehension.condition);
            if (c.kind == VALUE_BAD || !value_truth(s, c, x->comprehension.condition->span, &keep))
                return value_bad();
        }
        struct value v = keep ? eval_expr(s, inner, x->comprehension.item) : value_none();
        if (v.kind == VALUE_BAD) return v;
        if (keep) sequence_push(s, out, v);
    }
    return s->stopped ? value_bad() : out;
}

static struct value eval_lambda(struct sema *s, struct env *e, const struct ast_expr *x) {
    struct closure *c = closure_new(s, e, x->lambda.parameters, x->span);
    c->name = intern_text(s->names, "<lambda>");
    c->result = x->lambda.body;
    return (struct value){.kind = VALUE_FUNCTION, .closure = c};
}

/* -- Subscripts
 * ------------------------------------------------------------------------------------------ */

static struct value slice_sequence(struct sema *s, struct value base, const struct slice *cut,
                                   struct span span) {
    bool text = base.kind == VALUE_STRING;
    int64_t count = text ? (int64_t)base.string->length : base.sequence->items.count, step = 1;
    if (cut->step.kind != VALUE_ABSENT && !want_int(s, cut->step, span, "step", &step))
        return value_bad();
    if (step == 0) return sema_bad(s, span, E0203, "the step of a slice is zero");
    int64_t lo = step > 0 ? 0 : count - 1, hi = step > 0 ? count : -1, floor = step > 0 ? 0 : -1;
    if (cut->lo.kind != VALUE_ABSENT) {
        if (!want_int(s, cut->lo, span, "start", &lo)) return value_bad();
        lo = lo < 0               ? (lo + count < floor ? floor : lo + count)
             : lo > count + floor ? count + floor
                                  : lo;
    }
    if (cut->hi.kind != VALUE_ABSENT) {
        if (!want_int(s, cut->hi, span, "stop", &hi)) return value_bad();
        hi = hi < 0               ? (hi + count < floor ? floor : hi + count)
             : hi > count + floor ? count + floor
                                  : hi;
    }
    struct value out = value_sequence(s, text ? VALUE_LIST : base.kind, 0, NULL);
    struct text t = text_new(s->arena);
    for (int64_t i = lo; (step > 0 ? i < hi : i > hi) && !s->stopped; i += step) {
        if (text)
            text_printf(&t, "%c", base.string->text[i]);
        else
            sequence_push(s, out, base.sequence->items.at[i]);
        if (step > count || step < -count) break;
    }
    return text ? (struct value){.kind = VALUE_STRING, .string = intern(s->names, t.at, t.length)}
                : out;
}

static struct value dict_entry(struct sema *s, const struct dict *d, struct value key,
                               struct span span) {
    if (!good_key(s, key, span)) return value_bad();
    int at = dict_find(d, key);
    if (at >= 0) return d->values.at[at];
    struct value keys = value_sequence(s, VALUE_LIST, 0, NULL);
    for (int i = 0; i < d->keys.count; i++)
        vec_push(s->arena, &keys.sequence->items, d->keys.at[i]);
    return sema_bad(s, span, E0205, "the dict has no key %s; it has %s", value_text(s, key),
                    value_text(s, keys));
}

/* T.Tensor[shape, dtype] means T.Tensor(shape, dtype). */
static struct value index_builtin(struct sema *s, struct value base, int count,
                                  const struct value *entries, struct span span) {
    if (strcmp(base.builtin->module, "T") != 0 || !strstr(base.builtin->parameters, "shape"))
        return sema_bad(s, span, E0207, "'%s' cannot be subscripted", base.builtin->name);
    struct arguments a = {.span = span};
    for (int i = 0; i < count; i++)
        vec_push(s->arena, &a.list, (struct argument){.value = entries[i], .span = span});
    return call_value(s, base, &a, span);
}

struct value index_value(struct sema *s, struct value base, int count, const struct value *entries,
                         struct span span) {
    if (base.kind == VALUE_BUFFER || base.kind == VALUE_ACCESS)
        return subscript_of(s, base, count, entries, span);
    if (base.kind == VALUE_BUILTIN) return index_builtin(s, base, count, entries, span);
    if (base.kind == VALUE_DICT)
        return dict_entry(s, base.dict,
                          count == 1 ? entries[0] : value_sequence(s, VALUE_TUPLE, count, entries),
                          span);
    bool text = base.kind == VALUE_STRING;
    if (!text && !is_sequence(base))
        return base.kind == VALUE_BAD
                   ? base
                   : sema_bad(s, span, E0207, "%s cannot be subscripted", value_a_kind(base));
    if (count != 1)
        return sema_bad(s, span, E0205, "%s takes one index, not %d", value_a_kind(base), count);
    if (entries[0].kind == VALUE_SLICE) return slice_sequence(s, base, entries[0].slice, span);
    int at;
    if (!sequence_index(s, entries[0], text ? (int)base.string->length : base.sequence->items.count,
                        span, &at))
        return value_bad();
    return text ? value_string(s, arena_strndup(s->arena, base.string->text + at, 1))
                : base.sequence->items.at[at];
}

static struct value eval_slice_bound(struct sema *s, struct env *e, const struct ast_expr *x) {
    struct value v = x ? eval_expr(s, e, x) : (struct value){.kind = VALUE_ABSENT};
    return v.kind == VALUE_NONE ? (struct value){.kind = VALUE_ABSENT} : v;
}

static struct value eval_entry(struct sema *s, struct env *e, const struct ast_slice *at) {
    if (!at->range) return eval_expr(s, e, at->lo);
    struct slice *cut = arena_make(s->arena, struct slice);
    cut->lo = eval_slice_bound(s, e, at->lo);
    cut->hi = eval_slice_bound(s, e, at->hi);
    cut->step = eval_slice_bound(s, e, at->step);
    if (cut->lo.kind == VALUE_BAD || cut->hi.kind == VALUE_BAD || cut->step.kind == VALUE_BAD)
        return value_bad();
    return (struct value){.kind = VALUE_SLICE, .slice = cut};
}

/* The entries of base[…]; x[*shape] spreads. False after a report. */
static bool eval_entries(struct sema *s, struct env *e, const struct ast_expr *x,
                         struct value *out) {
    *out = value_sequence(s, VALUE_TUPLE, 0, NULL);
    for (const struct ast_slice *at = x->index.at; at; at = at->next) {
        if (!at->range && at->lo && at->lo->kind == AST_STARRED) {
            struct sequence *spread;
            struct value v = eval_expr(s, e, at->lo->items);
            if (v.kind == VALUE_BAD || !iterate(s, v, at->span, &spread)) return false;
            for (int i = 0; i < spread->items.count; i++)
                sequence_push(s, *out, spread->items.at[i]);
            continue;
        }
        struct value v = eval_entry(s, e, at);
        if (v.kind == VALUE_BAD) return false;
        sequence_push(s, *out, v);
    }
    return !s->stopped;
}

struct value eval_index(struct sema *s, struct env *e, const struct ast_expr *x) {
    struct value base = eval_expr(s, e, x->index.base), entries;
    if (!eval_entries(s, e, x, &entries) || base.kind == VALUE_BAD) return value_bad();
    int count = entries.sequence->items.count;
    bool dict_tuple = base.kind == VALUE_DICT && x->index.tuple && count == 1;
    return index_value(s, base, count, dict_tuple ? &entries : entries.sequence->items.at, x->span);
}

/* -- Attributes and calls
 * ------------------------------------------------------------------------------- */

struct value eval_attribute(struct sema *s, struct env *e, const struct ast_expr *x) {
    struct value base = eval_expr(s, e, x->attribute.base);
    struct sym *name = x->attribute.name;
    if (base.kind == VALUE_BAD) return base;
    if (base.kind == VALUE_MODULE) return module_member(s, base.path, name, x->attribute.name_span);
    struct value v = on_device(base) ? value_attribute(s, base, name, x->span)
                                     : static_attribute(s, base, name, x->attribute.name_span);
    if (v.kind == VALUE_ABSENT)
        return sema_bad(s, x->attribute.name_span, E0205, "%s has no attribute '%s'",
                        value_a_kind(base), name->text);
    return v;
}

static bool push_argument(struct sema *s, struct arguments *out, struct sym *keyword,
                          struct value v, struct span span) {
    sema_charge(s, 1);
    if (out->list.count >= 4096) {
        sema_error(s, span, E0206, "a call with more than 4096 arguments");
        return false;
    }
    vec_push(s->arena, &out->list, (struct argument){.keyword = keyword, .value = v, .span = span});
    return true;
}

static bool spread_argument(struct sema *s, const struct ast_argument *a, struct value v,
                            struct arguments *out) {
    if (a->stars == 2 && v.kind == VALUE_DICT) {
        for (int i = 0; i < v.dict->keys.count; i++) {
            if (v.dict->keys.at[i].kind != VALUE_STRING) {
                sema_error(s, a->span, E0206, "the keys of '**' are names, not %s",
                           value_a_kind(v.dict->keys.at[i]));
                return false;
            }
            if (!push_argument(s, out, v.dict->keys.at[i].string, v.dict->values.at[i], a->span))
                return false;
        }
        return true;
    }
    struct sequence *spread;
    if (a->stars == 2) {
        sema_error(s, a->span, E0206, "'**' needs a dict, not %s", value_a_kind(v));
        return false;
    }
    if (!iterate(s, v, a->span, &spread)) return false;
    for (int i = 0; i < spread->items.count; i++)
        if (!push_argument(s, out, NULL, spread->items.at[i], a->span)) return false;
    return true;
}

bool eval_arguments(struct sema *s, struct env *e, const struct ast_argument *first,
                    struct arguments *out) {
    bool good = true;
    for (const struct ast_argument *a = first; a; a = a->next) {
        struct part p = part_of(s, e, a->value, NULL);
        struct value v = p.value;
        for (int i = 0; i < out->list.count && p.code.first; i++)
            if (out->list.at[i].value.kind == VALUE_IR) part_reads(s, &p, &out->list.at[i].value);
        part_join(s, &p);
        if (v.kind == VALUE_BAD)
            good = false;
        else if (a->stars)
            good = spread_argument(s, a, v, out) && good;
        else
            good = push_argument(s, out, a->keyword, v, a->value->span) && good;
    }
    return good;
}

static struct value eval_call(struct sema *s, struct env *e, const struct ast_expr *x,
                              struct sym *naming) {
    struct value callee = eval_expr(s, e, x->call.callee);
    struct arguments a = {.span = x->span};
    const struct ast_expr *choice[3];
    if (is_choice_call(callee, x, choice)) return eval_choice_call(s, e, choice, x->span);
    if (!eval_arguments(s, e, x->call.arguments, &a) || callee.kind == VALUE_BAD)
        return value_bad();
    s->naming = naming;
    struct value v = call_value(s, callee, &a, x->span);
    s->naming = NULL;
    return v;
}

/* -- All kinds
 * --------------------------------------------------------------------------------------------- */

static struct value eval_kind(struct sema *s, struct env *e, const struct ast_expr *x,
                              struct sym *naming) {
    switch (x->kind) {
    case AST_BAD: return value_bad();
    case AST_NAME: return env_find(s, e, x->name, x->span);
    case AST_INTEGER: return value_int(x->integer);
    case AST_FLOAT: return value_float(x->number);
    case AST_STRING: return (struct value){.kind = VALUE_STRING, .string = x->string};
    case AST_FSTRING: return eval_fstring(s, e, x);
    case AST_TRUE: return value_bool(true);
    case AST_FALSE: return value_bool(false);
    case AST_NONE: return value_none();
    case AST_ELLIPSIS: return (struct value){.kind = VALUE_ELLIPSIS};
    case AST_TUPLE: return eval_items(s, e, x->items, VALUE_TUPLE);
    case AST_LIST:
    case AST_SET: return eval_items(s, e, x->items, VALUE_LIST);
    case AST_DICT: return eval_dict(s, e, x);
    case AST_UNARY: return eval_unary(s, e, x);
    case AST_BINARY: return eval_binary(s, e, x);
    case AST_COMPARE: return eval_compare(s, e, x);
    case AST_CHOICE: return eval_choice(s, e, x);
    case AST_CALL: return eval_call(s, e, x, naming);
    case AST_INDEX: return eval_index(s, e, x);
    case AST_ATTRIBUTE: return eval_attribute(s, e, x);
    case AST_LAMBDA: return eval_lambda(s, e, x);
    case AST_COMPREHENSION: return eval_comprehension(s, e, x);
    case AST_STARRED: break;
    }
    return sema_bad(s, x->span, E0207, "'*' spreads into a call, tuple, list or subscript only");
}

struct value eval_named(struct sema *s, struct env *e, const struct ast_expr *x,
                        struct sym *naming) {
    if (!sema_enter(s, x->span)) return value_bad();
    struct sym *outer = s->naming;
    s->naming = x->kind == AST_CHOICE ? naming : NULL;
    struct value v = eval_kind(s, e, x, naming);
    s->naming = outer;
    sema_leave(s);
    return s->stopped ? value_bad() : sema_measured(s, v, x->span);
}

struct value eval_expr(struct sema *s, struct env *e, const struct ast_expr *x) {
    return eval_named(s, e, x, NULL);
}
