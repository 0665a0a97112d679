/* Templates as files: kernels with a sidecar, folders, names. */
#include "base/fs.h"
#include "codegen/expand.h"
#include "tests/support_gemm.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define KERNEL "kernel void k(global const ${T} *A)\n{\n}\n"
#define TEXT(rest) \
    "/*kernwright {\"task\": \"gemm\",\n\"params\": {},\n\"launches\": [{\"kernel\": \"k\", \"args\": [\"A\"], " \
    "\"local\": [1], \"groups\": [\"M\"]}]" rest "} */\n" KERNEL

static char *folder;

static void put(const char *name, const char *text)
{
    char *path = fs_join(folder, name), *sub = fs_folder_of(path);
    assert_int_equal(fs_make_folders(sub, NULL), KW_OK);
    assert_int_equal(fs_write(path, text, strlen(text), NULL), KW_OK);
    free(sub);
    free(path);
}

static kw_code load(const char *name, template **p, kw_error *err)
{
    char *path = fs_join(folder, name);
    memset(err, 0, sizeof *err);
    *p = NULL;
    kw_code code = template_load(path, gemm_task, p, err);
    free(path);
    return code;
}

#define SIDE(rest) \
    "{\"task\": \"gemm\", \"macros\": true, \"params\": {\"WG\": {\"values\": [8, 16]}}" rest ",\n\"launches\": " \
    "[{\"kernel\": \"own\", \"args\": [\"A\"], \"local\": [\"WG\"], \"global\": [\"round_up(M, WG)\"]}]}"
#define OWN "kernel void own(global float *A) { A[0] = WG; } // ${x}\n"

/* The only source, blanks at the end of lines left out. */
static void assert_expands(const template *p, const char *expected)
{
    strb out = STRB_INIT, trimmed = STRB_INIT;
    assert_int_equal(body_expand(p->bodies[0], p->lang, NULL, &out, NULL), KW_OK);
    for (const char *c = strb_text(&out); *c != '\0'; c++) {
        while (*c == '\n' && trimmed.length > 0 && strchr(" \r", trimmed.data[trimmed.length - 1]) != NULL)
            strb_truncate(&trimmed, trimmed.length - 1);
        strb_add_char(&trimmed, *c);
    }
    assert_string_equal(strb_text(&trimmed), expected);
    strb_clear(&out);
    strb_clear(&trimmed);
}

static void loads_sidecars(void **state)
{
    (void)state;
    template *p;
    kw_error err;
    folder = fs_temp_folder("kw-side", NULL);
    put("own.cl", OWN);
    assert_int_equal(load("own.cl", &p, &err), KW_BAD_INPUT);
    assert_non_null(strstr(err.message, "no front matter"));
    put("own.kw.json", SIDE(""));
    assert_int_equal(load("own.kw.json", &p, &err), KW_OK);
    assert_string_equal(p->name, "own");
    assert_true(p->is_sidecar && p->macros);
    assert_non_null(p->launches[0].global[0]);
    template_free(p);
    assert_int_equal(load("own.cl", &p, &err), KW_OK);
    template_free(p);
    put("two.cl.kw.json", SIDE(", \"sources\": [\"lib/a.cl\", \"own.cl\"]"));
    assert_int_equal(load("two.cl.kw.json", &p, &err), KW_BAD_INPUT);
    assert_non_null(strstr(err.message, "sources[0]: there is no file "));
    put("lib/a.cl", "#define Z 1\n");
    assert_int_equal(load("two.cl.kw.json", &p, &err), KW_OK);
    assert_int_equal(p->n_bodies, 2);
    assert_string_equal(p->name, "two");
    template_free(p);
    put("none.kw.json", SIDE(""));
    assert_int_equal(load("none.kw.json", &p, &err), KW_BAD_INPUT);
    assert_non_null(strstr(err.message, "name it in \"sources\""));
    put("junk.kw.json", SIDE("") "x");
    assert_int_equal(load("junk.kw.json", &p, &err), KW_BAD_INPUT);
    assert_non_null(strstr(err.message, "junk.kw.json:2:"));
    put("own.cl", "// \xe9t\xe9\n" OWN); /* comments of old kernels have all encodings */
    assert_int_equal(load("own.kw.json", &p, &err), KW_OK);
    template_free(p);
    put("own.cl", OWN "\n\xe9");
    assert_int_equal(load("own.kw.json", &p, &err), KW_BAD_INPUT);
    assert_non_null(strstr(err.message, "own.cl:3:1: a byte here is not UTF-8"));
    put("own.cl", "R\"(\n" OWN "int R(;\n  )\"; \r\nx R\"(\n"); /* C++ raw strings */
    assert_int_equal(load("own.kw.json", &p, &err), KW_OK);
    assert_expands(p, "\n" OWN "int R(;\n\nx R\"(\n");
    template_free(p);
    put("own.cl", OWN);
    put("b.cl", "//@let Y = X2 + 1\n");
    put("a.cl", "//@let X2 = WG\n" OWN);
    put("let.kw.json", SIDE(", \"directives\": true, \"sources\": [\"a.cl\", \"b.cl\"]"));
    assert_int_equal(load("let.kw.json", &p, &err), KW_BAD_INPUT); /* names do not reach into the next file */
    put("a.cl", "//@let X2 = WG\nkernel void own(global float *A) { }\n");
    put("b.cl", "//@let Y = WG + 1\n//@let X2 = Y\n");
    assert_int_equal(load("let.kw.json", &p, &err), KW_OK);
    template_free(p);
    put("dir.kw.json", SIDE(", \"directives\": true, \"sources\": [\"own.cl\"]"));
    assert_int_equal(load("dir.kw.json", &p, &err), KW_BAD_INPUT);
    assert_non_null(strstr(err.message, "own.cl:1:"));
    fs_remove_tree(folder);
    free(folder);
}

