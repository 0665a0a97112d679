#include "tests/support_gemm.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

task *gemm_task;
task_types gemm_types;

int gemm_load(void **state)
{
    (void)state;
    kw_error err = {0};
    if (task_load("tests/golden/tasks/gemm", &gemm_task, &err) != KW_OK)
        return -1;
    return task_types_parse(gemm_task, NULL, &gemm_types, &err) == KW_OK ? 0 : -1;
}

int gemm_free(void **state)
{
    (void)state;
    task_free(gemm_task);
    return 0;
}

template *gemm_template(const char *text)
{
    template *p = NULL;
    kw_error err = {0};
    if (template_parse(text, strlen(text), "demo.cl", gemm_task, &p, &err) != KW_OK)
        fail_msg("%s", err.message);
    return p;
}

kw_code gemm_expand(const template *p, const char *set, const char *dims, variant **v, kw_error *err)
{
    uint32_t config[32];
    task_shape s;
    char text[128];
    template_default(p, config);
    snprintf(text, sizeof text, "%s", set);
    for (char *rest = text, *item; (item = strsep(&rest, " ")) != NULL;)
        if (*item != '\0' && template_set(p, item, config, err) != KW_OK)
            fail_msg("%s", err->message);
    if (dims != NULL && task_shape_parse(gemm_task, dims, &s, err) != KW_OK)
        fail_msg("%s", err->message);
    return variant_expand(p, &gemm_types, config, dims != NULL ? &s : NULL, v, err);
}

variant *gemm_variant(const template *p, const char *set, const char *dims)
{
    variant *v = NULL;
    kw_error err = {0};
    if (gemm_expand(p, set, dims, &v, &err) != KW_OK)
        fail_msg("%s", err.message);
    return v;
}

task_shape gemm_shape(const char *dims)
{
    task_shape s;
    assert_int_equal(task_shape_parse(gemm_task, dims, &s, NULL), KW_OK);
    return s;
}
