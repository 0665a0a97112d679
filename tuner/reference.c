/* Finding, compiling and loading reference functions. */
#include "tuner/reference.h"

#include "base/cache.h"
#include "base/fs.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/subprocess.h"
#include "codegen/references.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COMPILE_TIMEOUT_MS 120000
#define MAX_WORDS 32 /* of $CC */

typedef struct loaded {
    struct loaded *next;
    char hash[HASH_HEX_SIZE];
    void *library;
} loaded;

struct reference_cache {
    loaded *first;
};

static const char *const flags[] = {"-std=gnu11", "-O2", "-fPIC", "-shared", "-w"};
#define N_FLAGS (sizeof flags / sizeof flags[0])

reference_cache *reference_cache_new(void)
{
    return mem_calloc(1, sizeof(reference_cache));
}

void reference_cache_free(reference_cache *c)
{
    for (loaded *l = c ? c->first : NULL, *next; l; l = next) {
        next = l->next;
        dlclose(l->library);
        free(l);
    }
    free(c);
}

static const char *compiler(void)
{
    const char *cc = getenv("CC");
    return cc && *cc ? cc : "cc";
}

static void make_key(const task *t, char out[HASH_HEX_SIZE])
{
    strb text = STRB_INIT;
    strb_printf(&text, "1\n%s\n", compiler());
    for (size_t i = 0; i < N_FLAGS; i++)
        strb_printf(&text, "%s ", flags[i]);
    strb_add(&text, t->reference_source);
    hash_hex(strb_text(&text), text.length, out);
    strb_clear(&text);
}

/* Code is loaded from there. */
static kw_code references_folder(const task *t, char **out, kw_error *err)
{
    char *cache = cache_folder();
    *out = cache ? fs_join(cache, "references") : NULL;
    free(cache);
    if (*out && cache_make_private(*out))
        return KW_OK;
    kw_code code =
        kw_error_set(err, KW_ENVIRONMENT,
                     "the reference of task %s needs a folder for what is compiled: %s; set KERNWRIGHT_CACHE "
                     "to a folder that only you can write",
                     t->name, *out ? *out : "none was found that is this user's own");
    free(*out);
    *out = NULL;
    return code;
}

/* ---- compiling ---- */

/* The first line that says "error", else the first line at all. */
static void first_error(const char *text, strb *out)
{
    const char *start = text;
    for (const char *line = text; *line;) {
        size_t length = strcspn(line, "\n");
        if (memmem(line, length, "error", 5)) {
            start = line;
            break;
        }
        line += length + (line[length] == '\n');
    }
    strb_add_n(out, start, strcspn(start, "\n"));
}

static kw_code run_compiler(const char *const *argv, const task *t, kw_error *err)
{
    subprocess_spec spec = {.argv = argv, .timeout_ms = COMPILE_TIMEOUT_MS};
    subprocess_result result;
    kw_code code = subprocess_run(&spec, &result, err);
    if (code != KW_OK) {
        kw_error_prefix(err, "the reference of task %s needs a C compiler ($CC or cc)", t->name);
    } else if (result.status != 0) {
        char *how = subprocess_describe(&spec, &result);
        strb line = STRB_INIT;
        first_error(strb_text(&result.errors), &line);
        code = kw_error_set(err, KW_BAD_INPUT, "the reference of task %s does not compile (%s: %s): %s", t->name,
                            argv[0], how, strb_text(&line));
        strb_clear(&line);
        free(how);
    }
    subprocess_result_clear(&result);
    return code;
}

/* "ccache gcc" and the like: words of $CC, then ours. */
static kw_code compile(const task *t, const char *source_path, const char *out_path, kw_error *err)
{
    char *tasks = fs_data_folder("tasks");
    if (!tasks)
        return kw_error_set(err, KW_ENVIRONMENT,
                            "no folder \"tasks\" with kw_reference.h was found; set KERNWRIGHT_DATA to where it lies");
    char *include = fs_folder_of(tasks);
    char *command = mem_strdup(compiler()), *rest = command;
    const char *argv[MAX_WORDS + N_FLAGS + 12];
    size_t n = 0;
    for (char *word; n < MAX_WORDS && (word = strsep(&rest, " \t")) != NULL;)
        if (*word)
            argv[n++] = word;
    for (size_t i = 0; i < N_FLAGS; i++)
        argv[n++] = flags[i];
    const char *const tail[] = {"-I", include, "-I", tasks, "-o", out_path, source_path, "-lm", NULL};
    memcpy(argv + n, tail, sizeof tail);
    kw_code code = run_compiler(argv, t, err);
    free(command);
    free(include);
    free(tasks);
    return code;
}

