/* assign.c: assignments. A device scalar given to a name is evaluated there (a let); given to the
 * name of a T.alloc_var it is stored; everything else just gets the name. */
#include "sema/state.h"

/* -- Names
 * ------------------------------------------------------------------------------------------ */

static bool stores_into(const struct binding *b, struct value v) {
    if (!b || b->ended != ENV_MODULE) return false;
    if (v.kind == VALUE_VAR && !v.mutable->bound) /* a new variable takes the name over */
        return false;
    return b->value.kind == VALUE_REF || (b->value.kind == VALUE_VAR && b->value.mutable->bound);
}

static void store_into(struct sema *s, struct value target, struct value v, struct span span) {
    if (!s->block)
        sema_error(s, span, E0218,
                   "a variable of the device can be assigned to inside T.Kernel only");
    else if (target.kind == VALUE_REF)
        form_store(s, target, v, span);
    else
        form_set(s, target, v, span);
}

/* A name of the code around a device loop that the body reads before it binds it anew: Python would
 * carry the value to the next iteration, which only a variable can do. */
static bool carried(struct env *e, struct sym *name, const struct binding **out) {
    const struct env *body = env_body(e);
    int64_t opened = -1;
    for (struct env *up = e;; up = up->parent) {
        struct binding *b = env_own(up, name);
        if (b) {
            *out = b;
            return opened >= 0 && b->ended == ENV_MODULE && b->read_at > opened;
        }
        if (up == body) return false;
        if (up->kind == ENV_LOOP) opened = up->opened;
    }
}

static bool refuse_carried(struct sema *s, struct env *e, struct sym *name, struct span span) {
    const struct binding *b = NULL;
    if (!carried(e, name, &b)) return false;
    sema_error(s, span, E0218,
               "'%s' is read and bound anew in a loop that runs on the device; make it a variable "
               "with '%s = T.alloc_var(…)'",
               name->text, name->text);
    diag_note(s->diag, b->span, "'%s' is bound here, outside the loop", name->text);
    return true;
}

/* A nested function that assigns to the variable of the function around would make its own name.
 * One that only a region around the call binds is likely to be another thing of the same name,
 * unless the function read it. */
static bool refuse_captured(struct sema *s, struct env *e, struct sym *name, struct span span) {
    struct value v;
    struct env *body = env_body(e);
    if (!body->parent || body->kind == ENV_MODULE || body->comprehension) return false;
    if (!env_lookup(body->parent, name, &v) || v.kind != VALUE_VAR) {
        const struct binding *b = env_visible(env_around(body), name);
        if (!b || b->value.kind != VALUE_VAR || b->read_at <= body->opened) return false;
    }
    sema_error(
        s, span, E0218,
        "'%s' is a variable of the function around; pass it to a T.macro as a T.Ref parameter",
        name->text);
    return true;
}

static bool needs_let(struct sema *s, struct value v) {
    if (!s->block || !value_is_scalar_ir(v)) return false;
    if (v.kind == VALUE_VAR) return v.mutable->bound;
    if (v.kind != VALUE_IR) return true;
    const struct expr *x = v.expr;
    bool variable = x->kind == EXPR_VAR && x->var->kind != VAR_MUTABLE;
    return !variable && x->kind != EXPR_INT && x->kind != EXPR_FLOAT;
}

static bool is_container(struct value v) { return is_sequence(v) || v.kind == VALUE_DICT; }

static void read_items(struct sema *s, struct value v, struct span span, int depth);

struct value value_snapshot(struct sema *s, struct value v, struct span span) {
    if (s->block && is_container(v)) read_items(s, v, span, 0);
    if (v.kind == VALUE_ACCESS && !value_is_scalar_ir(v))
        v.subscript = access_fixed(s, v.subscript, span);
    if (!needs_let(s, v)) return v;
    return form_let(s, intern_text(s->names, "value"), v, DTYPE_NONE, span);
}

/* x = (A[0], A[1]) reads the elements here, as x = A[0] would. */
static void read_items(struct sema *s, struct value v, struct span span, int depth) {
    bool dict = v.kind == VALUE_DICT;
    int count = dict ? v.dict->values.count : v.sequence->items.count;
    for (int i = 0; i < count && sema_charge(s, 1); i++) {
        struct value *item = dict ? &v.dict->values.at[i] : &v.sequence->items.at[i];
        if (is_container(*item) && depth < 4)
            read_items(s, *item, span, depth + 1);
        else
            *item = value_snapshot(s, *item, span);
    }
}

