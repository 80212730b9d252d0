/* build.c: the node constructors grammar.y calls.
 *
 * Each expression knows the depth of its tree. One that would exceed the limit is replaced by
 * AST_BAD, so no tree is ever too deep for the recursion of later stages. */
#include "ast.h"
#include "internal.h"

/* -- Lists ----------------------------------------------------------------------------------------
 */

#define APPEND(list, item)              \
    do {                                \
        if ((list).last)                \
            (list).last->next = (item); \
        else                            \
            (list).first = (item);      \
        (list).last = (item);           \
    } while (0)

struct expr_list expr_append(struct expr_list l, struct ast_expr *e) {
    APPEND(l, e);
    l.comma = false;
    return l;
}

struct stmt_list stmt_append(struct stmt_list l, struct ast_stmt *s) {
    APPEND(l, s);
    return l;
}

struct stmt_list stmt_concat(struct stmt_list a, struct stmt_list b) {
    if (!b.first) return a;
    if (!a.first) return b;
    a.last->next = b.first;
    a.last = b.last;
    return a;
}

struct argument_list argument_append(struct argument_list l, struct ast_argument *a) {
    APPEND(l, a);
    return l;
}

/* A lone '*' is kept as the property of those behind it, not as a parameter. */
struct parameter_list parameter_append(struct parser *p, struct parameter_list l,
                                       struct ast_parameter *q) {
    if (!q) return l;
    if (q->stars == 1) {
        if (l.keyword_only)
            diag_report(p->diag, q->span, E0109, "a second '*' among the parameters");
        l.keyword_only = true;
        if (!q->name) return l;
    }
    q->keyword_only = l.keyword_only && !q->stars;
    APPEND(l, q);
    return l;
}

struct slice_list slice_append(struct slice_list l, struct ast_slice *s) {
    APPEND(l, s);
    return l;
}

struct with_list with_append(struct with_list l, struct ast_with *w) {
    APPEND(l, w);
    return l;
}

struct dict_list dict_append(struct dict_list l, struct ast_expr *key, struct ast_expr *value) {
    struct expr_list keys = {l.keys, l.last_key, false}, values = {l.values, l.last_value, false};
    keys = expr_append(keys, key);
    values = expr_append(values, value);
    return (struct dict_list){keys.first, keys.last, values.first, values.last};
}

/* -- Depth ----------------------------------------------------------------------------------------
 */

static void reach(int *depth, const struct ast_expr *e) {
    if (e && e->depth > *depth) *depth = e->depth;
}

static void reach_list(int *depth, const struct ast_expr *e) {
    for (; e; e = e->next) reach(depth, e);
}

static void reach_parameters(int *depth, const struct ast_parameter *q) {
    for (; q; q = q->next) {
        reach(depth, q->annotation);
        reach(depth, q->preset);
    }
}

static void reach_slices(int *depth, const struct ast_slice *s) {
    for (; s; s = s->next) {
        reach(depth, s->lo);
        reach(depth, s->hi);
        reach(depth, s->step);
    }
}

/* The depth of the deepest child. */
static int depth_below(const struct ast_expr *e) {
    int depth = 0;
    switch (e->kind) {
    case AST_BAD:
    case AST_NAME:
    case AST_INTEGER:
    case AST_FLOAT:
    case AST_STRING:
    case AST_TRUE:
    case AST_FALSE:
    case AST_NONE:
    case AST_ELLIPSIS: break;
    case AST_TUPLE:
    case AST_LIST:
    case AST_SET:
    case AST_STARRED: reach_list(&depth, e->items); break;
    case AST_FSTRING: reach_list(&depth, e->parts); break;
    case AST_DICT:
        reach_list(&depth, e->dict.keys);
        reach_list(&depth, e->dict.values);
        break;
    case AST_UNARY: reach(&depth, e->unary.operand); break;
    case AST_BINARY:
        reach(&depth, e->binary.lhs);
        reach(&depth, e->binary.rhs);
        break;
    case AST_COMPARE:
        reach(&depth, e->compare.first);
        for (struct ast_link *l = e->compare.rest; l; l = l->next) reach(&depth, l->rhs);
        break;
    case AST_CHOICE:
        reach(&depth, e->choice.test);
        reach(&depth, e->choice.then);
        reach(&depth, e->choice.otherwise);
        break;
    case AST_CALL:
        reach(&depth, e->call.callee);
        for (struct ast_argument *a = e->call.arguments; a; a = a->next) reach(&depth, a->value);
        break;
    case AST_INDEX:
        reach(&depth, e->index.base);
        reach_slices(&depth, e->index.at);
        break;
    case AST_ATTRIBUTE: reach(&depth, e->attribute.base); break;
    case AST_LAMBDA:
        reach_parameters(&depth, e->lambda.parameters);
        reach(&depth, e->lambda.body);
        break;
    case AST_COMPREHENSION:
        reach(&depth, e->comprehension.item);
        reach(&depth, e->comprehension.target);
        reach(&depth, e->comprehension.source);
        reach(&depth, e->comprehension.condition);
        break;
    }
    return depth;
}

