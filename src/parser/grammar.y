/* grammar.y: all of the syntax and nothing else. */
%require "3.8"
%define api.pure full
%define api.prefix {grammar_yy}
%define api.token.prefix {T_}
%define api.value.type union
%define api.location.type {struct span}
%define parse.error custom
%define parse.lac full
%locations
%expect 0
%param {struct parser *p}

%code requires {
#include "parser/internal.h"
}

%code {
/* The stack in front of an error must reach brackets NESTING_LIMIT deep in blocks as deep. */
#define YYMAXDEPTH 40000

#define YYLLOC_DEFAULT(whole, right, count)                                                        \
    ((whole) = (count) > 1 ? span_join(YYRHSLOC(right, 1), YYRHSLOC(right, count))                 \
               : (count)   ? YYRHSLOC(right, 1)                                                    \
                           : (struct span){YYRHSLOC(right, 0).end, YYRHSLOC(right, 0).end})

static int grammar_yylex(YYSTYPE *value, YYLTYPE *span, struct parser *p);
static void grammar_yyerror(const YYLTYPE *span, struct parser *p, const char *what);

#define MAKE(...) make_stmt(p, (struct ast_stmt){__VA_ARGS__})
}

%token END 0
%token LINE INDENT DEDENT
%token <struct token> NAME INTEGER FLOAT STRING FSTRING
%token AND AS ASSERT BREAK CONTINUE DEF ELIF ELSE FALSE FOR FROM IF IMPORT IN IS LAMBDA NONE NOT OR
%token PASS RAISE RETURN TRUE WHILE WITH
%token ASYNC AWAIT CLASS DEL EXCEPT FINALLY GLOBAL NONLOCAL TRY YIELD
%token LPAREN RPAREN LSQUARE RSQUARE LBRACE RBRACE COMMA COLON SEMICOLON DOT ELLIPSIS ARROW WALRUS
%token ASSIGN PLUS MINUS STAR STARSTAR SLASH DSLASH PERCENT AT SHL SHR AMPERSAND BAR CARET TILDE
%token LT LE GT GE EQ NE
%token ADD_TO SUB_TO MUL_TO DIV_TO FLOOR_TO MOD_TO POW_TO MATMUL_TO SHL_TO SHR_TO AND_TO OR_TO XOR_TO
%token START_FILE START_EXPRESSION

/* An indented block behind a line with an error belongs to that line. */
%precedence LINE
%precedence INDENT

%type <struct stmt_list> lines line simple smalls block
%type <struct stmt_list> import import_names from_names
%type <struct ast_stmt *> small compound def tail otherwise handler
%type <struct ast_expr *> test or_test and_test not_test comparison chain bitor bitxor bitand shift
%type <struct ast_expr *> sum term factor power primary atom lambda star_test value target
%type <struct ast_expr *> annotation preset returns message optional loop
%type <struct expr_list> tests test_list targets target_list sides decorators strings path
%type <struct parameter_list> parameters parameter_list lambda_parameters lambda_list
%type <struct ast_parameter *> parameter lambda_parameter
%type <struct argument_list> arguments argument_list
%type <struct ast_argument *> argument
%type <struct slice_list> subscript slices
%type <struct ast_slice *> slice
%type <struct with_list> with_items
%type <struct ast_with *> with_item
%type <struct dict_list> pairs
%type <struct sym *> dotted as_name
%type <enum ast_operator> comparator augmented sum_sign term_sign

%%

start: START_FILE lines                     { p->body = $lines.first; }
     | START_EXPRESSION tests               { p->expression = tuple_or_one(p, $tests, @tests); }
     | START_EXPRESSION error               { }
     ;

/* -- Statements ---------------------------------------------------------------------------- */

lines: %empty                               { $$ = (struct stmt_list){0}; }
     | lines line                           { $$ = stmt_concat($1, $2); }
     ;

