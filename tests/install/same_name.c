/* A function of an application that happens to have the name of one in the library: the library goes on using its
 * own. */
#include <stdbool.h>

bool locate_is_name(const char *text);

bool locate_is_name(const char *text)
{
    (void)text;
    return false;
}
