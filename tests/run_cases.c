/* run_cases.c: runs tilec over the files of directories: goldens and refusals.
 *
 * usage: run_cases TILEC DIRECTORY…
 *
 * A golden is a file whose first line is `# tilec ARGUMENTS` (`; tilec ARGUMENTS` in a .tir or
 * .kir file): tilec runs with the arguments and the file, and what it writes to standard output
 * and standard error has to equal STEM.out beside the file. TILEC_ACCEPT=1 writes STEM.out instead.
 *
 * A refusal is a file with comments that expect diagnostics (support/expect.h): all of them have to
 * appear and no others, the exit status is 1 if one is an error, and then no output is left behind.
 * Its first line may give arguments, too.
 *
 * Each run has a directory of its own that holds the file, so positions show its bare name. */
#define _XOPEN_SOURCE 700 /* realpath */
#include "expect.h"
#include "files.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/vec.h"

enum { SECONDS = 120 };

struct test_case {
    struct arena *arena;
    const char *tilec, *directory, *name;
};

struct arguments {
    VEC(char *) list;
};

/* -- The first line
 * --------------------------------------------------------------------------------- */

/* Splits at blanks; "double quotes" keep them. */
static void split(struct arena *a, struct arguments *out, const char *at, const char *end) {
    while (at < end) {
        VEC(char) word = {0};
        bool quoted = false, some = false;
        while (at < end && *at == ' ') at++;
        for (; at < end && (quoted || *at != ' '); at++) {
            some = true;
            if (*at == '"')
                quoted = !quoted;
            else if (*at != '\r')
                vec_push(a, &word, *at);
        }
        vec_push(a, &word, 0);
        if (some && (word.count > 1 || quoted)) vec_push(a, &out->list, word.at);
    }
}

static bool read_arguments(struct arena *a, const char *text, struct arguments *out) {
    if (strncmp(text, "# tilec", 7) != 0 && strncmp(text, "; tilec", 7) != 0) return false;
    if (!strchr(" \r\n", text[7])) return false;
    split(a, out, text + 7, text + strcspn(text, "\n"));
    return true;
}

/* -- A directory for one run
 * ------------------------------------------------------------------------ */

static const char *make_directory(struct test_case *c, const struct source *text) {
    const char *base = getenv("TMPDIR");
    char *path = arena_printf(c->arena, "%s/tilec-case-XXXXXX", base && *base ? base : "/tmp");
    assert_non_null(mkdtemp(path));
    FILE *file = fopen(arena_printf(c->arena, "%s/%s", path, c->name), "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(text->text, 1, text->length, file), text->length);
    assert_int_equal(fclose(file), 0);
    return path;
}

/* Removes it; returns a file it held beside the input, or NULL. */
static const char *remove_directory(struct test_case *c, const char *path) {
    const char *extra = NULL;
    DIR *d = opendir(path);
    for (struct dirent *entry; d && (entry = readdir(d));) {
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..")) continue;
        if (strcmp(entry->d_name, c->name) != 0)
            extra = arena_strndup(c->arena, entry->d_name, strlen(entry->d_name));
        unlink(arena_printf(c->arena, "%s/%s", path, entry->d_name));
    }
    if (d) closedir(d);
    rmdir(path);
    return extra;
}

/* -- Running
 * ---------------------------------------------------------------------------------------- */

struct outcome {
    const char *written; /* standard output and standard error */
    size_t length;
    int status;        /* of exit; -1: a signal ended it */
    const char *extra; /* a file it left behind */
};

_Noreturn static void become(const struct test_case *c, const char *path, int out, char **words) {
    int nothing = open("/dev/null", O_RDONLY);
    if (chdir(path) || dup2(nothing, 0) < 0 || dup2(out, 1) < 0 || dup2(out, 2) < 0) _exit(126);
    alarm(SECONDS);
    execv(c->tilec, words);
    _exit(127);
}

static void read_pipe(struct test_case *c, int pipe, struct outcome *o) {
    VEC(char) text = {0};
    char part[65536];
    ssize_t got;
    while ((got = read(pipe, part, sizeof part)) > 0 || (got < 0 && errno == EINTR))
        for (ssize_t i = 0; i < got; i++) vec_push(c->arena, &text, part[i]);
    o->length = (size_t)text.count;
    vec_push(c->arena, &text, 0);
    o->written = text.at;
}

static struct outcome run(struct test_case *c, const struct source *text, struct arguments words) {
    struct outcome o = {0};
    const char *path = make_directory(c, text);
    int ends[2], status = 0;
    assert_int_equal(pipe(ends), 0);
    vec_push(c->arena, &words.list, NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (!child) {
        close(ends[0]);
        become(c, path, ends[1], words.list.at);
    }
    close(ends[1]);
    read_pipe(c, ends[0], &o);
    close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    o.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    if (o.status < 0) print_error("%s: ended by signal %d\n", c->name, WTERMSIG(status));
    o.extra = remove_directory(c, path);
    return o;
}

/* -- Refusals
 * --------------------------------------------------------------------------------------- */

static void check_refusal(struct test_case *c, const struct source *text, struct arguments given,
                          struct expectations *e) {
    struct arguments words = {0};
    vec_push(c->arena, &words.list, arena_strndup(c->arena, c->tilec, strlen(c->tilec)));
    for (int i = 0; i < given.list.count; i++) vec_push(c->arena, &words.list, given.list.at[i]);
    split(c->arena, &words, "--max-errors=0", "--max-errors=0" + 14);
    vec_push(c->arena, &words.list, arena_strndup(c->arena, c->name, strlen(c->name)));
    struct outcome o = run(c, text, words);
    struct text complaint = text_new(c->arena);
    bool good = expectations_meet(e, c->name, o.written, &complaint);
    int wanted = expects_errors(e) ? 1 : 0;
    if (o.status != wanted)
        text_printf(&complaint, "exit status %d, expected %d\n", o.status, wanted);
    if (wanted && o.extra) text_printf(&complaint, "'%s' was left behind\n", o.extra);
    if (good && !complaint.length) return;
    print_error("%s/%s:\n%s", c->directory, c->name, complaint.at);
    if (o.status != wanted) print_error("%s", o.written);
    fail();
}

/* -- Goldens
 * ---------------------------------------------------------------------------------------- */

static void show_difference(const char *wanted, const char *got) {
    int line = 1;
    const char *w = wanted, *g = got;
    for (size_t n; *w && *g; line++) {
        n = strcspn(w, "\n") + 1;
        if (strncmp(w, g, n) != 0) break;
        w += n - !w[n - 1];
        g += n - !g[n - 1];
    }
    print_error("line %d\n  expected: %.*s\n  written:  %.*s\n", line, (int)strcspn(w, "\n"), w,
                (int)strcspn(g, "\n"), g);
}

static void accept(const char *path, const char *text, size_t length) {
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, length, file), length);
    assert_int_equal(fclose(file), 0);
}

