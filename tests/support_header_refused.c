/* Apart from support_header.c, which programs without cmocka use too. */
#include "tests/support_header.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

void support_refuses(support_model *s, const char *part)
{
    strb out = STRB_INIT;
    kw_error err = {0};
    s->model.variants = (const variant *const *)s->variants;
    s->model.variant_notes = s->notes;
    s->model.devices = s->devices;
    s->model.rows = s->rows;
    assert_int_equal(header_write(&s->model, &out, &err), KW_BAD_INPUT);
    if (!strstr(err.message, part))
        fail_msg("\"%s\" is not in \"%s\"", part, err.message);
    assert_null(strchr(err.message, '\n'));
    assert_int_equal(out.length, 0);
    strb_clear(&out);
}
