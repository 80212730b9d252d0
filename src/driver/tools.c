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
    const char *arguments[] = {c->options->ptxas,
                         arena_printf(c->arena, "-arch=%s", t->name),
                         "-o",
                         output,
                         input,
                         NULL};
    return run(c, arguments);
}

int tool_compile(struct compilation *c, const struct target *t, enum emit_kind kind, const char *cu,
                 size_t length, const char *output) {
    const char *directory = getenv("TMPDIR");
    char *input = arena_printf(c->arena, "%s/tilec-%ld.cu",
                               directory && *directory ? directory : "/tmp", (long)getpid());
    char *middle = arena_printf(c->arena, "%s.ptx", input);
    if (!c->options->dry_run && !file_write(input, cu, length)) return EXIT_USAGE;
    bool two = kind == EMIT_CUBIN && c->options->ptxas;
    int status = run_nvcc(c, t, kind == EMIT_PTX || two, input, two ? middle : output);
    if (status == EXIT_DONE && two) status = run_ptxas(c, t, middle, output);
    remove(input);
    remove(middle);
    return status;
}
