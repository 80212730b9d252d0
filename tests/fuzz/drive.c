/* drive.c: a plain driver for fuzz targets where libFuzzer is not at hand: changes the files of a
 * corpus at random and looks for crashes and hangs.
 *
 * drive SECONDS FIRST FILE…: inputs FIRST, FIRST + 1 … until the time is over; input n is always
 * the same. drive replay N FILE…: writes input N to standard output and runs it. */
#include "target.h"
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOST_FILES = 256, MOST_BYTES = 1 << 16, BATCH = 64, PATIENCE = 20 };

struct input {
    uint8_t data[MOST_BYTES + 1];
    size_t size;
};

static struct file {
    uint8_t *data;
    size_t size;
} files[MOST_FILES];
static int file_count;
static uint64_t state;

static uint32_t below(uint32_t n) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return n ? (uint32_t)(state >> 33) % n : 0;
}

static void read_one(const char *path) {
    FILE *f = fopen(path, "rb");
    if (!f || file_count == MOST_FILES) return;
    struct file *x = &files[file_count];
    x->data = malloc(MOST_BYTES);
    x->size = x->data ? fread(x->data, 1, MOST_BYTES, f) : 0;
    fclose(f);
    if (x->size) file_count++;
}

/* -- changes
 * --------------------------------------------------------------------------------------- */
static void replace(struct input *x, size_t at, size_t old, const uint8_t *with, size_t size) {
    if (x->size - old + size > MOST_BYTES) return;
    memmove(x->data + at + size, x->data + at + old, x->size - at - old);
    memcpy(x->data + at, with, size);
    x->size += size - old;
}

static void insert_word(struct input *x) {
    static const char *const words[] = {"(",
                                        ")",
                                        "[",
                                        "]",
                                        ":",
                                        ",",
                                        "\n",
                                        "    ",
                                        "\t",
                                        "0",
                                        "-1",
                                        "1e400",
                                        "9223372036854775808",
                                        "%",
                                        "//",
                                        "**",
                                        "T.",
                                        "for i in T.Parallel(",
                                        "lambda",
                                        "\"",
                                        "'''",
                                        "f\"{",
                                        "\\",
                                        "#",
                                        "None",
                                        "if",
                                        "else",
                                        "@",
                                        "=",
                                        "True",
                                        "float16",
                                        "T.alloc_shared",
                                        "T.copy",
                                        "T.gemm",
                                        "0x",
                                        "1_0",
                                        "...",
                                        "return",
                                        "\xc3\xa9",
                                        "\xff",
                                        "select(",
                                        "index[0,",
                                        "]!",
                                        "strides",
                                        "barrier",
                                        "=="};
    const char *w = words[below(sizeof words / sizeof *words)];
    replace(x, below((uint32_t)x->size + 1), 0, (const uint8_t *)w, strlen(w));
}

static size_t line_from(const struct input *x, size_t at) {
    while (at < x->size && x->data[at] != '\n') at++;
    return at < x->size ? at + 1 : at;
}

static void change_line(struct input *x) {
    size_t from = line_from(x, below((uint32_t)x->size)), to = line_from(x, from);
    uint8_t copy[512];
    size_t size = to - from < sizeof copy ? to - from : sizeof copy;
    memcpy(copy, x->data + from, size);
    switch (below(3)) {
    case 0: replace(x, from, to - from, copy, 0); break;
    case 1: replace(x, from, 0, copy, size); break;
    default: replace(x, line_from(x, below((uint32_t)x->size)), 0, copy, size); break;
    }
}

static void splice(struct input *x) {
    const struct file *f = &files[below((uint32_t)file_count)];
    size_t from = below((uint32_t)f->size), size = below(200);
    if (from + size > f->size) size = f->size - from;
    replace(x, below((uint32_t)x->size + 1), 0, f->data + from, size);
}

static void change(struct input *x) {
    size_t at = below((uint32_t)x->size);
    uint8_t byte = (uint8_t)(below(2) ? below(256) : 32 + below(95));
    if (!x->size) {
        insert_word(x);
        return;
    }
    switch (below(8)) {
    case 0: x->data[at] = byte; break;
    case 1: replace(x, at, 1, &byte, 0); break;
    case 2: replace(x, at, 0, &byte, 1); break;
    case 3:
    case 4: change_line(x); break;
    case 5: splice(x); break;
    case 6: insert_word(x); break;
    default: x->size = below(4) ? x->size : at; break;
    }
}

static void make(struct input *x, uint64_t number) {
    state = number * 0x9e3779b97f4a7c15u + 99;
    below(2);
    const struct file *f = &files[below((uint32_t)file_count)];
    memcpy(x->data, f->data, f->size);
    x->size = f->size;
    for (uint32_t n = 1 + below(6); n; n--) change(x);
    x->data[x->size] = 0;
}

/* -- runs
 * ------------------------------------------------------------------------------------------ */
/* Each number goes into the pipe before its input runs, so that the last one is the culprit. */
static void run_batch(struct input *x, uint64_t first, int pipe_end) {
    for (uint64_t n = first; n < first + BATCH; n++) {
        if (write(pipe_end, &n, sizeof n) != (ssize_t)sizeof n) _exit(3);
        make(x, n);
        alarm(PATIENCE);
        LLVMFuzzerTestOneInput(x->data, x->size);
    }
}

static bool batch_fails(struct input *x, uint64_t first) {
    int status = 0, ends[2];
    uint64_t n = first;
    if (pipe(ends)) return true;
    pid_t child = fork();
    if (child == 0) {
        run_batch(x, first, ends[1]);
        _exit(0);
    }
    close(ends[1]);
    bool waited = child > 0 && waitpid(child, &status, 0) == child;
    while (read(ends[0], &n, sizeof n) == (ssize_t)sizeof n) continue;
    close(ends[0]);
    if (waited && WIFEXITED(status) && WEXITSTATUS(status) == 0) return false;
    printf("input %llu: %s\n", (unsigned long long)n,
           WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM ? "no end" : "crash");
    return true;
}

int main(int argc, char **argv) {
    static struct input room; /* too large for a stack */
    struct input *x = &room;
    if (argc < 4) return 2;
    for (int i = 3; i < argc; i++) read_one(argv[i]);
    uint64_t first = strtoull(argv[2], NULL, 10);
    if (!file_count) return 2;
    if (!strcmp(argv[1], "replay")) {
        make(x, first);
        fwrite(x->data, 1, x->size, stdout);
        fflush(stdout);
        return LLVMFuzzerTestOneInput(x->data, x->size);
    }
    time_t end = time(NULL) + atoi(argv[1]);
    int failures = 0;
    uint64_t n = first;
    for (; time(NULL) < end && failures < 5; n += BATCH) failures += batch_fails(x, n);
    printf("%llu inputs, %d failures\n", (unsigned long long)(n - first), failures);
    return failures > 0;
}
