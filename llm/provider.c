/* The table of providers. */
#include "llm/provider_internal.h"

#include "base/strb.h"

#include <math.h>
#include <stdio.h>

const provider_ops *const provider_table[] = {
    &provider_openai, &provider_anthropic, &provider_command, &provider_folder, &provider_replay, &provider_none, NULL};

llm_reply reply_failed(const char *key, llm_status status, const char *format, ...)
{
    llm_reply r = {.status = status, .usage = llm_usage_unknown(), .cost = NAN, .tries = 1};
    strb text = STRB_INIT;
    va_list args;
    snprintf(r.key, sizeof r.key, "%s", key);
    va_start(args, format);
    strb_vprintf(&text, format, args);
    va_end(args);
    r.detail = strb_take(&text);
    return r;
}