void assign_name(struct sema *s, struct env *e, struct sym *name, struct value v,
                 struct span span) {
    const struct binding *old = env_in_function(e, name);
    if (stores_into(old, v)) {
        store_into(s, old->value, v, span);
        return;
    }
    if (refuse_carried(s, e, name, span) || (!old && refuse_captured(s, e, name, span)))
        v = value_bad();
    else if (needs_let(s, v))
        v = form_let(s, name, v, DTYPE_NONE, span);
    else
        v = value_snapshot(s, v, span);
    if (v.kind == VALUE_VAR) v.mutable->bound = true;
    env_bind(s, e, name, v, span);
    if (evaluator_of(s)->module_level) export_value(s, name, v, span);
}

static bool is_items(const struct ast_expr *x) {
    return x->kind == AST_TUPLE || x->kind == AST_LIST;
}

/* -- Other targets
 * ------------------------------------------------------------------------------------- */

/* In a, b = b, a and A[0], A[1] = A[1], A[0] all is read before anything is stored. */
static void read_first(struct sema *s, const struct ast_expr *t, struct sequence *items,
                       int depth) {
    for (int i = 0; i < items->items.count; i++, t = t ? t->next : NULL) {
        struct value *v = &items->items.at[i];
        bool named = t && t->kind == AST_NAME;
        if (v->kind == VALUE_ACCESS && !value_is_scalar_ir(*v))
            *v = value_snapshot(s, *v, t ? t->span : (struct span){0, 0});
        if (needs_let(s, *v))
            *v = form_let(s, named ? t->name : intern_text(s->names, "value"), *v, DTYPE_NONE,
                          t ? t->span : (struct span){0, 0});
        if (!is_sequence(*v) || depth > 4) continue;
        *v = value_sequence(s, v->kind, v->sequence->items.count, v->sequence->items.at);
        read_first(s, t && is_items(t) ? t->items : NULL, v->sequence, depth + 1);
    }
}

static void assign_items(struct sema *s, struct env *e, const struct ast_expr *target,
                         struct value v) {
    struct sequence *items;
    int wanted = 0, star = -1, i = 0;
    for (const struct ast_expr *t = target->items; t; t = t->next, wanted++)
        if (t->kind == AST_STARRED) star = wanted;
    if (!iterate(s, v, target->span, &items)) items = NULL;
    int count = items ? items->items.count : 0;
    if (items && (star < 0 ? count != wanted : count < wanted - 1)) {
        sema_error(s, target->span, E0208, "%d values for %d names", count, wanted);
        items = NULL;
    }
    if (items && s->block) read_first(s, target->items, items, 0);
    for (const struct ast_expr *t = target->items; t; t = t->next) {
        if (!items) {
            assign_target(s, e, t->kind == AST_STARRED ? t->items : t, value_bad());
            continue;
        }
        if (t->kind == AST_STARRED) {
            int spare = count - wanted + 1;
            assign_target(s, e, t->items,
                          value_sequence(s, VALUE_LIST, spare, items->items.at + i));
            i += spare;
            continue;
        }
        assign_target(s, e, t, items->items.at[i++]);
    }
}

/* The code of a device loop or branch is made once, and what making it does to a list or dict from
 * around it is done once: not in each round, and not only where the branch is taken. */
bool refuse_change(struct sema *s, struct value v, struct span span) {
    bool dict = v.kind == VALUE_DICT;
    if (!dict && v.kind != VALUE_LIST) return false;
    *(dict ? &v.dict->changed : &v.sequence->changed) = ++evaluator_of(s)->clock;
    if ((dict ? v.dict->made : v.sequence->made) >= evaluator_of(s)->region) return false;
    sema_error(
        s, span, E0218,
        "this %s is from outside a loop or branch that runs on the device, and changes in it "
        "once, while compiling; use a T.alloc_var or a buffer",
        value_kind_name(v));
    return true;
}

static void store_item(struct sema *s, struct value base, struct value key, struct value v,
                       struct span span) {
    int at;
    if (refuse_change(s, base, span)) return;
    v = value_snapshot(s, v, span);
    if (base.kind == VALUE_DICT) {
        if (good_key(s, key, span)) dict_set(s, base.dict, key, v);
    } else if (base.kind == VALUE_LIST && key.kind != VALUE_SLICE) {
        if (sequence_index(s, key, base.sequence->items.count, span, &at))
            base.sequence->items.at[at] = v;
    } else if (base.kind != VALUE_BAD) {
        sema_error(s, span, E0218, "%s of %s cannot be assigned to",
                   key.kind == VALUE_SLICE ? "a slice" : "an item", value_a_kind(base));
    }
}

