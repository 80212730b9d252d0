/* tools.c: runs nvcc and ptxas for ptx and cubin. */
#include "driver/driver.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *nvcc_path(struct compilation *c) {
    if (c->options->nvcc) return c->options->nvcc;
    static const char *const variables[] = {"CUDA_HOME", "CUDA_PATH"};
    for (int i = 0; i < 2; i++) {
        const char *home = getenv(variables[i]);
        const char *path = home && *home ? arena_printf(c->arena, "%s/bin/nvcc", home) : NULL;
        if (path && !access(path, X_OK)) return path;
    }
    return "nvcc";
}

static void show(const char *const *arguments) {
    for (int i = 0; arguments[i]; i++) fprintf(stderr, "%s%s", i ? " " : "", arguments[i]);
    fputc('\n', stderr);
}

static int run(struct compilation *c, const char *const *arguments) {
    if (c->options->verbose || c->options->dry_run) show(arguments);
    if (c->options->dry_run) return EXIT_DONE;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        execvp(arguments[0], (char *const *)arguments);
        fprintf(stderr, "tilec: error: cannot run '%s': %s\n", arguments[0], strerror(errno));
        _exit(127);
    }
    int status = 0;
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {}
    if (child > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0) return EXIT_DONE;
    if (child < 0 || !WIFEXITED(status) || WEXITSTATUS(status) != 127)
        fprintf(stderr, "tilec: error: '%s' failed\n", arguments[0]);
    return EXIT_TOOL;
}

/* sm_90a -> "-gencode=arch=compute_90a,code=…"; a cubin of that machine, or its PTX. */
static int run_nvcc(struct compilation *c, const struct target *t, bool ptx, const char *input,
                    const char *output) {
    const char *number = t->name + 3;
    const char *arguments[] = {nvcc_path(c),
                               ptx ? "-ptx" : "-cubin",
                               arena_printf(c->arena, "-gencode=arch=compute_%s,code=%s_%s", number,
                                            ptx ? "compute" : "sm", number),
                               "-o",
                               output,
                               input,
                               NULL};
    return run(c, arguments);
}

static int run_ptxas(struct compilation *c, const struct target *t, const char *input,
                     const char *output) {
    const char *arguments[] = {
        c->options->ptxas, arena_printf(c->arena, "-arch=%s", t->name), "-o", output, input, NULL};
    return run(c, arguments);
}

/* Copies what a tool wrote to standard output. */
static int print_file(struct compilation *c, const char *path) {
    const char *why = NULL;
    struct source *s = source_read(c->arena, path, &why);
    if (s && file_write("-", s->text, s->length)) return EXIT_DONE;
    if (!s) fprintf(stderr, "tilec: error: cannot read '%s': %s\n", path, why);
    return EXIT_USAGE;
}

/* The command lines show the names; nothing is made. */
static int compile_in(struct compilation *c, const char *directory, const struct device_job *j) {
    char *input = arena_printf(c->arena, "%s/kernel.cu", directory);
    char *middle = arena_printf(c->arena, "%s/kernel.ptx", directory);
    char *result = arena_printf(c->arena, "%s/kernel.out", directory);
    bool to_stdout = !strcmp(j->output, "-"), ptx = j->kind == EMIT_PTX;
    bool two = !ptx && c->options->ptxas;
    const char *output = to_stdout ? result : j->output;
    int status = EXIT_DONE;
    if (!c->options->dry_run && !file_write(input, j->cu, j->length)) status = EXIT_USAGE;
    if (status == EXIT_DONE)
        status = run_nvcc(c, j->target, ptx || two, input, two ? middle : output);
    if (status == EXIT_DONE && two) status = run_ptxas(c, j->target, middle, output);
    if (status == EXIT_DONE && to_stdout && !c->options->dry_run) status = print_file(c, result);
    file_discard(input);
    file_discard(middle);
    file_discard(result);
    return status;
}

int tool_compile(struct compilation *c, const struct device_job *j) {
    const char *parent = getenv("TMPDIR");
    char *directory =
        arena_printf(c->arena, "%s/tilec-XXXXXX", parent && *parent ? parent : "/tmp");
    if (c->options->dry_run) return compile_in(c, directory, j);
    if (!mkdtemp(directory)) {
        fprintf(stderr, "tilec: error: cannot make '%s': %s\n", directory, strerror(errno));
        return EXIT_USAGE;
    }
    int status = compile_in(c, directory, j);
    rmdir(directory);
    return status;
}