line: simple
    | compound                              { $$ = stmt_append((struct stmt_list){0}, $1); }
    | INDENT[in] lines DEDENT               { diag_report(p->diag, @in, E0103, "this line is indented and begins no block");
                                              $$ = $lines; }
    | failed %prec LINE                     { $$ = (struct stmt_list){0}; }
    | failed INDENT lines DEDENT            { $$ = (struct stmt_list){0}; }
    ;

failed: error LINE                          { yyerrok; } /* here: what follows may fail at once */
      ;

simple: smalls LINE
      | smalls SEMICOLON LINE
      ;

smalls: small                               { $$ = stmt_append((struct stmt_list){0}, $1); }
      | import
      | smalls SEMICOLON small              { $$ = stmt_append($1, $3); }
      | smalls SEMICOLON import             { $$ = stmt_concat($1, $3); }
      ;

small: tests                                { $$ = MAKE(.kind = AST_EXPR_STMT, .span = @$, .value = tuple_or_one(p, $1, @1)); }
     | sides                                { $$ = make_assignment(p, $1, @$); }
     | tests augmented value                { $$ = MAKE(.kind = AST_AUGMENTED, .span = @$, .augmented = {check_target(p, tuple_or_one(p, $1, @1)), $3, $2}); }
     | tests COLON test                     { $$ = MAKE(.kind = AST_ANNOTATED, .span = @$, .annotated = {check_target(p, tuple_or_one(p, $1, @1)), $3, NULL}); }
     | tests COLON test ASSIGN value        { $$ = MAKE(.kind = AST_ANNOTATED, .span = @$, .annotated = {check_target(p, tuple_or_one(p, $1, @1)), $3, $5}); }
     | PASS                                 { $$ = MAKE(.kind = AST_PASS, .span = @$); }
     | BREAK                                { $$ = MAKE(.kind = AST_BREAK, .span = @$); }
     | CONTINUE                             { $$ = MAKE(.kind = AST_CONTINUE, .span = @$); }
     | RETURN                               { $$ = MAKE(.kind = AST_RETURN, .span = @$); }
     | RETURN value                         { $$ = MAKE(.kind = AST_RETURN, .span = @$, .value = $2); }
     | RAISE                                { $$ = MAKE(.kind = AST_RAISE, .span = @$); }
     | RAISE test                           { $$ = MAKE(.kind = AST_RAISE, .span = @$, .value = $2); }
     | RAISE test FROM test                 { $$ = MAKE(.kind = AST_RAISE, .span = @$, .value = $2); }
     | ASSERT test message                  { $$ = MAKE(.kind = AST_ASSERT, .span = @$, .assertion = {$2, $3}); }
     | GLOBAL tests                         { report_unsupported(p, @1, "'global'"); $$ = MAKE(.kind = AST_PASS, .span = @$); }
     | NONLOCAL tests                       { report_unsupported(p, @1, "'nonlocal'"); $$ = MAKE(.kind = AST_PASS, .span = @$); }
     | DEL tests                            { report_unsupported(p, @1, "'del'"); $$ = MAKE(.kind = AST_PASS, .span = @$); }
     ;

message: %empty                             { $$ = NULL; }
       | COMMA test                         { $$ = $2; }
       ;

sides: tests ASSIGN tests                   { $$ = expr_append(expr_append((struct expr_list){0}, tuple_or_one(p, $1, @1)), tuple_or_one(p, $3, @3)); }
     | sides ASSIGN tests                   { $$ = expr_append($1, tuple_or_one(p, $3, @3)); }
     ;

value: tests                                { $$ = tuple_or_one(p, $1, @1); }
     ;

augmented: ADD_TO { $$ = AST_ADD; } | SUB_TO { $$ = AST_SUB; } | MUL_TO { $$ = AST_MUL; }
         | DIV_TO { $$ = AST_DIV; } | FLOOR_TO { $$ = AST_FLOORDIV; } | MOD_TO { $$ = AST_MOD; }
         | POW_TO { $$ = AST_POW; } | MATMUL_TO { $$ = AST_MATMUL; } | SHL_TO { $$ = AST_SHL; }
         | SHR_TO { $$ = AST_SHR; } | AND_TO { $$ = AST_BITAND; } | OR_TO { $$ = AST_BITOR; }
         | XOR_TO { $$ = AST_BITXOR; }
         ;