static void settle_depth(struct parser *p, struct ast_expr *e) {
    e->depth = depth_below(e) + 1;
    if (e->depth <= AST_DEPTH_LIMIT) return;
    report_deep(p, e->span);
    *e = (struct ast_expr){.kind = AST_BAD, .span = e->span, .depth = 1, .next = e->next};
}

struct ast_expr *make_expr(struct parser *p, struct ast_expr e) {
    struct ast_expr *made = arena_make(p->arena, struct ast_expr);
    *made = e;
    settle_depth(p, made);
    return made;
}

/* -- Expressions ----------------------------------------------------------------------------------
 */

struct ast_expr *make_atom(struct parser *p, enum ast_expr_kind kind, struct span span) {
    struct ast_expr *e = arena_make(p->arena, struct ast_expr);
    *e = (struct ast_expr){.kind = kind, .span = span, .depth = 1};
    return e;
}

struct ast_expr *make_name(struct parser *p, struct token name) {
    struct ast_expr *e = make_atom(p, AST_NAME, name.span);
    e->name = name.as.name;
    return e;
}

struct ast_expr *make_unary(struct parser *p, enum ast_operator op, struct ast_expr *operand,
                            struct span span) {
    return make_expr(p, (struct ast_expr){.kind = AST_UNARY, .span = span, .unary = {op, operand}});
}

struct ast_expr *make_binary(struct parser *p, enum ast_operator op, struct ast_expr *lhs,
                             struct ast_expr *rhs) {
    return make_expr(p, (struct ast_expr){.kind = AST_BINARY,
                                          .span = span_join(lhs->span, rhs->span),
                                          .binary = {op, lhs, rhs}});
}

static struct ast_link *make_link(struct parser *p, enum ast_operator op, struct ast_expr *rhs,
                                  struct ast_link *next) {
    struct ast_link *l = arena_make(p->arena, struct ast_link);
    *l = (struct ast_link){op, rhs, next};
    return l;
}

struct ast_expr *make_comparison(struct parser *p, enum ast_operator op, struct ast_expr *lhs,
                                 struct ast_expr *rhs) {
    return make_expr(p, (struct ast_expr){.kind = AST_COMPARE,
                                          .span = span_join(lhs->span, rhs->span),
                                          .compare = {lhs, make_link(p, op, rhs, NULL)}});
}

/* While it grows a chain is in reverse, so that each link costs the same. */
struct ast_expr *extend_comparison(struct parser *p, struct ast_expr *chain, enum ast_operator op,
                                   struct ast_expr *rhs) {
    chain->span = span_join(chain->span, rhs->span);
    if (chain->kind != AST_COMPARE) return chain;
    chain->compare.rest = make_link(p, op, rhs, chain->compare.rest);
    if (rhs->depth >= chain->depth) settle_depth(p, chain);
    return chain;
}

struct ast_expr *finish_comparison(struct ast_expr *chain) {
    if (chain->kind != AST_COMPARE) return chain;
    struct ast_link *forward = NULL;
    for (struct ast_link *l = chain->compare.rest, *next; l; l = next) {
        next = l->next;
        l->next = forward;
        forward = l;
    }
    chain->compare.rest = forward;
    return chain;
}

struct ast_expr *make_items(struct parser *p, enum ast_expr_kind kind, struct expr_list items,
                            struct span span) {
    return make_expr(p, (struct ast_expr){.kind = kind, .span = span, .items = items.first});
}

struct ast_expr *tuple_or_one(struct parser *p, struct expr_list items, struct span span) {
    bool one = items.first == items.last && !items.comma;
    if (one && items.first->kind != AST_STARRED) return items.first;
    if (one) diag_report(p->diag, span, E0101, "a starred value stands only in a list or tuple");
    return make_items(p, AST_TUPLE, items, span);
}

struct ast_expr *make_choice(struct parser *p, struct ast_expr *then, struct ast_expr *test,
                             struct ast_expr *otherwise) {
    return make_expr(p, (struct ast_expr){.kind = AST_CHOICE,
                                          .span = span_join(then->span, otherwise->span),
                                          .choice = {test, then, otherwise}});
}

struct ast_expr *make_call(struct parser *p, struct ast_expr *callee,
                           struct argument_list arguments, struct span span) {
    return make_expr(
        p, (struct ast_expr){.kind = AST_CALL, .span = span, .call = {callee, arguments.first}});
}

struct ast_expr *make_index(struct parser *p, struct ast_expr *base, struct slice_list at,
                            struct span span) {
    return make_expr(p,
                     (struct ast_expr){.kind = AST_INDEX,
                                       .span = span,
                                       .index = {base, at.first, at.comma || at.first != at.last}});
}

struct ast_expr *make_attribute(struct parser *p, struct ast_expr *base, struct token name) {
    return make_expr(p, (struct ast_expr){.kind = AST_ATTRIBUTE,
                                          .span = span_join(base->span, name.span),
                                          .attribute = {base, name.as.name, name.span}});
}

