/* JSON text of any kind: what is accepted must print to text that reads back as the same value, and print the same. */
#include "base/json.h"
#include "base/strb.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    kw_error err = {0};
    json *j = json_parse((const char *)data, size, "fuzz", 1, 1, &err);
    require(!j == (err.code != KW_OK));
    if (!j)
        return 0;
    strb once = STRB_INIT, twice = STRB_INIT;
    json_print(j, &once);
    json *back = json_parse(strb_text(&once), once.length, "fuzz", 1, 1, &err);
    require(back && json_equal(j, back));
    json_print_pretty(back, &twice);
    json *again = json_parse(strb_text(&twice), twice.length, "fuzz", 1, 1, &err);
    require(again && json_equal(j, again));
    strb_reset(&twice);
    json_print(again, &twice);
    require(once.length == twice.length);
    strb_clear(&once);
    strb_clear(&twice);
    json_free(again);
    json_free(back);
    json_free(j);
    return 0;
}