import: import_names
      | FROM dotted IMPORT from_names       { $$ = import_from(p, $2, $4); }
      | FROM dotted IMPORT LPAREN from_names RPAREN
                                            { $$ = import_from(p, $2, $5); }
      | FROM dotted IMPORT LPAREN from_names COMMA RPAREN
                                            { $$ = import_from(p, $2, $5); }
      | FROM dotted IMPORT STAR             { $$ = stmt_append((struct stmt_list){0}, make_import(p, join_names(p, $2, intern_text(p->names, "*")), NULL, @$)); }
      ;

import_names: IMPORT dotted as_name         { $$ = stmt_append((struct stmt_list){0}, make_import(p, $2, $3, @$)); }
            | import_names COMMA dotted as_name
                                            { $$ = stmt_append($1, make_import(p, $3, $4, span_join(@3, @4))); }
            ;

from_names: NAME as_name                    { $$ = stmt_append((struct stmt_list){0}, make_import(p, $1.as.name, $2 ? $2 : $1.as.name, @$)); }
          | from_names COMMA NAME as_name   { $$ = stmt_append($1, make_import(p, $3.as.name, $4 ? $4 : $3.as.name, span_join(@3, @4))); }
          ;

dotted: path                                { $$ = join_path(p, $1); }
      ;

path: NAME                                  { $$ = expr_append((struct expr_list){0}, make_name(p, $1)); }
    | path DOT NAME                         { $$ = expr_append($1, make_name(p, $3)); }
    ;

as_name: %empty                             { $$ = NULL; }
       | AS NAME                            { $$ = $2.as.name; }
       ;

compound: IF test COLON[end] block tail     { $$ = make_if(p, $2, $4, $5, span_join(@1, @end)); }
        | FOR targets IN tests COLON[end] block otherwise
                                            { $$ = MAKE(.kind = AST_FOR, .span = span_join(@1, @end),
                                                        .loop = {check_target(p, tuple_or_one(p, $2, @2)), tuple_or_one(p, $4, @4), $6.first, $7}); }
        | WHILE test COLON[end] block otherwise
                                            { $$ = MAKE(.kind = AST_WHILE, .span = span_join(@1, @end), .repeat = {$2, $4.first}); }
        | WITH with_items COLON[end] block  { $$ = MAKE(.kind = AST_WITH, .span = span_join(@1, @end), .with = {$2.first, $4.first}); }
        | def
        | decorators def                    { $$ = $2; $$->def->decorators = $1.first; $$->span = span_join(@1, $$->span); }
        | CLASS NAME COLON block            { report_unsupported(p, @1, "'class'"); $$ = MAKE(.kind = AST_PASS, .span = @1); }
        | CLASS NAME LPAREN arguments RPAREN COLON block
                                            { report_unsupported(p, @1, "'class'"); $$ = MAKE(.kind = AST_PASS, .span = @1); }
        | decorators CLASS NAME COLON block { report_unsupported(p, @2, "'class'"); $$ = MAKE(.kind = AST_PASS, .span = @2); }
        | decorators CLASS NAME LPAREN arguments RPAREN COLON block
                                            { report_unsupported(p, @2, "'class'"); $$ = MAKE(.kind = AST_PASS, .span = @2); }
        | TRY COLON block handler           { report_unsupported(p, @1, "'try'"); $$ = MAKE(.kind = AST_PASS, .span = @1); }
        | ASYNC compound                    { report_unsupported(p, @1, "'async'"); $$ = $2; }
        ;

tail: %empty                                { $$ = NULL; }
    | ELSE COLON block                      { $$ = $3.first; }
    | ELIF test COLON[end] block tail[rest] { $$ = make_if(p, $2, $4, $rest, span_join(@1, @end)); }
    ;

otherwise: %empty                           { $$ = NULL; }
         | ELSE COLON block                 { report_unsupported(p, @1, "'else' after a loop"); $$ = $3.first; }
         ;

