/* Children without a language model. */
#include "base/mem.h"
#include "codegen/task.h"
#include "codegen/template.h"
#include "codegen/variant.h"
#include "base/fs.h"
#include "llm/operators.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static char *file_text(const char *path)
{
    strb text = STRB_INIT;
    assert_int_equal(fs_read(path, 0, &text, NULL), KW_OK);
    return strb_take(&text);
}

/* Generations of children of our own templates: every one of them reads, and its default configuration expands. */
static void children_are_templates(void **state)
{
    (void)state;
    const char *const parents[][3] = {{"templates/softmax_row.cl", "templates/softmax_online.cl", "softmax"},
                                      {"templates/saxpy_vec.cl", "templates/saxpy_naive.cl", "saxpy"},
                                      {"templates/gemm_tiled.cl", "templates/gemm_skinny.cl", "gemm"}};
    for (size_t i = 0; i < sizeof parents / sizeof *parents; i++) {
        char *text = file_text(parents[i][0]), *other = file_text(parents[i][1]);
        task *t;
        assert_int_equal(task_load(parents[i][2], &t, NULL), KW_OK);
        size_t made = 0;
        for (uint64_t k = 0; k < 12; k++) {
            operator_context c = {.parent = text, .other = other, .seed = 3, .ordinal = k};
            strb child = STRB_INIT, what = STRB_INIT, again = STRB_INIT;
            kw_error err = {0};
            template *p = NULL;
            if (!operators_apply(&c, &child, &what))
                break;
            made++;
            assert_string_not_equal(strb_text(&child), text);
            assert_true(what.length > 0);
            strb_reset(&what);
            assert_true(operators_apply(&c, &again, &what));
            assert_string_equal(strb_text(&again), strb_text(&child));
            if (template_parse(strb_text(&child), child.length, "child.cl", t, &p, &err) != KW_OK)
                fail_msg("%s: %s\n%s", strb_text(&what), err.message, strb_text(&child));
            uint32_t *config = mem_calloc(p->n_params + 1, sizeof *config);
            task_types types;
            variant *v = NULL;
            assert_int_equal(task_types_parse(t, "", &types, NULL), KW_OK);
            template_default(p, config);
            if (variant_expand(p, &types, config, NULL, &v, &err) != KW_OK)
                fail_msg("%s: %s", strb_text(&what), err.message);
            variant_free(v);
            free(config);
            template_free(p);
            free(text);
            text = strb_take(&child);
            strb_clear(&what);
            strb_clear(&again);
        }
        assert_true(made >= 8);
        task_free(t);
        free(text);
        free(other);
    }
}

static void nothing_to_change(void **state)
{
    (void)state;
    const char *const texts[] = {"", "no template", "/*kernwright {broken */"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        operator_context c = {.parent = texts[i]};
        strb child = STRB_INIT, what = STRB_INIT;
        assert_false(operators_apply(&c, &child, &what));
        assert_int_equal(child.length, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(children_are_templates), cmocka_unit_test(nothing_to_change)};
    return cmocka_run_group_tests_name("operators", tests, NULL, NULL);
}
