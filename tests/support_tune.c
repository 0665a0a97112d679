/* Helpers of the tests of the tuner. */
#include "tests/support_tune.h"

#include "base/strb.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

char *template_text_make(const template_text *t)
{
    strb text = STRB_INIT;
    strb_printf(&text,
                "/*kernwright {\n"
                "  \"task\": \"saxpy\", \"language\": \"opencl\", %s\n"
                "  \"params\": {%s},\n"
                "  \"constraints\": [%s],\n"
                "  \"requires\": [%s],\n"
                "  \"launches\": [{\"kernel\": \"fake_saxpy\", \"args\": [\"N\", \"a\", \"x\", \"y\"],\n"
                "                \"local\": [64], \"groups\": [\"ceil_div(N, 64)\"]}]\n"
                "} */\n",
                t->more ? t->more : "", t->params, t->constraints ? t->constraints : "",
                t->requires_ ? t->requires_ : "");
    if (t->directives)
        strb_printf(&text, "#pragma fake %s\n", t->directives);
    strb_add(&text, "kernel void fake_saxpy(int n, float a, global const float *x, global float *y)\n{\n}\n");
    return strb_take(&text);
}

template *template_of_text(const task *t, const template_text *text)
{
    kw_error err = {0};
    template *p = NULL;
    strb path = STRB_INIT;
    char *source = template_text_make(text);
    strb_printf(&path, "%s.cl", text->name);
    if (template_parse(source, strlen(source), strb_text(&path), t, &p, &err) != KW_OK)
        fail_msg("%s", err.message);
    strb_clear(&path);
    free(source);
    return p;
}

task *saxpy_task(void)
{
    kw_error err = {0};
    task *t = NULL;
    if (task_load("saxpy", &t, &err) != KW_OK)
        fail_msg("%s", err.message);
    return t;
}

task_types default_types(const task *t)
{
    kw_error err = {0};
    task_types types;
    if (task_types_parse(t, NULL, &types, &err) != KW_OK)
        fail_msg("%s", err.message);
    return types;
}

task_shape shape_of(const task *t, const char *dims)
{
    kw_error err = {0};
    task_shape s;
    if (task_shape_parse(t, dims, &s, &err) != KW_OK)
        fail_msg("%s", err.message);
    return s;
}

const device_limits *fake_limits(void)
{
    static const device_limits limits = {.max_work_group_size = 1024,
                                         .max_work_item_size = {1024, 1024, 64},
                                         .local_mem_bytes = 48 << 10,
                                         .max_alloc_bytes = (int64_t)256 << 20,
                                         .global_mem_bytes = (int64_t)1 << 30,
                                         .compute_units = 64,
                                         .preferred_multiple = 32,
                                         .is_gpu = 1};
    return &limits;
}
