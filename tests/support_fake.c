#include "tests/support_fake.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

device *fake_open(const char *spec)
{
    kw_error err = {0};
    device *d = NULL;
    assert_int_equal(device_open(spec, &d, &err), KW_OK);
    return d;
}

device_program *fake_build(device *d, const char *source, const char *kernel)
{
    kw_error err = {0};
    device_program *p = NULL;
    device_build_info info;
    kw_code code = device_build(d, source, "", &kernel, 1, &p, &info, &err);
    assert_string_equal(err.message, "");
    assert_int_equal(code, KW_OK);
    device_build_info_clear(&info);
    return p;
}

void rig_open(rig *r, const char *spec, const char *directives)
{
    kw_error err = {0};
    char source[1024];
    float x[RIG_N];
    memset(r, 0, sizeof *r);
    r->d = fake_open(spec);
    snprintf(source, sizeof source, "%s\n" COPY, directives);
    r->p = fake_build(r->d, source, "fake_copy");
    r->in = device_alloc(r->d, sizeof x, &err);
    r->whole = device_alloc(r->d, 128 + sizeof x + 128, &err);
    assert_int_equal(device_fill(r->d, r->whole, 0, 128 + sizeof x + 128, 0x77, &err), KW_OK);
    r->out = device_view(r->d, r->whole, 128, sizeof x, &err);
    assert_non_null(r->out);
    for (int i = 0; i < RIG_N; i++)
        x[i] = (float)(i + 1);
    assert_int_equal(device_write(r->d, r->in, 0, x, sizeof x, &err), KW_OK);
    r->args[0] = int_arg(RIG_N);
    r->args[1] = buffer_arg(r->in);
    r->args[2] = buffer_arg(r->out);
    r->launch = (device_launch){"fake_copy", 1, {32, 1, 1}, {4, 1, 1}, r->args, 3, false};
}

kw_code rig_run(rig *r, float *result, kw_error *err)
{
    kw_error ignored = {0};
    kw_code code = device_run(r->d, r->p, &r->launch, 1, err);
    if (result && code == KW_OK)
        assert_int_equal(device_read(r->d, r->out, 0, result, RIG_N * sizeof(float), &ignored), KW_OK);
    return code;
}

uint64_t rig_guards(rig *r)
{
    kw_error err = {0};
    unsigned char bytes[128 + RIG_N * sizeof(float) + 128];
    uint64_t changed = 0;
    assert_int_equal(device_read(r->d, r->whole, 0, bytes, sizeof bytes, &err), KW_OK);
    for (size_t i = 0; i < sizeof bytes; i++)
        changed += (i < 128 || i >= 128 + RIG_N * sizeof(float)) && bytes[i] != 0x77;
    return changed;
}

void rig_close(rig *r)
{
    device_free(r->d, r->out);
    device_free(r->d, r->whole);
    device_free(r->d, r->in);
    device_program_free(r->d, r->p);
    device_close(r->d);
}

size_t rig_wrong(const float *x)
{
    size_t n = 0;
    for (int i = 0; i < RIG_N; i++)
        n += !(fabsf(x[i] - (float)(i + 1)) < 1e-5f);
    return n;
}
