/* gemm through kw_gemm.h against three loops: every layer, offsets, events, both kinds of queue. With FORCED
 * defined, every variant on every shape. */
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#ifdef FORCED
static int forced = -1;
#define KW_GEMM_FORCE_VARIANT forced
#endif
#include "kw_gemm.h"
#include "support.h"

/* alpha A B + beta C by three loops; C is not read when beta is 0. */
static float *expected(const kw_gemm_shape *s, float alpha, const float *A, const float *B, float beta, const float *C)
{
    float *out = make_floats((size_t)(s->M * s->N));
    int64_t m, n, k;
    for (m = 0; m < s->M; m++)
        for (n = 0; n < s->N; n++) {
            double sum = 0;
            for (k = 0; k < s->K; k++)
                sum += (double)A[m * s->K + k] * (double)B[k * s->N + n];
            out[m * s->N + n] = (float)(alpha * sum + (beta == 0.0f ? 0.0 : (double)(beta * C[m * s->N + n])));
        }
    return out;
}

typedef struct problem {
    kw_gemm_shape shape;
    size_t na, nb, nc;
    float *A, *B, *C;
} problem;

static problem make_problem(kw_gemm_shape shape)
{
    problem p;
    p.shape = shape;
    p.na = (size_t)(shape.M * shape.K);
    p.nb = (size_t)(shape.K * shape.N);
    p.nc = (size_t)(shape.M * shape.N);
    p.A = make_data(p.na, 1);
    p.B = make_data(p.nb, 2);
    p.C = make_data(p.nc, 3);
    return p;
}

static void free_problem(problem *p)
{
    free(p->A);
    free(p->B);
    free(p->C);
}

static cl_mem make_workspace(const machine *m, kw_gemm *gemm, const kw_gemm_shape *shape)
{
    const kw_gemm_choice choice = kw_gemm_select(kw_gemm_device(gemm), shape);
    const size_t bytes = kw_gemm_workspace(&choice, shape);
    return bytes ? make_buffer(m, (bytes + 3) / 4, NULL) : NULL;
}

static void check_result(const machine *m, const problem *p, cl_mem C, size_t at, float alpha, float beta)
{
    float *want = expected(&p->shape, alpha, p->A, p->B, beta, p->C), *got = make_floats(p->nc);
    if (p->nc)
        read_buffer(m, C, at, p->nc, got);
    CHECK(memcmp(want, got, p->nc * sizeof *got) == 0);
    free(want);
    free(got);
}

static void run(const machine *m, cl_command_queue queue, kw_gemm *gemm, kw_gemm_shape shape, float alpha, float beta)
{
    problem p = make_problem(shape);
    cl_mem A, B, C, workspace = make_workspace(m, gemm, &shape);
    cl_event done = NULL;
    if (beta == 0.0f)
        fill(p.C, p.nc, (float)NAN);
    A = make_buffer(m, p.na, p.A);
    B = make_buffer(m, p.nb, p.B);
    C = make_buffer(m, p.nc, p.C);
    CHECK(kw_gemm_enqueue(gemm, queue, shape, alpha, beta, A, 0, B, 0, C, 0, workspace, 0, NULL, &done) == KW_SUCCESS);
    CHECK(done && clWaitForEvents(1, &done) == CL_SUCCESS);
    check_result(m, &p, C, 0, alpha, beta);
    if (done)
        clReleaseEvent(done);
    clReleaseMemObject(A);
    clReleaseMemObject(B);
    clReleaseMemObject(C);
    if (workspace)
        clReleaseMemObject(workspace);
    free_problem(&p);
}

static const kw_gemm_shape shapes[] = {{64, 64, 64}, {96, 80, 64}, {17, 33, 300}, {5, 7, 0},
                                       {1, 1, 1},    {7, 129, 33}, {40, 1, 8}};
enum { N_SHAPES = sizeof shapes / sizeof *shapes };

#ifdef FORCED