/* As the text of a string of C: a quote ends it nowhere but at its end. */
static void add_quoted(const char *text, strb *out)
{
    for (const char *p = text; *p; p++) {
        if (*p == '"' || *p == '\\')
            strb_printf(out, "\\%c", *p);
        else if ((unsigned char)*p < ' ')
            strb_printf(out, "\\%03o", (unsigned)*p);
        else
            strb_add_char(out, *p);
    }
}

/* Into names of this process's own, then renamed: two workers may do the same at once. */
static kw_code build(const task *t, const char *library, kw_error *err)
{
    strb source = STRB_INIT, made = STRB_INIT, text = STRB_INIT;
    /* Messages name the user's file. */
    strb_add(&text, "#line 1 \"");
    add_quoted(t->folder, &text);
    strb_printf(&text, "%sreference.c\"\n%s", t->folder[0] ? "/" : "", t->reference_source);
    strb_printf(&source, "%s.%ld.c", library, (long)getpid());
    strb_printf(&made, "%s.%ld.so", library, (long)getpid());
    kw_code code = fs_write(strb_text(&source), text.data, text.length, err);
    if (code == KW_OK)
        code = compile(t, strb_text(&source), strb_text(&made), err);
    if (code == KW_OK && rename(strb_text(&made), library) != 0)
        code = kw_error_set(err, KW_ENVIRONMENT, "%s: cannot be written: %s", library, strerror(errno));
    unlink(strb_text(&source));
    unlink(strb_text(&made));
    strb_clear(&source);
    strb_clear(&made);
    strb_clear(&text);
    return code;
}

/* ---- loading ---- */

/* A library that cannot be loaded (cut off by a full disk, made for another machine) is made anew once. */
static kw_code load(const task *t, const char *hash, void **out, kw_error *err)
{
    char *folder;
    kw_code code = references_folder(t, &folder, err);
    *out = NULL;
    if (code != KW_OK)
        return code;
    strb library = STRB_INIT;
    strb_printf(&library, "%s/%s.so", folder, hash);
    *out = fs_is_file(strb_text(&library)) ? dlopen(strb_text(&library), RTLD_NOW | RTLD_LOCAL) : NULL;
    if (!*out)
        code = build(t, strb_text(&library), err);
    if (!*out && code == KW_OK) {
        *out = dlopen(strb_text(&library), RTLD_NOW | RTLD_LOCAL);
        if (!*out)
            code = kw_error_set(err, KW_BAD_INPUT, "the reference of task %s cannot be loaded: %s", t->name, dlerror());
    }
    strb_clear(&library);
    free(folder);
    return code;
}

static kw_code not_defined(const task *t, kw_error *err)
{
    return kw_error_set(err, KW_BAD_INPUT, "task %s: its reference.c does not define %s", t->name, t->reference);
}

kw_code reference_compile(const task *t, kw_error *err)
{
    char hash[HASH_HEX_SIZE];
    if (!t->reference_source)
        return KW_OK;
    if (!strstr(t->reference_source, t->reference)) /* only loading would show it for certain */
        return not_defined(t, err);
    make_key(t, hash);
    char *folder;
    kw_code code = references_folder(t, &folder, err);
    if (code != KW_OK)
        return code;
    strb library = STRB_INIT;
    strb_printf(&library, "%s/%s.so", folder, hash);
    code = fs_is_file(strb_text(&library)) ? KW_OK : build(t, strb_text(&library), err);
    strb_clear(&library);
    free(folder);
    return code;
}

static kw_code get_library(reference_cache *c, const task *t, void **out, kw_error *err)
{
    char hash[HASH_HEX_SIZE];
    make_key(t, hash);
    for (loaded *l = c->first; l; l = l->next) {
        if (strcmp(l->hash, hash) == 0) {
            *out = l->library;
            return KW_OK;
        }
    }
    kw_code code = load(t, hash, out, err);
    if (code != KW_OK)
        return code;
    loaded *l = mem_calloc(1, sizeof *l);
    memcpy(l->hash, hash, sizeof l->hash);
    l->library = *out;
    l->next = c->first;
    c->first = l;
    return KW_OK;
}

kw_code reference_get(reference_cache *c, const task *t, kw_reference_fn **out, kw_error *err)
{
    *out = NULL;
    if (!t->reference || !*t->reference)
        return KW_OK;
    if (!t->reference_source) {
        *out = reference_builtin(t->reference);
        return *out ? KW_OK
                    : kw_error_set(err, KW_BAD_INPUT,
                                   "task %s: there is no built-in reference %s, and no "
                                   "reference.c came with the task",
                                   t->name, t->reference);
    }
    void *library;
    kw_code code = get_library(c, t, &library, err);
    if (code != KW_OK)
        return code;
    /* POSIX lets a data pointer from dlsym hold a function; ISO C has no cast for it. */
    void *symbol = dlsym(library, t->reference);
    if (!symbol)
        return not_defined(t, err);
    memcpy(out, &symbol, sizeof symbol);
    return KW_OK;
}