handler: %empty                             { $$ = NULL; }
       | handler EXCEPT COLON block         { $$ = NULL; }
       | handler EXCEPT test COLON block    { $$ = NULL; }
       | handler EXCEPT test AS NAME COLON block
                                            { $$ = NULL; }
       | handler ELSE COLON block           { $$ = NULL; }
       | handler FINALLY COLON block        { $$ = NULL; }
       ;

block: simple
     | LINE INDENT lines DEDENT             { $$ = $lines; }
     | LINE error                           { yyerrok; $$ = (struct stmt_list){0}; }
     ;

def: DEF NAME LPAREN parameters RPAREN returns COLON[end] block
                                            { struct ast_def *d = arena_make(p->arena, struct ast_def);
                                              check_parameters(p, $4.first);
                                              *d = (struct ast_def){.name = $2.as.name, .name_span = @2, .parameters = $4.first, .returns = $6, .body = $8.first};
                                              $$ = MAKE(.kind = AST_DEF, .span = span_join(@1, @end), .def = d); }
   ;

decorators: AT test LINE                    { $$ = expr_append((struct expr_list){0}, $2); }
          | decorators AT test LINE         { $$ = expr_append($1, $3); }
          ;

returns: %empty                             { $$ = NULL; }
       | ARROW test                         { $$ = $2; }
       ;

with_items: with_item                       { $$ = with_append((struct with_list){0}, $1); }
          | with_items COMMA with_item      { $$ = with_append($1, $3); }
          ;

with_item: test                             { $$ = make_with(p, $1, NULL); }
         | test AS target                   { $$ = make_with(p, $1, check_target(p, $3)); }
         ;

targets: target_list
       | target_list COMMA                  { $$ = $1; $$.comma = true; }
       ;

target_list: target                         { $$ = expr_append((struct expr_list){0}, $1); }
           | target_list COMMA target       { $$ = expr_append($1, $3); }
           ;

target: bitor
      | STAR bitor                          { $$ = make_starred(p, $2, @$); }
      ;

/* -- Parameters and arguments ------------------------------------------------------------------ */

parameters: %empty                          { $$ = (struct parameter_list){0}; }
          | parameter_list
          | parameter_list COMMA
          ;

parameter_list: parameter                   { $$ = parameter_append(p, (struct parameter_list){0}, $1); }
              | parameter_list COMMA parameter
                                            { $$ = parameter_append(p, $1, $3); }
              ;

parameter: NAME annotation preset           { $$ = make_parameter(p, $1, $2, $3, @$); }
         | STAR                             { $$ = make_parameter(p, (struct token){0}, NULL, NULL, @$); $$->stars = 1; }
         | STAR NAME annotation             { $$ = make_parameter(p, $2, $3, NULL, @$); $$->stars = 1; }
         | STARSTAR NAME annotation         { $$ = make_parameter(p, $2, $3, NULL, @$); $$->stars = 2; }
         | SLASH                            { report_unsupported(p, @1, "a '/' between parameters"); $$ = NULL; }
         ;

annotation: %empty                          { $$ = NULL; }
          | COLON test                      { $$ = $2; }
          ;

preset: %empty                              { $$ = NULL; }
      | ASSIGN test                         { $$ = $2; }
      ;

lambda_parameters: %empty                   { $$ = (struct parameter_list){0}; }
                 | lambda_list
                 | lambda_list COMMA
                 ;

lambda_list: lambda_parameter               { $$ = parameter_append(p, (struct parameter_list){0}, $1); }
           | lambda_list COMMA lambda_parameter
                                            { $$ = parameter_append(p, $1, $3); }
           ;

lambda_parameter: NAME preset               { $$ = make_parameter(p, $1, NULL, $2, @$); }
                | STAR                      { $$ = make_parameter(p, (struct token){0}, NULL, NULL, @$); $$->stars = 1; }
                | STAR NAME                 { $$ = make_parameter(p, $2, NULL, NULL, @$); $$->stars = 1; }
                | STARSTAR NAME             { $$ = make_parameter(p, $2, NULL, NULL, @$); $$->stars = 2; }
                ;