/* Each variant runs each shape that it fits; the layer says that it was forced. */
static void every_variant(const machine *m, kw_gemm *gemm)
{
    int i, ran = 0;
    for (forced = 0; forced < kw_gemm_variant_count(); forced++)
        for (i = 0; i < N_SHAPES; i++) {
            const kw_gemm_choice choice = kw_gemm_select(kw_gemm_device(gemm), &shapes[i]);
            CHECK(choice.variant >= 0);
            if (choice.layer != KW_LAYER_FORCED)
                continue;
            CHECK(choice.variant == forced);
            run(m, m->queue, gemm, shapes[i], 2.0f, 0.0f);
            run(m, m->queue, gemm, shapes[i], 1.0f, 3.0f);
            ran++;
        }
    CHECK(ran >= 2 * N_SHAPES);
    forced = -1;
    CHECK(kw_gemm_select(kw_gemm_device(gemm), &shapes[0]).layer == KW_LAYER_EXACT);
    forced = 1000;
    CHECK(kw_gemm_select(kw_gemm_device(gemm), &shapes[0]).layer == KW_LAYER_EXACT);
}

#else

static void layers(kw_gemm *gemm)
{
    const kw_device *device = kw_gemm_device(gemm);
    const kw_gemm_shape unseen = {7, 129, 33};
    int i;
    for (i = 0; i < 4; i++) {
        const kw_gemm_choice c = kw_gemm_select(device, &shapes[i]);
        CHECK(c.layer == KW_LAYER_EXACT && c.device_match == KW_MATCH_EXACT);
        CHECK(c.expected_regret == (i == 3 ? 1.03125f : 1.0f));
    }
    CHECK(strstr(kw_gemm_variant_name(kw_gemm_select(device, &shapes[2]).variant), "SPLITK=4") != NULL);
    CHECK(kw_gemm_select(device, &unseen).layer == KW_LAYER_DEFAULT);
    CHECK(kw_gemm_select(device, &unseen).device_match == KW_MATCH_EXACT);
    CHECK(strstr(kw_gemm_variant_name(kw_gemm_select(device, &unseen).variant), "gemm_tiled") != NULL);
}

/* A dim of 0: nothing is touched, but the event completes, behind what it waits for. */
static void empty(const machine *m, kw_gemm *gemm)
{
    const kw_gemm_shape none = {0, 5, 7};
    cl_event gate = clCreateUserEvent(m->context, NULL), done = NULL;
    CHECK(kw_gemm_enqueue(gemm, m->queue, none, 1, 0, NULL, 0, NULL, 0, NULL, 0, NULL, 0, NULL, NULL) == KW_SUCCESS);
    CHECK(kw_gemm_enqueue(gemm, m->queue, none, 1, 0, NULL, 0, NULL, 0, NULL, 0, NULL, 1, &gate, &done) == KW_SUCCESS);
    CHECK(done && !is_complete(done));
    clSetUserEventStatus(gate, CL_COMPLETE);
    CHECK(clWaitForEvents(1, &done) == CL_SUCCESS);
    clReleaseEvent(gate);
    clReleaseEvent(done);
}

/* All tensors in one buffer, at offsets, with a guard around each; once more in a sub-buffer of a larger one. */
static void offsets(const machine *m, kw_gemm *gemm, int nested)
{
    problem p = make_problem(shapes[2]);
    const size_t step = 16 * offset_alignment(m), room = 64 * step; /* bytes */
    const size_t at[3] = {step, 21 * step, 42 * step};
    cl_buffer_region region = {step, room};
    cl_mem whole, buffer, workspace = make_workspace(m, gemm, &p.shape);
    float *all = make_floats((room + 2 * step) / 4), *after = make_floats((room + 2 * step) / 4);
    const size_t base = nested ? step / 4 : 0, n = (room + 2 * step) / 4;
    size_t i, changed = 0;
    CHECK(p.na * 4 <= 20 * step && p.nb * 4 <= 20 * step && p.nc * 4 <= 20 * step);
    fill(all, n, 12345.0f);
    memcpy(all + base + at[0] / 4, p.A, p.na * 4);
    memcpy(all + base + at[1] / 4, p.B, p.nb * 4);
    memcpy(all + base + at[2] / 4, p.C, p.nc * 4);
    whole = make_buffer(m, n, all);
    buffer = nested ? clCreateSubBuffer(whole, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, NULL) : whole;
    CHECK(kw_gemm_enqueue(gemm, m->queue, p.shape, 1, 1, buffer, at[0], buffer, at[1], buffer, at[2], workspace, 0,
                          NULL, NULL) == KW_SUCCESS);
    CHECK(clFinish(m->queue) == CL_SUCCESS);
    check_result(m, &p, whole, base + at[2] / 4, 1, 1);
    read_buffer(m, whole, 0, n, after);
    for (i = 0; i < n; i++)
        if (i < base + at[2] / 4 || i >= base + at[2] / 4 + p.nc)
            changed += memcmp(&all[i], &after[i], sizeof(float)) != 0;
    CHECK(changed == 0);
    if (nested)
        clReleaseMemObject(buffer);
    clReleaseMemObject(whole);
    clReleaseMemObject(workspace);
    free(all);
    free(after);
    free_problem(&p);
}

