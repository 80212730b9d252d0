/* files.c: the files of a directory, for tests that run over cases. */
#include "files.h"
#include "base/vec.h"
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

static int by_name(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool ends_in(const char *name, const char *endings) {
    const char *dot = strrchr(name, '.');
    const char *at = dot ? strstr(endings, dot) : NULL;
    size_t length = dot ? strlen(dot) : 0;
    return at && (at[length] == ' ' || !at[length]);
}

int list_files(struct arena *a, const char *directory, const char *endings, const char ***names) {
    VEC(const char *) list = {0};
    DIR *d = opendir(directory);
    for (struct dirent *entry; d && (entry = readdir(d));)
        if (ends_in(entry->d_name, endings))
            vec_push(a, &list, arena_strndup(a, entry->d_name, strlen(entry->d_name)));
    if (d) closedir(d);
    if (list.count) qsort(list.at, (size_t)list.count, sizeof *list.at, by_name);
    *names = list.at;
    return list.count;
}

struct source *read_file(struct arena *a, const char *directory, const char *name) {
    const char *why;
    return source_read(a, arena_printf(a, "%s/%s", directory, name), &why);
}
