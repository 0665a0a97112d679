/* Counts of a compiled program as JSON, and in words. */
#include "device/artefact.h"

#include <string.h>

typedef struct field {
    const char *name;
    size_t offset;
    const char *words; /* what so many are */
} field;

#define FIELD(name, words) \
    { \
#name, offsetof(artefact, name), words \
    }
static const field fields[] = {
    FIELD(instructions, "instructions"),
    FIELD(global_loads, "elements loaded from global memory"),
    FIELD(global_stores, "stored to it"),
    FIELD(vector_accesses, "vector accesses"),
    FIELD(shared_loads, "elements loaded from local memory"),
    FIELD(shared_stores, "stored to it"),
    FIELD(async_copies, "asynchronous copies"),
    FIELD(fma, "multiply-adds"),
    FIELD(mma, "matrix instructions"),
    FIELD(exponentials, "exponentials"),
    FIELD(special, "special functions"),
    FIELD(barriers, "barriers"),
    FIELD(shuffles, "shuffles"),
    FIELD(atomics, "atomics"),
    FIELD(shared_bytes, "bytes of local memory"),
    FIELD(kernels, "kernels"),
};
enum { FIELDS = sizeof fields / sizeof fields[0] };

static int64_t value_of(const artefact *a, const field *f)
{
    int64_t n;
    memcpy(&n, (const char *)a + f->offset, sizeof n);
    return n;
}

json *artefact_to_json(const artefact *a)
{
    json *j = json_new_object();
    for (size_t i = 0; i < FIELDS; i++)
        json_set_int(j, fields[i].name, value_of(a, &fields[i]));
    json_set_bool(j, "online", a->online);
    return j;
}

bool artefact_from_json(const json *j, artefact *out)
{
    memset(out, 0, sizeof *out);
    if (json_kind_of(j) != JSON_OBJECT)
        return false;
    for (size_t i = 0; i < FIELDS; i++) {
        int64_t n = 0;
        json_int(json_get(j, fields[i].name), &n);
        memcpy((char *)out + fields[i].offset, &n, sizeof n);
    }
    out->online = json_truth(json_get(j, "online"));
    out->known = true;
    return true;
}

void artefact_print(const artefact *a, strb *out)
{
    const char *between = "";
    for (size_t i = 0; i < FIELDS; i++) {
        if (value_of(a, &fields[i]) == 0)
            continue;
        strb_printf(out, "%s%lld %s", between, (long long)value_of(a, &fields[i]), fields[i].words);
        between = ", ";
    }
}
