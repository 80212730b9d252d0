/* definitions.c: -D NAME=VALUE. */
#include "sema/state.h"

struct definition *definition_find(struct sema *s, const struct closure *unit, struct sym *name) {
    struct definition *best = NULL;
    for (int i = 0; i < s->options->definition_count; i++) {
        struct definition *d = &s->options->definitions[i];
        if (d->name != name || (d->unit && (!unit || d->unit != unit->name))) continue;
        if (!best || d->unit || !best->unit) /* the later wins; UNIT.NAME wins over NAME */
            best = d;
    }
    if (best) best->used = true;
    return best;
}

struct definition *definition_always(struct sema *s, const struct closure *unit,
                                     struct sym *name) {
    struct definition *d = NULL;
    for (int i = 0; i < s->options->definition_count && !d; i++)
        if (s->options->definitions[i].always && s->options->definitions[i].name == name)
            d = definition_find(s, unit, name);
    return d && d->always ? d : NULL;
}

static struct value refuse(struct sema *s, const struct definition *d, const char *why) {
    return sema_bad(s, (struct span){0, 0}, E0219, "-D %s: %s", d->text ? d->text : d->name->text,
                    why);
}

static struct value literal_of(struct sema *s, const struct definition *d, const struct ast_expr *x,
                               int depth);

static struct value items_of(struct sema *s, const struct definition *d, const struct ast_expr *x,
                             int depth) {
    struct value out = value_sequence(s, x->kind == AST_TUPLE ? VALUE_TUPLE : VALUE_LIST, 0, NULL);
    for (const struct ast_expr *i = x->items; i; i = i->next) {
        struct value v = literal_of(s, d, i, depth + 1);
        if (v.kind == VALUE_BAD) return v;
        sequence_push(s, out, v);
    }
    return out;
}

static struct value dict_of(struct sema *s, const struct definition *d, const struct ast_expr *x,
                            int depth) {
    struct value out = value_dict(s);
    const struct ast_expr *v = x->dict.values;
    for (const struct ast_expr *k = x->dict.keys; k && v; k = k->next, v = v->next) {
        struct value key = literal_of(s, d, k, depth + 1), item = literal_of(s, d, v, depth + 1);
        if (key.kind == VALUE_BAD || item.kind == VALUE_BAD) return value_bad();
        dict_set(s, out.dict, key, item);
    }
    return out;
}

/* A word without quotes is a dtype or nothing. */
static struct value word_of(struct sema *s, const struct definition *d, struct sym *word) {
    if (dtype_find(word->text) != DTYPE_NONE && dtype_find(word->text) != DTYPE_INDEX)
        return (struct value){.kind = VALUE_STRING, .string = word};
    return refuse(s, d,
                  arena_printf(s->arena,
                               "'%s' is no dtype, and other strings are quoted: -D %s='\"%s\"'",
                               word->text, d->name->text, word->text));
}

static struct value literal_of(struct sema *s, const struct definition *d, const struct ast_expr *x,
                               int depth) {
    if (depth > 50) return refuse(s, d, "the value nests too deep");
    switch (x->kind) {
    case AST_INTEGER: return value_int(x->integer);
    case AST_FLOAT: return value_float(x->number);
    case AST_STRING: return (struct value){.kind = VALUE_STRING, .string = x->string};
    case AST_TRUE: return value_bool(true);
    case AST_FALSE: return value_bool(false);
    case AST_NONE: return value_none();
    case AST_NAME: return word_of(s, d, x->name);
    case AST_ATTRIBUTE: return word_of(s, d, x->attribute.name);
    case AST_TUPLE:
    case AST_LIST: return items_of(s, d, x, depth);
    case AST_DICT: return dict_of(s, d, x, depth);
    case AST_UNARY: {
        struct value v = literal_of(s, d, x->unary.operand, depth + 1);
        bool number = v.kind == VALUE_INT || v.kind == VALUE_FLOAT;
        if (v.kind == VALUE_BAD || !number || x->unary.op == AST_NOT)
            return v.kind == VALUE_BAD ? v : refuse(s, d, "the value has to be a literal");
        return fold_unary(s, x->unary.op, v, (struct span){0, 0});
    }
    default:
        return refuse(s, d,
                      "the value has to be a literal: a number, string, True, False, None, tuple, "
                      "list or dict");
    }
}

struct value definition_value(struct sema *s, struct definition *d) {
    return literal_of(s, d, d->value, 0);
}