/* The base and the evaluated entries of a subscript that is a target; false after a report. */
struct place_of {
    struct value base, key;
    struct value access; /* of a buffer; else ABSENT */
};

static bool locate(struct sema *s, struct env *e, const struct ast_expr *x, struct place_of *out) {
    *out = (struct place_of){.base = eval_expr(s, e, x->index.base)};
    if (out->base.kind == VALUE_BAD) return false;
    if (out->base.kind == VALUE_BUFFER || out->base.kind == VALUE_ACCESS) {
        out->access = eval_index(s, e, x);
        return out->access.kind != VALUE_BAD;
    }
    const struct ast_slice *at = x->index.at;
    if (at && !at->next && !x->index.tuple && !at->range) {
        out->key = eval_expr(s, e, at->lo);
        return out->key.kind != VALUE_BAD;
    }
    out->key = value_sequence(s, VALUE_TUPLE, 0, NULL);
    for (; at; at = at->next) {
        if (at->range) {
            out->key = (struct value){.kind = VALUE_SLICE};
            return true;
        }
        struct value v = eval_expr(s, e, at->lo);
        if (v.kind == VALUE_BAD) return false;
        sequence_push(s, out->key, v);
    }
    return true;
}

static void store_access(struct sema *s, struct value access, struct value v, struct span span) {
    if (s->block)
        form_store(s, access, v, span);
    else
        sema_error(s, span, E0218, "'%s' can be written inside T.Kernel only",
                   access.subscript->buffer->name->text);
}

static void assign_subscript(struct sema *s, struct env *e, const struct ast_expr *target,
                             struct value v) {
    struct place_of p;
    if (!locate(s, e, target, &p) || v.kind == VALUE_BAD) return;
    if (p.access.kind != VALUE_ABSENT) {
        store_access(s, p.access, v, target->span);
        return;
    }
    store_item(s, p.base, p.key, v, target->span);
    if (evaluator_of(s)->module_level && target->index.base->kind == AST_NAME &&
        v.kind == VALUE_INSTANCE)
        export_value(
            s,
            intern_text(s->names, arena_printf(s->arena, "%s_%s", target->index.base->name->text,
                                               value_str(s, p.key))),
            v, target->span);
}

void assign_target(struct sema *s, struct env *e, const struct ast_expr *target, struct value v) {
    switch (target->kind) {
    case AST_NAME: assign_name(s, e, target->name, v, target->span); break;
    case AST_TUPLE:
    case AST_LIST: assign_items(s, e, target, v); break;
    case AST_INDEX: assign_subscript(s, e, target, v); break;
    case AST_ATTRIBUTE:
        sema_error(s, target->span, E0218, "the attribute '%s' cannot be assigned to",
                   target->attribute.name->text);
        break;
    case AST_BAD: break;
    default:
        sema_error(s, target->span, E0218,
                   "this cannot be assigned to; a target is a name, an item or a tuple of them");
    }
}

/* -- Statements
 * -------------------------------------------------------------------------------------------- */

static int item_count(const struct ast_expr *x) {
    int n = 0;
    for (const struct ast_expr *i = x->items; i; i = i->next)
        n += i->kind == AST_STARRED ? 10000 : 1;
    return n;
}

/* a, b = f(), g(): each call learns its own name; all are evaluated before any is stored. */
static struct value eval_for_target(struct sema *s, struct env *e, const struct ast_expr *target,
                                    const struct ast_expr *x) {
    if (target->kind == AST_NAME) return eval_named(s, e, x, target->name);
    if (!is_items(target) || !is_items(x) || item_count(target) != item_count(x) ||
        item_count(x) >= 10000)
        return eval_expr(s, e, x);
    struct value out = value_sequence(s, VALUE_TUPLE, 0, NULL);
    bool good = true;
    const struct ast_expr *t = target->items;
    for (const struct ast_expr *i = x->items; i; i = i->next, t = t->next) {
        struct part p = {.span = i->span};
        struct block *outer = s->block;
        s->block = outer ? &p.code : NULL;
        p.value = eval_for_target(s, e, t, i);
        s->block = outer;
        part_follows(s, &p, out.sequence->items.at, out.sequence->items.count);
        good = good && p.value.kind != VALUE_BAD;
        sequence_push(s, out, p.value);
    }
    return good ? out : value_bad();
}

