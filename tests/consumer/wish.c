/* KW_GEMM_VARIANT in the environment: what it names is run where it fits, what it does not name is an error. */
#define _POSIX_C_SOURCE 200112L
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include "kw_gemm.h"
#include "kw_saxpy.h"
#include "support.h"

static const kw_gemm_shape cube = {64, 64, 64};

/* What a handle made under this wish chooses. */
static kw_gemm_choice choose(const machine *m, const char *wish, kw_gemm_shape shape)
{
    kw_gemm_choice none = {-1, KW_LAYER_DEFAULT, KW_MATCH_DEFAULT, 0.0f};
    kw_gemm *gemm = NULL;
    kw_status status;
    (void)setenv("KW_GEMM_VARIANT", wish, 1);
    status = kw_gemm_create(m->context, m->device, &gemm);
    (void)unsetenv("KW_GEMM_VARIANT");
    CHECK((status == KW_SUCCESS) == (gemm != NULL));
    if (status != KW_SUCCESS)
        return none;
    none = kw_gemm_select(kw_gemm_device(gemm), &shape);
    kw_gemm_destroy(gemm);
    return none;
}

int main(void)
{
    machine m = machine_open();
    kw_gemm *gemm = NULL;
    const kw_gemm_shape small = {5, 7, 3};
    const kw_saxpy_shape thousand = {1000};
    kw_gemm_choice c = choose(&m, "", cube);
    CHECK(c.variant == 1 && c.layer == KW_LAYER_EXACT);
#ifdef KW_NO_ENVIRONMENT
    c = choose(&m, "0", cube);
    CHECK(c.variant == 1 && c.layer == KW_LAYER_EXACT);
    c = choose(&m, "no such", cube);
    CHECK(c.variant == 1 && c.layer == KW_LAYER_EXACT);
#else
    c = choose(&m, "0", cube);
    CHECK(c.variant == 0 && c.layer == KW_LAYER_FORCED);
    c = choose(&m, kw_gemm_variant_name(2), cube);
    CHECK(c.variant == 2 && c.layer == KW_LAYER_FORCED);
    c = choose(&m, "3", small); /* made for one other shape */
    CHECK(c.variant == 1 && c.layer == KW_LAYER_DEFAULT);
    CHECK(choose(&m, "4", cube).variant == -1);
    CHECK(choose(&m, "-1", cube).variant == -1);
    CHECK(choose(&m, "1x", cube).variant == -1);
    CHECK(choose(&m, "gemm_tiled", cube).variant == -1);
#endif
    CHECK(choose(&m, "", small).layer == KW_LAYER_DEFAULT);
    /* The wish is this header's: another one that is given the same device does not follow it. */
    (void)setenv("KW_GEMM_VARIANT", "0", 1);
    CHECK(kw_gemm_create(m.context, m.device, &gemm) == KW_SUCCESS);
    CHECK(kw_saxpy_select(kw_gemm_device(gemm), &thousand).layer != KW_LAYER_FORCED);
    kw_gemm_destroy(gemm);
    machine_close(&m);
    return report("wish");
}