static void check_golden(struct test_case *c, const struct source *text, struct arguments given) {
    struct arguments words = {0};
    vec_push(c->arena, &words.list, arena_strndup(c->arena, c->tilec, strlen(c->tilec)));
    for (int i = 0; i < given.list.count; i++) vec_push(c->arena, &words.list, given.list.at[i]);
    vec_push(c->arena, &words.list, arena_strndup(c->arena, c->name, strlen(c->name)));
    struct outcome o = run(c, text, words);
    const char *written = o.written;
    if (o.status) written = arena_printf(c->arena, "%s[exit status %d]\n", written, o.status);
    const char *dot = strrchr(c->name, '.');
    const char *stem = arena_printf(c->arena, "%.*s.out", (int)(dot - c->name), c->name);
    const char *path = arena_printf(c->arena, "%s/%s", c->directory, stem), *asked;
    asked = getenv("TILEC_ACCEPT");
    if (asked && !strcmp(asked, "1")) {
        accept(path, written, strlen(written));
        return;
    }
    struct source *golden = read_file(c->arena, c->directory, stem);
    if (!golden) print_error("%s is missing; TILEC_ACCEPT=1 writes it\n", path);
    if (golden && !strcmp(golden->text, written)) return;
    if (golden) print_error("%s differs in ", path);
    show_difference(golden ? golden->text : "", written);
    fail();
}

/* -- All of them
 * ------------------------------------------------------------------------------------ */

static void check(void **state) {
    struct test_case *c = *state;
    struct source *text = read_file(c->arena, c->directory, c->name);
    assert_non_null(text);
    struct arguments given = {0};
    read_arguments(c->arena, text->text, &given);
    struct expectations *e = expectations_of(c->arena, text->text);
    if (expectation_count(e))
        check_refusal(c, text, given, e);
    else
        check_golden(c, text, given);
}

/* Files that are neither golden nor refusal belong to other tests. */
static bool is_case(struct arena *a, const char *directory, const char *name) {
    struct source *text = read_file(a, directory, name);
    struct arguments none = {0};
    return text && (read_arguments(a, text->text, &none) ||
                    expectation_count(expectations_of(a, text->text)));
}

int main(int count, char **arguments) {
    struct arena *a = arena_new();
    VEC(struct CMUnitTest) tests = {0};
    char *tilec = count > 1 ? realpath(arguments[1], NULL) : NULL;
    if (!tilec) {
        fputs("usage: run_cases TILEC DIRECTORY...\n", stderr);
        return 2;
    }
    for (int i = 2; i < count; i++) {
        const char **names;
        int found = list_files(a, arguments[i], ".tile .tir .kir", &names);
        for (int j = 0; j < found; j++) {
            if (!is_case(a, arguments[i], names[j])) continue;
            struct test_case *c = arena_make(a, struct test_case);
            *c = (struct test_case){a, tilec, arguments[i], names[j]};
            struct CMUnitTest test = {names[j], check, NULL, NULL, c};
            vec_push(a, &tests, test);
        }
    }
    int failed = 77; /* nothing ran: meson calls that skipped */
    if (tests.count)
        failed = _cmocka_run_group_tests("cases", tests.at, (size_t)tests.count, NULL, NULL);
    arena_free(a);
    free(tilec);
    return failed;
}