static void finds_templates(void **state)
{
    (void)state;
    template **list;
    size_t n;
    char *name, *old = getcwd(NULL, 0);
    kw_error err = {0};
    folder = fs_temp_folder("kw-find", NULL);
    put("templates/b.cl", TEXT(""));
    put("templates/a.cl", TEXT(", \"fallback\": true"));
    put("templates/own.cl", OWN);
    put("templates/own.kw.json", SIDE(""));
    put("templates/broken.cl", "/*kernwright {\"task\": \"gemm\"} */");
    put("templates/other.cl", "/*kernwright {\"task\": \"saxpy\"} */");
    put("templates/plain.cl", "kernel void x() {}");
    assert_int_equal(chdir(folder), 0);
    setenv("KERNWRIGHT_DATA", folder, 1); /* the same folder by another name */
    assert_int_equal(template_find(gemm_task, NULL, 0, &list, &n, &err), KW_OK);
    assert_int_equal(n, 3);
    assert_string_equal(list[0]->name, "a");
    assert_true(list[0]->is_fallback);
    assert_string_equal(list[1]->name, "b");
    assert_string_equal(list[2]->name, "own");
    for (size_t i = 0; i < n; i++)
        template_free(list[i]);
    free(list);
    const char *const names[] = {"b", "templates/own.cl"};
    assert_int_equal(template_find(gemm_task, names, 2, &list, &n, &err), KW_OK);
    assert_int_equal(n, 2);
    for (size_t i = 0; i < n; i++)
        template_free(list[i]);
    free(list);
    put("templates/long.cl.kw.json", SIDE(", \"sources\": [\"own.cl\"]"));
    const char *const long_name[] = {"long"};
    assert_int_equal(template_find(gemm_task, long_name, 1, &list, &n, &err), KW_OK);
    assert_string_equal(list[0]->name, "long");
    template_free(list[0]);
    free(list);
    char *path = template_path_of("long");
    assert_string_equal(path, "templates/long.cl.kw.json");
    free(path);
    assert_null(template_path_of("templates/long"));
    const char *const wrong[] = {"brokem"}, *const broken[] = {"broken"};
    assert_int_equal(template_find(gemm_task, wrong, 1, &list, &n, &err), KW_BAD_INPUT);
    assert_non_null(strstr(err.message, "did you mean broken"));
    assert_int_equal(template_find(gemm_task, broken, 1, &list, &n, &err), KW_BAD_INPUT);
    assert_non_null(strstr(err.message, "at least one launch"));
    assert_int_equal(template_task_name("templates/other.cl", &name, &err), KW_OK);
    assert_string_equal(name, "saxpy");
    free(name);
    assert_int_equal(template_task_name("templates/own.kw.json", &name, &err), KW_OK);
    assert_string_equal(name, "gemm");
    free(name);
    assert_int_equal(template_task_name("templates/plain.cl", &name, &err), KW_BAD_INPUT);
    unsetenv("KERNWRIGHT_DATA");
    assert_int_equal(chdir(old), 0);
    fs_remove_tree(folder);
    free(folder);
    free(old);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loads_sidecars),
        cmocka_unit_test(finds_templates),
    };
    return cmocka_run_group_tests(tests, gemm_load, gemm_free);
}
