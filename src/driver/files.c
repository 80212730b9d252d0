/* files.c: names of output files, writing them whole or not at all, dependency rules. */
#define _GNU_SOURCE /* renameat2 */
#include "driver/driver.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static bool complain(const char *verb, const char *path) {
    fprintf(stderr, "tilec: error: cannot %s '%s': %s\n", verb, path, strerror(errno));
    return false;
}

/* A device or pipe takes the text as it comes; renaming onto it would put a file in its place. */
static bool write_through(const char *path, const char *data, size_t length) {
    FILE *f = fopen(path, "wb");
    if (!f) return complain("write", path);
    bool ok = fwrite(data, 1, length, f) == length;
    ok = !fclose(f) && ok;
    return ok || complain("write", path);
}

bool file_is_input(const struct options *o, const char *path) {
    struct stat input, st;
    return strcmp(path, "-") && !stat(o->input, &input) && !stat(path, &st) &&
           S_ISREG(st.st_mode) && st.st_dev == input.st_dev && st.st_ino == input.st_ino &&
           strcmp(o->input, "-");
}

void file_discard(const char *path) {
    struct stat st;
    if (!lstat(path, &st) && S_ISREG(st.st_mode)) remove(path);
}

/* Where a file stands already the two trade names, and the old one goes: a rename onto it makes
 * ext4 wait for the disk, which takes longer than a compilation. */
static bool put_in_place(const char *temporary, const char *path) {
#ifdef RENAME_EXCHANGE
    if (!renameat2(AT_FDCWD, temporary, AT_FDCWD, path, RENAME_EXCHANGE)) {
        remove(temporary);
        return true;
    }
#endif
    return !rename(temporary, path);
}

bool file_write(const char *path, const char *data, size_t length) {
    if (!strcmp(path, "-"))
        return (fwrite(data, 1, length, stdout) == length && !fflush(stdout)) ||
               complain("write", "standard output");
    struct stat st;
    bool special = !stat(path, &st) && !S_ISREG(st.st_mode);
    if (special) return write_through(path, data, length);
    char temporary[4096];
    int n = snprintf(temporary, sizeof temporary, "%s.tmp%ld", path, (long)getpid());
    if (n < 0 || n >= (int)sizeof temporary) {
        errno = ENAMETOOLONG;
        return complain("write", path);
    }
    FILE *f = fopen(temporary, "wb");
    if (!f) return complain("write", path);
    bool ok = fwrite(data, 1, length, f) == length;
    ok = !fclose(f) && ok;
    if (ok && put_in_place(temporary, path)) return true;
    int why = errno;
    remove(temporary);
    errno = why;
    return complain("write", path);
}

const char *file_base(struct arena *a, const char *path) {
    const char *slash = strrchr(path, '/');
    return arena_printf(a, "%s", slash ? slash + 1 : path);
}

const char *file_with_suffix(struct arena *a, const char *path, const char *suffix) {
    const char *slash = strrchr(path, '/'), *dot = strrchr(path, '.');
    size_t n = dot && dot > (slash ? slash + 1 : path) ? (size_t)(dot - path) : strlen(path);
    return arena_printf(a, "%.*s%s", (int)n, path, suffix);
}

const char *file_mapped(struct arena *a, const char *path, const struct options *o) {
    for (int i = o->prefix_maps.count; i-- > 0;) {
        const char *map = o->prefix_maps.at[i], *equal = strchr(map, '=');
        size_t n = equal ? (size_t)(equal - map) : 0;
        if (equal && !strncmp(path, map, n)) return arena_printf(a, "%s%s", equal + 1, path + n);
    }
    return path;
}

/* A file name as make reads it. */
static void print_escaped(struct text *out, const char *path) {
    for (const char *c = path; *c; c++) {
        if (*c == ' ' || *c == '#' || *c == '\\') text_puts(out, "\\");
        text_printf(out, *c == '$' ? "$$" : "%c", *c);
    }
}

static void print_targets(struct text *out, const struct options *o, const char *const *outputs,
                          int count) {
    int printed = 0;
    for (int i = 0; i < o->depend_targets.count; i++)
        text_printf(out, "%s%s", printed++ ? " " : "", o->depend_targets.at[i]);
    for (int i = 0; i < count && !o->depend_targets.count; i++) {
        if (!strcmp(outputs[i], "-")) continue;
        text_puts(out, printed++ ? " " : "");
        print_escaped(out, outputs[i]);
    }
    if (printed) return;
    /* make knows no rule without a target: the name that the output would have had */
    print_escaped(out, file_with_suffix(o->arena, file_base(o->arena, o->input), ".cu"));
}

void depend_rule(struct text *out, const struct options *o, const char *const *outputs, int count) {
    print_targets(out, o, outputs, count);
    text_puts(out, ":");
    if (strcmp(o->input, "-")) {
        text_puts(out, " ");
        print_escaped(out, o->input);
    }
    text_puts(out, "\n");
    if (o->depend_phony && strcmp(o->input, "-")) {
        print_escaped(out, o->input);
        text_puts(out, ":\n");
    }
}