arguments: %empty                           { $$ = (struct argument_list){0}; }
         | argument_list
         | argument_list COMMA
         ;

argument_list: argument                     { $$ = argument_append((struct argument_list){0}, $1); }
             | argument_list COMMA argument { $$ = argument_append($1, $3); }
             ;

argument: test                              { $$ = make_argument(p, NULL, $1, @$); }
        | test loop                         { $$ = make_argument(p, NULL, make_comprehension(p, $1, $2, @$, '('), @$); }
        | NAME ASSIGN test                  { $$ = make_argument(p, $1.as.name, $3, @$); }
        | STAR test                         { $$ = make_argument(p, NULL, $2, @$); $$->stars = 1; }
        | STARSTAR test                     { $$ = make_argument(p, NULL, $2, @$); $$->stars = 2; }
        ;

/* -- Expressions ------------------------------------------------------------------------------- */

tests: test_list
     | test_list COMMA                      { $$ = $1; $$.comma = true; }
     ;

test_list: star_test                        { $$ = expr_append((struct expr_list){0}, $1); }
         | test_list COMMA star_test        { $$ = expr_append($1, $3); }
         ;

star_test: test
         | STAR bitor                       { $$ = make_starred(p, $2, @$); }
         | YIELD                            { report_unsupported(p, @1, "'yield'"); $$ = make_atom(p, AST_BAD, @$); }
         | YIELD test                       { report_unsupported(p, @1, "'yield'"); $$ = make_atom(p, AST_BAD, @$); }
         | YIELD FROM test                  { report_unsupported(p, @1, "'yield'"); $$ = make_atom(p, AST_BAD, @$); }
         ;

test: or_test
    | or_test IF or_test ELSE test
                                            { $$ = make_choice(p, $1, $3, $5); }
    | lambda
    ;

lambda: LAMBDA lambda_parameters COLON test { check_parameters(p, $2.first); $$ = make_lambda(p, $2, $4, @$); }
      ;

or_test: and_test
       | or_test OR and_test                { $$ = make_binary(p, AST_OR, $1, $3); }
       ;

and_test: not_test
        | and_test AND not_test             { $$ = make_binary(p, AST_AND, $1, $3); }
        ;

not_test: comparison
        | NOT not_test                      { $$ = make_unary(p, AST_NOT, $2, @$); }
        ;

comparison: bitor
          | chain                           { $$ = finish_comparison($1); }
          ;

chain: bitor comparator bitor               { $$ = make_comparison(p, $2, $1, $3); }
     | chain comparator bitor               { $$ = extend_comparison(p, $1, $2, $3); }
     ;

comparator: LT { $$ = AST_LT; } | LE { $$ = AST_LE; } | GT { $$ = AST_GT; } | GE { $$ = AST_GE; }
          | EQ { $$ = AST_EQ; } | NE { $$ = AST_NE; } | IN { $$ = AST_IN; } | NOT IN { $$ = AST_NOT_IN; }
          | IS { $$ = AST_IS; } | IS NOT { $$ = AST_IS_NOT; }
          ;

bitor: bitxor | bitor BAR bitxor            { $$ = make_binary(p, AST_BITOR, $1, $3); } ;
bitxor: bitand | bitxor CARET bitand        { $$ = make_binary(p, AST_BITXOR, $1, $3); } ;
bitand: shift | bitand AMPERSAND shift      { $$ = make_binary(p, AST_BITAND, $1, $3); } ;

shift: sum
     | shift SHL sum                        { $$ = make_binary(p, AST_SHL, $1, $3); }
     | shift SHR sum                        { $$ = make_binary(p, AST_SHR, $1, $3); }
     ;

sum: term | sum sum_sign term               { $$ = make_binary(p, $2, $1, $3); } ;
sum_sign: PLUS { $$ = AST_ADD; } | MINUS { $$ = AST_SUB; } ;

term: factor | term term_sign factor        { $$ = make_binary(p, $2, $1, $3); } ;
term_sign: STAR { $$ = AST_MUL; } | SLASH { $$ = AST_DIV; } | DSLASH { $$ = AST_FLOORDIV; }
         | PERCENT { $$ = AST_MOD; } | AT { $$ = AST_MATMUL; }
         ;

