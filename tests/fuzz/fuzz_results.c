/* Lines of results text: what is accepted goes through a store and prints to a line that does the same again. */
#include "tuner/results_groups.h"
#include "tuner/results_text.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

static bool print_row(const measurement *m, void *cookie)
{
    results_row_print(m, true, cookie);
    return true;
}

/* Reads the line, adds it to an empty store, prints what the store then holds. */
static bool through_store(const char *line, size_t length, strb *out)
{
    static const store_query any;
    kw_error err = {0};
    json *j = json_parse(line, length, "line", 1, 1, &err);
    measurement m;
    strb text = STRB_INIT;
    store_variant_row v;
    if (results_variant_read(json_get(j, "variant"), "line:1", &text, &v, &err) == KW_OK)
        results_variant_print(&v, out);
    strb_clear(&text);
    bool read = results_row_read(json_get(j, "measurement"), "line:1", &m, &err) == KW_OK;
    require(read || (err.code == KW_BAD_INPUT && err.message[0]));
    store *s = NULL;
    if (read) {
        bool added;
        strb_reset(out);
        require(store_open(":memory:", false, &s, &err) == KW_OK);
        require(store_insert(s, &m, true, &added, &err) == KW_OK && added);
        require(store_insert(s, &m, true, &added, &err) == KW_OK && !added);
        require(store_each(s, &any, print_row, out, &err) == KW_OK);
    }
    store_close(s);
    measurement_clear(&m);
    json_free(j);
    return out->length > 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    strb once = STRB_INIT, twice = STRB_INIT;
    if (through_store((const char *)data, size, &once)) {
        require(through_store(once.data, once.length, &twice));
        require(once.length == twice.length && memcmp(once.data, twice.data, once.length) == 0);
    }
    strb_clear(&once);
    strb_clear(&twice);
    return 0;
}
