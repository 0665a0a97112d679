/* main() of a fuzz target that is built without libFuzzer: runs it on every file of its corpus (of the files and
 * folders named as arguments, otherwise of tests/fuzz/corpus/NAME for a program fuzz_NAME), on every file cut short
 * and with bytes changed, and on the empty text. A fault ends the program; what comes out is the number of files. */
#include "base/counter_rng.h"
#include "base/fs.h"
#include "base/strb.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VARIANTS 64 /* of each file */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* On the heap and without a NUL, so that a sanitizer sees a read past the end. */
static void run_exact(const char *data, size_t size)
{
    uint8_t *copy = malloc(size ? size : 1);
    if (!copy)
        abort();
    if (size)
        memcpy(copy, data, size);
    LLVMFuzzerTestOneInput(copy, size);
    free(copy);
}

/* The same variants in every run: they depend on the size of the text only. */
static void run_variants(const strb *text)
{
    strb v = STRB_INIT;
    for (uint64_t i = 0; text->length && i < VARIANTS; i++) {
        strb_reset(&v);
        strb_add_n(&v, text->data, text->length);
        uint64_t r = counter_rng_u64(text->length, 0, i);
        if (i % 2)
            v.data[r % v.length] = (char)(r >> 32);
        else
            strb_truncate(&v, r % v.length);
        run_exact(v.data, v.length);
    }
    strb_clear(&v);
}

static int run_file(const char *path)
{
    kw_error err = {0};
    strb text = STRB_INIT;
    if (fs_read(path, 0, &text, &err) != KW_OK) {
        fprintf(stderr, "%s\n", err.message);
        return -1;
    }
    run_exact(strb_text(&text), text.length);
    run_variants(&text);
    strb_clear(&text);
    return 1;
}

/* Number of files that were run, -1 if one could not be read. */
static int run_folder(const char *folder)
{
    kw_error err = {0};
    char **names;
    size_t n;
    int done = 0;
    if (fs_list(folder, NULL, &names, &n, &err) != KW_OK) {
        fprintf(stderr, "%s\n", err.message);
        return -1;
    }
    for (size_t i = 0; i < n; i++) {
        char *path = fs_join(folder, names[i]);
        if (done >= 0 && fs_is_file(path))
            done = run_file(path) < 0 ? -1 : done + 1;
        free(path);
        free(names[i]);
    }
    free(names);
    return done;
}

int main(int argc, char **argv)
{
    const char *self = fs_base_name(argv[0]);
    const char *name = strncmp(self, "fuzz_", 5) == 0 ? self + 5 : self;
    char *corpus = fs_join("tests/fuzz/corpus", name);
    int files = 0;
    run_exact("", 0);
    for (int i = 1; files >= 0 && i < argc; i++) {
        int n = fs_is_folder(argv[i]) ? run_folder(argv[i]) : run_file(argv[i]);
        files = n < 0 ? -1 : files + n;
    }
    if (argc == 1)
        files = run_folder(corpus);
    free(corpus);
    printf("%s: passed=%d failed=%d skipped=0\n", self, files < 0 ? 0 : files, files < 0);
    return files < 0;
}
