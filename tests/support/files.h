/* files.h: the files of a directory, for tests that run over cases. */
#ifndef TILEC_TEST_FILES_H
#define TILEC_TEST_FILES_H
#include "base/source.h"

/* The names in `directory` that end in one of `endings` (separated by blanks), sorted. */
int list_files(struct arena *a, const char *directory, const char *endings, const char ***names);

/* The whole file, or NULL. */
struct source *read_file(struct arena *a, const char *directory, const char *name);

#endif
