/* What the providers share: finished replies that wait to be fetched, in order. */
#ifndef KERNWRIGHT_LLM_PROVIDER_INTERNAL_H
#define KERNWRIGHT_LLM_PROVIDER_INTERNAL_H

#include "llm/exchange.h"
#include "llm/provider.h"

extern const provider_ops provider_anthropic, provider_command, provider_folder, provider_none, provider_openai,
    provider_replay;

/* A reply without text that says why. Format as printf. */
llm_reply reply_failed(const char *key, llm_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