factor: power
      | PLUS factor                         { $$ = make_unary(p, AST_POS, $2, @$); }
      | MINUS factor                        { $$ = make_unary(p, AST_NEG, $2, @$); }
      | TILDE factor                        { $$ = make_unary(p, AST_INVERT, $2, @$); }
      ;

power: primary
     | primary STARSTAR factor              { $$ = make_binary(p, AST_POW, $1, $3); }
     | AWAIT primary                        { report_unsupported(p, @1, "'await'"); $$ = $2; }
     ;

primary: atom
       | primary DOT NAME                   { $$ = make_attribute(p, $1, $3); }
       | primary LPAREN arguments RPAREN    { check_arguments(p, $3.first); $$ = make_call(p, $1, $3, @$); }
       | primary LSQUARE subscript RSQUARE  { $$ = make_index(p, $1, $3, @$); }
       ;

subscript: slices
         | slices COMMA                     { $$ = $1; $$.comma = true; }
         ;

slices: slice                               { $$ = slice_append((struct slice_list){0}, $1); }
      | slices COMMA slice                  { $$ = slice_append($1, $3); }
      ;

slice: test                                 { $$ = make_slice(p, (struct ast_slice){.lo = $1, .span = @$}); }
     | STAR bitor                           { $$ = make_slice(p, (struct ast_slice){.lo = make_starred(p, $2, @$), .span = @$}); }
     | optional[lo] COLON optional[hi]      { $$ = make_slice(p, (struct ast_slice){.range = true, .lo = $lo, .hi = $hi, .span = @$}); }
     | optional[lo] COLON optional[hi] COLON optional[step]
                                            { $$ = make_slice(p, (struct ast_slice){.range = true, .lo = $lo, .hi = $hi, .step = $step, .span = @$}); }
     ;

optional: %empty                            { $$ = NULL; }
        | test
        ;

atom: NAME                                  { $$ = make_name(p, $1); }
    | INTEGER                               { $$ = make_atom(p, AST_INTEGER, @$); $$->integer = $1.as.integer; }
    | FLOAT                                 { $$ = make_atom(p, AST_FLOAT, @$); $$->number = $1.as.number; }
    | TRUE                                  { $$ = make_atom(p, AST_TRUE, @$); }
    | FALSE                                 { $$ = make_atom(p, AST_FALSE, @$); }
    | NONE                                  { $$ = make_atom(p, AST_NONE, @$); }
    | ELLIPSIS                              { $$ = make_atom(p, AST_ELLIPSIS, @$); }
    | strings                               { $$ = join_strings(p, $1, @$); }
    | LPAREN RPAREN                         { $$ = make_items(p, AST_TUPLE, (struct expr_list){0}, @$); }
    | LPAREN tests RPAREN                   { $$ = tuple_or_one(p, $2, @$); $$->span = @$; }
    | LPAREN test loop RPAREN               { $$ = make_comprehension(p, $2, $3, @$, '('); }
    | LSQUARE RSQUARE                       { $$ = make_items(p, AST_LIST, (struct expr_list){0}, @$); }
    | LSQUARE tests RSQUARE                 { $$ = make_items(p, AST_LIST, $2, @$); }
    | LSQUARE test loop RSQUARE             { $$ = make_comprehension(p, $2, $3, @$, '['); }
    | LBRACE RBRACE                         { $$ = make_dict(p, (struct dict_list){0}, @$); }
    | LBRACE tests RBRACE                   { $$ = make_items(p, AST_SET, $2, @$); }
    | LBRACE test loop RBRACE               { $$ = make_comprehension(p, $2, $3, @$, '{'); }
    | LBRACE pairs RBRACE                   { $$ = make_dict(p, $2, @$); }
    | LBRACE pairs COMMA RBRACE             { $$ = make_dict(p, $2, @$); }
    | LBRACE test COLON test loop RBRACE    { report_unsupported(p, @5, "a comprehension of a dict"); $$ = make_atom(p, AST_BAD, @$); }
    ;