struct ast_expr *make_lambda(struct parser *p, struct parameter_list parameters,
                             struct ast_expr *body, struct span span) {
    return make_expr(
        p, (struct ast_expr){.kind = AST_LAMBDA, .span = span, .lambda = {parameters.first, body}});
}

/* `loop` holds all but the item. */
struct ast_expr *make_comprehension(struct parser *p, struct ast_expr *item, struct ast_expr *loop,
                                    struct span span, char bracket) {
    if (item->kind == AST_STARRED)
        diag_report(p->diag, item->span, E0101, "a comprehension yields one value at a time");
    loop->span = span;
    loop->comprehension.item = item;
    loop->comprehension.bracket = bracket;
    settle_depth(p, loop);
    return loop;
}

struct ast_expr *make_dict(struct parser *p, struct dict_list d, struct span span) {
    return make_expr(p,
                     (struct ast_expr){.kind = AST_DICT, .span = span, .dict = {d.keys, d.values}});
}

struct ast_expr *make_starred(struct parser *p, struct ast_expr *value, struct span span) {
    return make_expr(p, (struct ast_expr){.kind = AST_STARRED, .span = span, .items = value});
}

/* -- Parts of expressions and statements ---------------------------------------------------------
 */

struct ast_argument *make_argument(struct parser *p, struct sym *keyword, struct ast_expr *value,
                                   struct span span) {
    struct ast_argument *a = arena_make(p->arena, struct ast_argument);
    *a = (struct ast_argument){.keyword = keyword, .value = value, .span = span};
    return a;
}

struct ast_parameter *make_parameter(struct parser *p, struct token name,
                                     struct ast_expr *annotation, struct ast_expr *preset,
                                     struct span span) {
    struct ast_parameter *q = arena_make(p->arena, struct ast_parameter);
    *q = (struct ast_parameter){
        .name = name.as.name, .annotation = annotation, .preset = preset, .span = span};
    return q;
}

struct ast_slice *make_slice(struct parser *p, struct ast_slice s) {
    struct ast_slice *made = arena_make(p->arena, struct ast_slice);
    *made = s;
    return made;
}

struct ast_with *make_with(struct parser *p, struct ast_expr *value, struct ast_expr *target) {
    struct ast_with *w = arena_make(p->arena, struct ast_with);
    *w = (struct ast_with){.value = value, .target = target};
    return w;
}

/* -- Statements
 * ------------------------------------------------------------------------------------- */

struct ast_stmt *make_stmt(struct parser *p, struct ast_stmt s) {
    struct ast_stmt *made = arena_make(p->arena, struct ast_stmt);
    *made = s;
    return made;
}

struct ast_stmt *make_assignment(struct parser *p, struct expr_list sides, struct span span) {
    struct expr_list targets = {0};
    struct ast_expr *e = sides.first;
    while (e != sides.last) {
        struct ast_expr *next = e->next;
        e->next = NULL;
        targets = expr_append(targets, check_target(p, e));
        e = next;
    }
    return make_stmt(
        p,
        (struct ast_stmt){.kind = AST_ASSIGN, .span = span, .assign = {targets.first, sides.last}});
}

/* A chain of elif nests, so it is limited like expressions. */
struct ast_stmt *make_if(struct parser *p, struct ast_expr *test, struct stmt_list then,
                         struct ast_stmt *otherwise, struct span span) {
    int depth = 1;
    bool chained = otherwise && otherwise->kind == AST_IF && !otherwise->next;
    if (chained) depth += otherwise->branch.depth;
    if (depth > AST_DEPTH_LIMIT) {
        report_deep(p, span);
        otherwise = NULL;
        depth = 1;
    }
    return make_stmt(p, (struct ast_stmt){.kind = AST_IF,
                                          .span = span,
                                          .branch = {test, then.first, otherwise, depth}});
}

struct ast_stmt *make_import(struct parser *p, struct sym *module, struct sym *as,
                             struct span span) {
    return make_stmt(p,
                     (struct ast_stmt){.kind = AST_IMPORT, .span = span, .import = {module, as}});
}

struct stmt_list import_from(struct parser *p, struct sym *module, struct stmt_list names) {
    for (struct ast_stmt *s = names.first; s; s = s->next)
        s->import.module = join_names(p, module, s->import.module);
    return names;
}

struct sym *join_names(struct parser *p, struct sym *a, struct sym *b) {
    return intern_text(p->names, arena_printf(p->arena, "%s.%s", a->text, b->text));
}

struct sym *join_path(struct parser *p, struct expr_list names) {
    struct text path = text_new(p->arena);
    if (names.first == names.last) return names.first->name;
    for (const struct ast_expr *e = names.first; e; e = e->next)
        text_printf(&path, "%s%s", e->name->text, e->next ? "." : "");
    return intern(p->names, path.at, path.length);
}
