/* ast.h: the program as written: no names resolved, no types.
 *
 * Lists are singly linked through `next`. Nothing in the tree is changed after parsing. */
#ifndef TILEC_AST_H
#define TILEC_AST_H
#include "base/intern.h"
#include "base/source.h"
#include "base/vec.h"

enum ast_operator {
    AST_ADD, AST_SUB, AST_MUL, AST_DIV, AST_FLOORDIV, AST_MOD, AST_POW, AST_MATMUL,
    AST_SHL, AST_SHR, AST_BITAND, AST_BITOR, AST_BITXOR,
    AST_AND, AST_OR,                                     /* lazy */
    AST_LT, AST_LE, AST_GT, AST_GE, AST_EQ, AST_NE, AST_IS, AST_IS_NOT, AST_IN, AST_NOT_IN,
    AST_NEG, AST_POS, AST_INVERT, AST_NOT                /* one operand */
};
const char *ast_operator_text(enum ast_operator op); /* "+", "not in", … */

enum ast_expr_kind {
    AST_BAD, /* could not be parsed; already reported */
    AST_NAME, AST_INTEGER, AST_FLOAT, AST_STRING, AST_FSTRING, AST_TRUE, AST_FALSE, AST_NONE,
    AST_ELLIPSIS,
    AST_TUPLE, AST_LIST, AST_DICT, AST_SET,
    AST_UNARY, AST_BINARY, AST_COMPARE, AST_CHOICE, AST_CALL, AST_INDEX, AST_ATTRIBUTE, AST_LAMBDA,
    AST_COMPREHENSION, AST_STARRED
};

enum { AST_DEPTH_LIMIT = 500 }; /* also of elif chains */

struct ast_expr {
    enum ast_expr_kind kind;
    struct span span;      /* parentheses around it included */
    int depth;             /* of the tree below: at most AST_DEPTH_LIMIT */
    struct ast_expr *next; /* in a list */
    union {
        struct sym *name;   /* NAME */
        int64_t integer;    /* INTEGER */
        double number;      /* FLOAT */
        struct sym *string; /* STRING: neighbouring literals are joined */
        struct ast_expr *items;                                   /* TUPLE LIST SET; STARRED: one */
        struct ast_expr *parts; /* FSTRING: STRING parts and other expressions in turn */
        struct { struct ast_expr *keys, *values; } dict;          /* parallel lists */
        struct { enum ast_operator op; struct ast_expr *operand; } unary;
        struct { enum ast_operator op; struct ast_expr *lhs, *rhs; } binary; /* AND OR included */
        struct { struct ast_expr *first; struct ast_link *rest; } compare;   /* a < b <= c */
        struct { struct ast_expr *test, *then, *otherwise; } choice;         /* then if test else o. */
        struct { struct ast_expr *callee; struct ast_argument *arguments; } call;
        struct { struct ast_expr *base; struct ast_slice *at; bool tuple; } index;
        struct { struct ast_expr *base; struct sym *name; struct span name_span; } attribute;
        struct { struct ast_parameter *parameters; struct ast_expr *body; } lambda;
        struct { struct ast_expr *item, *target, *source, *condition; char bracket; } comprehension;
    };
};

struct ast_link { /* one more comparison of a chain */
    enum ast_operator op;
    struct ast_expr *rhs;
    struct ast_link *next;
};

struct ast_argument {
    struct sym *keyword; /* NULL: positional */
    struct ast_expr *value;
    struct span span;
    struct ast_argument *next;
    uint8_t stars; /* 1: *value, 2: **value */
};

struct ast_slice { /* one entry of a subscript */
    bool range;                             /* lo:hi:step, any of them NULL; else just `lo` */
    struct ast_expr *lo, *hi, *step;
    struct span span;
    struct ast_slice *next;
};

struct ast_parameter {
    struct sym *name;
    struct ast_expr *annotation, *preset; /* may be NULL; preset is the default value */
    struct span span;
    struct ast_parameter *next;
    uint8_t stars;     /* 1: *args, 2: **kwargs */
    bool keyword_only; /* after '*' */
};

enum ast_stmt_kind {
    AST_EXPR_STMT,  /* value */
    AST_ASSIGN,     /* targets = value, in order of writing */
    AST_AUGMENTED,  /* target op= value */
    AST_ANNOTATED,  /* target: annotation [= value] */
    AST_IF, AST_FOR, AST_WHILE, AST_WITH, AST_DEF, AST_RETURN, AST_ASSERT, AST_RAISE,
    AST_PASS, AST_BREAK, AST_CONTINUE, AST_IMPORT
};

struct ast_stmt {
    enum ast_stmt_kind kind;
    struct span span; /* of the head, up to the ':' for compound statements */
    struct ast_stmt *next;
    union {
        struct ast_expr *value; /* EXPR_STMT RETURN (may be NULL) RAISE */
        struct { struct ast_expr *targets, *value; } assign;
        struct { struct ast_expr *target, *value; enum ast_operator op; } augmented;
        struct { struct ast_expr *target, *annotation, *value; } annotated;
        struct { struct ast_expr *test; struct ast_stmt *then, *otherwise; int depth; } branch; /* elif
            nests, `depth` of them at most AST_DEPTH_LIMIT */
        struct { struct ast_expr *target, *source; struct ast_stmt *body, *otherwise; } loop;
        struct { struct ast_expr *test; struct ast_stmt *body; } repeat;          /* WHILE */
        struct { struct ast_with *items; struct ast_stmt *body; } with;
        struct ast_def *def;
        struct { struct ast_expr *test, *message; } assertion;
        /* One name each. `import a.b`: module "a.b", as NULL; `from a import b as c`: "a.b", "c";
         * without as: "b"; `from a import *`: "a.*", NULL. */
        struct { struct sym *module; struct sym *as; } import;
    };
};

struct ast_with { /* value as target */
    struct ast_expr *value, *target;
    struct ast_with *next;
};

struct ast_def {
    struct sym *name;
    struct span name_span;
    struct ast_expr *decorators; /* expressions after '@', top first */
    struct ast_parameter *parameters;
    struct ast_expr *returns;
    struct ast_stmt *body;
};

struct ast_module {
    const struct source *source;
    struct ast_stmt *body;
};

#endif