/* A call waits for its events; a second call that waits for the first sees its result. */
static void events(const machine *m, cl_command_queue queue, kw_gemm *gemm)
{
    problem p = make_problem(shapes[2]);
    const kw_gemm_shape next = {p.shape.M, 3, p.shape.N};
    problem q = make_problem(next);
    cl_mem A = make_buffer(m, p.na, p.A), B = make_buffer(m, p.nb, p.B), C = make_buffer(m, p.nc, p.C);
    cl_mem E = make_buffer(m, q.nb, q.B), F = make_buffer(m, q.nc, q.C), workspace = make_workspace(m, gemm, &p.shape);
    cl_event gate = clCreateUserEvent(m->context, NULL), first = NULL, second = NULL;
    CHECK(kw_gemm_enqueue(gemm, queue, p.shape, 1, 0, A, 0, B, 0, C, 0, workspace, 1, &gate, &first) == KW_SUCCESS);
    CHECK(kw_gemm_enqueue(gemm, queue, next, 1, 1, C, 0, E, 0, F, 0, NULL, 1, &first, &second) == KW_SUCCESS);
    CHECK(!is_complete(first) && !is_complete(second));
    clSetUserEventStatus(gate, CL_COMPLETE);
    CHECK(clWaitForEvents(1, &second) == CL_SUCCESS);
    CHECK(is_complete(first));
    check_result(m, &p, C, 0, 1, 0);
    free(q.A);
    q.A = expected(&p.shape, 1, p.A, p.B, 0, p.C);
    check_result(m, &q, F, 0, 1, 1);
    clReleaseEvent(gate);
    clReleaseEvent(first);
    clReleaseEvent(second);
    clReleaseMemObject(A);
    clReleaseMemObject(B);
    clReleaseMemObject(C);
    clReleaseMemObject(E);
    clReleaseMemObject(F);
    clReleaseMemObject(workspace);
    free_problem(&p);
    free_problem(&q);
}

/* A second handle on the same context, used between the calls of the first and gone before it. */
static void two_handles(const machine *m)
{
    kw_gemm *a, *b;
    CHECK(kw_gemm_create(m->context, m->device, &a) == KW_SUCCESS);
    CHECK(kw_gemm_create(m->context, m->device, &b) == KW_SUCCESS);
    CHECK(kw_gemm_prepare(a, shapes, N_SHAPES) == KW_SUCCESS);
    run(m, m->queue, a, shapes[0], 1, 0);
    run(m, m->queue, b, shapes[0], 1, 0);
    kw_gemm_destroy(b);
    run(m, m->queue, a, shapes[0], 1, 0);
    kw_gemm_destroy(a);
}

#endif

int main(void)
{
    machine m = machine_open();
    kw_gemm *gemm = NULL;
    CHECK(kw_gemm_create(m.context, m.device, &gemm) == KW_SUCCESS);
#ifdef FORCED
    every_variant(&m, gemm);
#else
    int i;
    layers(gemm);
    for (i = 0; i < N_SHAPES; i++) {
        run(&m, m.queue, gemm, shapes[i], 1.0f, 0.0f);
        run(&m, m.queue, gemm, shapes[i], 0.5f, -2.0f);
        if (m.loose)
            run(&m, m.loose, gemm, shapes[i], 2.0f, 1.0f);
    }
    empty(&m, gemm);
    offsets(&m, gemm, 0);
    offsets(&m, gemm, 1);
    events(&m, m.queue, gemm);
    if (m.loose)
        events(&m, m.loose, gemm);
    two_handles(&m);
#endif
    CHECK(strcmp(kw_gemm_build_log(gemm), "") == 0);
    kw_gemm_destroy(gemm);
    kw_gemm_destroy(NULL);
    machine_close(&m);
    return report("gemm");
}
