#include "cli/cli.h"

#include <stdio.h>

static void put_line(strb *text)
{
    puts(strb_text(text));
    strb_clear(text);
}

void cli_print_json(const json *j)
{
    strb text = STRB_INIT;
    json_print(j, &text);
    put_line(&text);
}

void cli_print_json_pretty(const json *j)
{
    strb text = STRB_INIT;
    json_print_pretty(j, &text);
    put_line(&text);
}