/* -D replaces a constant of the module. */
static bool replaced(struct sema *s, const struct ast_expr *target, struct value *v) {
    if (!evaluator_of(s)->module_level || target->kind != AST_NAME) return false;
    struct definition *d = definition_find(s, NULL, target->name);
    if (!d) return false;
    *v = definition_value(s, d);
    return true;
}

/* The same for M, N = 1, 2. */
static struct value replaced_items(struct sema *s, const struct ast_expr *target, struct value v) {
    struct value out = value_sequence(s, v.kind, v.sequence->items.count, v.sequence->items.at);
    int i = 0;
    for (const struct ast_expr *t = target->items; t && i < out.sequence->items.count; t = t->next)
        replaced(s, t, &out.sequence->items.at[i++]);
    return out;
}

void exec_assign(struct sema *s, struct env *e, const struct ast_stmt *st) {
    const struct ast_expr *first = st->assign.targets;
    struct value v;
    if (!replaced(s, first, &v)) v = eval_for_target(s, e, first, st->assign.value);
    if (evaluator_of(s)->module_level && is_items(first) && is_sequence(v))
        v = replaced_items(s, first, v);
    if (first->next) v = value_snapshot(s, v, st->span); /* a = b[i] = x: x is evaluated once */
    for (const struct ast_expr *t = first; t; t = t->next) assign_target(s, e, t, v);
}

/* x: T.int32 = value fixes the type of a let. */
void assign_typed(struct sema *s, struct env *e, const struct ast_stmt *st) {
    const struct ast_expr *target = st->annotated.target;
    struct value v;
    if (replaced(s, target, &v)) {
        assign_target(s, e, target, v);
        return;
    }
    v = eval_for_target(s, e, target, st->annotated.value);
    bool scalar = v.kind != VALUE_BAD && (value_is_scalar_ir(v) || value_is_number(v));
    const struct binding *old = target->kind == AST_NAME ? env_in_function(e, target->name) : NULL;
    if (s->block && scalar && target->kind == AST_NAME &&
        !(v.kind == VALUE_VAR && !v.mutable->bound) && !stores_into(old, v)) {
        struct value type = eval_expr(s, e, st->annotated.annotation);
        if (type.kind == VALUE_DTYPE) v = form_let(s, target->name, v, type.dtype, st->span);
    }
    assign_target(s, e, target, v);
}

static void augment_name(struct sema *s, struct env *e, const struct ast_stmt *st) {
    const struct ast_expr *target = st->augmented.target;
    struct value old = env_find(s, e, target->name, target->span);
    struct value v = operand_after(s, e, st->augmented.value, &old, 1);
    if (old.kind == VALUE_BUFFER) {
        sema_error(s, st->span, E0218,
                   "'%s' is a buffer; write the elements, as in '%s[i] %s= …' in a T.Parallel loop",
                   target->name->text, target->name->text, ast_operator_text(st->augmented.op));
        return;
    }
    if (old.kind == VALUE_LIST && st->augmented.op == AST_ADD) { /* in place, as Python does it */
        struct sequence *items;
        if (!refuse_change(s, old, st->span) && iterate(s, v, st->augmented.value->span, &items))
            sequence_extend(s, old, items, st->span);
        return;
    }
    assign_name(s, e, target->name, binary(s, st->augmented.op, old, v, st->span), target->span);
}

void exec_augmented(struct sema *s, struct env *e, const struct ast_stmt *st) {
    const struct ast_expr *target = st->augmented.target;
    struct place_of p;
    if (target->kind == AST_NAME) {
        augment_name(s, e, st);
        return;
    }
    if (target->kind != AST_INDEX) {
        assign_target(s, e, target, value_bad());
        return;
    }
    if (!locate(s, e, target, &p)) return;
    bool access = p.access.kind != VALUE_ABSENT;
    struct value old = access ? p.access : index_value(s, p.base, 1, &p.key, target->span);
    struct value v = operand_after(s, e, st->augmented.value, &old, 1);
    v = binary(s, st->augmented.op, old, v, st->span);
    if (v.kind == VALUE_BAD) return;
    if (access)
        store_access(s, p.access, v, st->span);
    else
        store_item(s, p.base, p.key, v, st->span);
}
