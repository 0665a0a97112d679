/* An application of the library, as kernwright.pc lets one build it: how many configurations has the template of
 * argv[1], on a device with 48 KiB of local memory, for the task of argv[2]? */
#include "base/error.h"
#include "codegen/task.h"
#include "codegen/template.h"
#include "tuner/space.h"

#include <inttypes.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    kw_error err = {0};
    task *t = NULL;
    template *p = NULL;
    space *s = NULL;
    task_types types;
    const device_limits limits = {
        .max_work_group_size = 256, .max_work_item_size = {256, 256, 256}, .local_mem_bytes = 48 << 10};
    if (argc != 3)
        return KW_BAD_INPUT;
    if (task_load(argv[2], &t, &err) != KW_OK || template_load(argv[1], t, &p, &err) != KW_OK ||
        task_types_parse(t, "", &types, &err) != KW_OK ||
        space_of_template(p, &types, &limits, NULL, &s, &err) != KW_OK) {
        fprintf(stderr, "%s\n", err.message);
        return err.code;
    }
    printf("%" PRIu64 "\n", space_count(s));
    space_free(s);
    template_free(p);
    task_free(t);
    return 0;
}
