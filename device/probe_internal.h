/* Inside of the roofline probe; for probe*.c only. */
#ifndef KERNWRIGHT_DEVICE_PROBE_INTERNAL_H
#define KERNWRIGHT_DEVICE_PROBE_INTERNAL_H

#include "device/probe.h"

/* ---- probe_kernels.c: OpenCL C 1.2, with directives for the scripted device ---- */

extern const char probe_memory_source[];
/* Takes -DREAL (type of an element), -DVEC (a vector of it); -DPLAIN where only the first of the kernels will do. */
extern const char probe_compute_source[];
/* Takes -DVEC (float4, ...), -DGROUP (work-items of a group), -DSTRIDE (between the vectors that a work-item reads in
 * one step), -DMASK (a power of two less 1: where the first of them lies), not below GROUP - 1. */
extern const char probe_local_source[];

enum {
    PROBE_WORD = 16,         /* bytes that a work-item of the kernels for memory moves at once */
    PROBE_READ_WORDS = 8,    /* that a work-item of probe_read reads */
    PROBE_CACHE_WORDS = 4,   /* that a work-item reads (and writes) per step within the cache */
    PROBE_CHUNK_WORD = 64,   /* bytes of a word of the kernels that go through a chunk each */
    PROBE_CHUNK_SHIFTS = 4,  /* words behind the last chunk that may be read */
    PROBE_FMA_STEP = 2 * 64, /* operations per step and element of a vector */
    PROBE_LOCAL_VECTORS = 8  /* vectors that a work-item of probe_local reads per step */
};

/* ---- probe.c: programs, buffers, timing ---- */

typedef enum probe_type { PROBE_F32, PROBE_F64, PROBE_F16, PROBE_TYPES } probe_type;

/* A program for vectors of one width. */
typedef struct probe_program {
    device_program *program; /* NULL: it does not build */
    size_t vector_bytes, elements, group;
    size_t n_kernels; /* of probe_fma_kernels */
    double factor;    /* the argument of theirs */
} probe_program;

enum { PROBE_WIDTHS = 2, PROBE_MAX_LAUNCHES = 64, PROBE_MAX_READINGS = 4096, PROBE_FMA_KERNELS = 3 };
extern const char *const probe_fma_kernels[PROBE_FMA_KERNELS];

struct device_probe {
    device *d;
    void (*alive)(void *cookie);
    void *cookie;
    device_program *memory;
    probe_program compute[PROBE_TYPES][PROBE_WIDTHS], local[PROBE_WIDTHS];
    device_buffer *from, *to;            /* of the same size, filled with small positive numbers */
    size_t bytes;                        /* of each, without what lies behind for the shifted chunks */
    double readings[PROBE_MAX_READINGS]; /* of the device's timer */
    size_t n_readings;
    strb notes;
    /* of probe_ruler_of */
    device_arg ruler_args[3];
    device_launch ruler_launches[PROBE_MAX_LAUNCHES];
};

device_arg probe_int(int32_t x);
device_arg probe_float(float x);
device_arg probe_buffer(device_buffer *b);

/* After a failure: the error if the device is lost, else KW_OK and a note that `what` could not be measured. */
kw_code probe_give_up(device_probe *p, const char *what, const kw_error *why, kw_error *err);
/* The shortest of `n` runs of a launch after one more that is discarded; *ns is 0 where the timer gave no reading. */
kw_code probe_fastest(device_probe *p, device_program *program, const device_launch *l, size_t n, double *ns,
                      kw_error *err);
/* Sets the argument `steps` of the launch so that a run takes about `target_ns`, at least half of it unless the number
 * of steps is at its end. *ns is what the last trial took. */
kw_code probe_calibrate(device_probe *p, device_program *program, device_launch *l, device_arg *steps, double target_ns,
                        double *ns, kw_error *err);
/* The launch of a kernel of probe_fma_kernels that puts `groups_per_unit` groups on each compute unit; args has 3, the
 * last one is the number of steps. */
device_launch probe_fma_launch(device_probe *p, const probe_program *c, size_t kernel, size_t groups_per_unit,
                               device_arg *args);

#endif