strings: STRING                             { $$ = expr_append((struct expr_list){0}, make_string(p, $1)); }
       | FSTRING                            { $$ = expr_append((struct expr_list){0}, make_string(p, $1)); }
       | strings STRING                     { $$ = expr_append($1, make_string(p, $2)); }
       | strings FSTRING                    { $$ = expr_append($1, make_string(p, $2)); }
       ;

pairs: test COLON test                      { $$ = dict_append((struct dict_list){0}, $1, $3); }
     | pairs COMMA test COLON test          { $$ = dict_append($1, $3, $5); }
     | STARSTAR bitor                       { report_unsupported(p, @1, "'**' in a dict"); $$ = (struct dict_list){0}; }
     | pairs COMMA STARSTAR bitor           { report_unsupported(p, @3, "'**' in a dict"); $$ = $1; }
     ;

loop: FOR targets IN or_test                { $$ = make_atom(p, AST_COMPREHENSION, @$);
                                              $$->comprehension.target = check_target(p, tuple_or_one(p, $2, @2));
                                              $$->comprehension.source = $4; }
    | loop IF or_test                       { struct ast_expr *c = $1->comprehension.condition;
                                              $$ = $1;
                                              $$->comprehension.condition = c ? make_binary(p, AST_AND, c, $3) : $3; }
    | loop FOR targets IN or_test           { report_unsupported(p, @2, "a second 'for' in a comprehension"); $$ = $1; }
    ;

%%

/* Each token of the lexer is one of the grammar and the other way round: what lacks on either
 * side does not compile. */
static const int code_of[] = {
#define TOKEN(id, spelling, group) [TOK_##id] = T_##id,
#include "lexer/tokens.def"
};
enum { NOT_OF_THE_LEXER = 4 }; /* error, undefined, and two starts */
_Static_assert(YYNTOKENS == TOK_COUNT + NOT_OF_THE_LEXER, "tokens.def and grammar.y differ");

/* Symbols of the grammar are numbered as its tokens are declared. */
static enum token_kind kind_of(yysymbol_kind_t symbol) {
    for (int k = 0; k < TOK_COUNT; k++)
        if (YYTRANSLATE(code_of[k]) == symbol) return (enum token_kind)k;
    return TOK_COUNT;
}

static int grammar_yylex(YYSTYPE *value, YYLTYPE *span, struct parser *p) {
    if (p->start) {
        int start = p->start;
        p->start = 0;
        *span = (struct span){0, 0};
        return start;
    }
    if (p->line_owed) {
        uint32_t at = p->tokens->list.at[p->at].span.begin;
        p->line_owed = false;
        *span = (struct span){at, at};
        return T_LINE;
    }
    p->current = p->at;
    struct token t = p->tokens->list.at[p->at];
    *span = t.span;
    value->T_NAME = t;
    if (t.kind != TOK_END) p->at++;
    return code_of[t.kind];
}

static int yyreport_syntax_error(const yypcontext_t *context, struct parser *p) {
    yysymbol_kind_t symbols[YYNTOKENS];
    int expected[YYNTOKENS];
    enum token_kind found = kind_of(yypcontext_token(context));
    if (diag_full(p->diag) && found != TOK_INDENT && found != TOK_DEDENT) return 0;
    int count = yypcontext_expected_tokens(context, symbols, YYNTOKENS);
    if (count < 0) return count;
    for (int i = 0; i < count; i++) expected[i] = kind_of(symbols[i]);
    report_syntax(p, found, expected, count);
    return 0;
}

/* Bison calls this for an exhausted stack alone; the rest goes through yyreport_syntax_error. */
static void grammar_yyerror(const YYLTYPE *span, struct parser *p, const char *what) {
    (void)what;
    report_deep(p, *span);
}

void parse_tokens(struct parser *p) {
    p->start = T_START_FILE;
    grammar_yyparse(p);
}

void parse_expression_tokens(struct parser *p) {
    p->start = T_START_EXPRESSION;
    grammar_yyparse(p);
}
