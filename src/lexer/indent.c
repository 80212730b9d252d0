/* indent.c: columns to INDENT and DEDENT; unclosed brackets reported where they opened. */
#include "internal.h"

static int top(const struct lexer *x) {
    return x->columns.count ? x->columns.at[x->columns.count - 1] : 0;
}

static void push_empty(struct lexer *x, enum token_kind kind, uint32_t at) {
    lexer_push(x, (struct token){.kind = kind, .span = {at, at}});
}

/* Ends the line after its last token, so that a caret stands there and not behind a comment. */
void line_ends(struct lexer *x) {
    int n = x->tokens->list.count;
    if (!n) return;
    struct token last = x->tokens->list.at[n - 1];
    if (last.kind == TOK_LINE || last.kind == TOK_INDENT || last.kind == TOK_DEDENT) return;
    push_empty(x, TOK_LINE, last.span.end);
}

static int column_of(struct lexer *x, const char *blanks, size_t length) {
    int column = 0;
    for (size_t i = 0; i < length; i++) {
        if (blanks[i] == ' ') column++;
        if (blanks[i] == '\f') column = 0;
        if (blanks[i] != '\t') continue;
        column += 8 - column % 8;
        if (x->tab_reported) continue;
        uint32_t at = x->offset - (uint32_t)(length - i);
        diag_report(x->diag, (struct span){at, at + 1}, E0103,
                    "a tab in the indentation; indent with spaces");
        x->tab_reported = true;
    }
    return column;
}

static void open_block(struct lexer *x, int column) {
    if (x->columns.count == NESTING_LIMIT) {
        diag_report(x->diag, (struct span){x->offset, x->offset + 1}, E0106,
                    "blocks nest more than %d deep", NESTING_LIMIT);
        lexer_bad(x, x->offset);
        x->stopped = true;
        return;
    }
    vec_push(x->arena, &x->columns, column);
    push_empty(x, TOK_INDENT, x->offset);
}

void line_begins(struct lexer *x, const char *blanks, size_t length) {
    if (x->offset >= x->source->length) return;
    int column = column_of(x, blanks, length), left = top(x);
    if (column > left) {
        open_block(x, column);
        return;
    }
    while (column < top(x)) {
        left = top(x);
        x->columns.count--;
        push_empty(x, TOK_DEDENT, x->offset);
    }
    if (column == top(x)) return;
    diag_report(x->diag, (struct span){x->offset, x->offset + 1}, E0103,
                "%d columns of indentation match no enclosing block; %d or %d would", column,
                top(x), left);
}

/* Of several on one line the innermost stands for all. */
static void report_unclosed(struct lexer *x) {
    for (int i = 0; i < x->brackets.count; i++) {
        struct bracket b = x->brackets.at[i];
        int line = source_position(x->source, b.span.begin).line;
        bool last = i + 1 == x->brackets.count;
        if (!last && source_position(x->source, x->brackets.at[i + 1].span.begin).line == line)
            continue;
        diag_report(x->diag, b.span, E0104, "%s is never closed", token_text(b.kind));
        lexer_bad(x, b.span.begin);
    }
    x->brackets.count = 0;
}

void line_resumes(struct lexer *x) {
    struct position at = source_position(x->source, x->here.begin);
    const char *line = x->source->text + x->source->line_start[at.line - 1];
    report_unclosed(x);
    diag_note(x->diag, x->here, "a new statement begins here");
    line_ends(x);
    uint32_t offset = x->offset;
    x->offset = x->here.begin;
    line_begins(x, line, (size_t)at.column - 1);
    x->offset = offset;
}

void file_ends(struct lexer *x) {
    uint32_t end = x->source->length;
    if (x->brackets.count && !x->stopped) report_unclosed(x);
    if (!x->expression) line_ends(x);
    for (; x->columns.count; x->columns.count--) push_empty(x, TOK_DEDENT, end);
    push_empty(x, TOK_END, end);
}
