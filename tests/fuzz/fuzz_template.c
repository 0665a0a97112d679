/* A template of the task below: whatever the text, reading it and expanding its default configuration ends with a
 * result or with one message; a variant survives the trip through JSON. */
#include "codegen/variant.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char task_text[] =
    "{\"task\": \"gemm\", \"dims\": {\"M\": {}, \"N\": {}, \"K\": {\"min\": 0}, \"lda\": {\"default\": \"K\"}},"
    "\"types\": {\"T\": [\"f32\", \"f16\"], \"ACC\": \"f32\"},"
    "\"tensors\": [{\"name\": \"A\", \"type\": \"T\", \"shape\": [\"M\", \"K\"], \"strides\": [\"lda\", 1]},"
    "{\"name\": \"C\", \"type\": \"T\", \"shape\": [\"M\", \"N\"], \"access\": \"inout\"}],"
    "\"scalars\": [{\"name\": \"alpha\", \"type\": \"f32\", \"values\": [1]}]}";

static void require(bool holds)
{
    if (!holds)
        abort();
}

static task *make_task(void)
{
    task *t = NULL;
    json *j = json_parse(task_text, strlen(task_text), "task", 1, 1, NULL);
    require(task_from_json(j, "task", &t, NULL) == KW_OK);
    json_free(j);
    return t;
}

static void check_variant(const task *t, const variant *v, const task_shape *s)
{
    variant *back = NULL;
    kw_error err = {0};
    plan p;
    json *j = variant_to_json(v);
    if (variant_from_json(t, j, "wire", &back, &err) != KW_OK) {
        fprintf(stderr, "%s\n", err.message);
        abort();
    }
    require(strcmp(v->hash, back->hash) == 0);
    (void)plan_make(back, s, NULL, NULL, &p, &err);
    variant_free(back);
    json_free(j);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    task *t = make_task();
    template *p = NULL;
    kw_error err = {0};
    if (size <= 65536 && template_parse((const char *)data, size, "fuzz.cl", t, &p, &err) == KW_OK) {
        variant *v = NULL;
        task_types types;
        task_shape s;
        uint32_t *config = mem_calloc(p->n_params + 1, sizeof *config);
        template_default(p, config);
        require(task_types_parse(t, NULL, &types, NULL) == KW_OK);
        require(task_shape_parse(t, "M=64,N=32,K=48", &s, NULL) == KW_OK);
        if (variant_expand(p, &types, config, &s, &v, &err) == KW_OK)
            check_variant(t, v, &s);
        variant_free(v);
        free(config);
    } else {
        require(size > 65536 || *err.message != '\0');
    }
    template_free(p);
    task_free(t);
    return 0;
}
