/* Parts of a prompt that do not depend on candidates. Each gives text that the caller owns; NULL: nothing to say. */
#ifndef KERNWRIGHT_LLM_PROMPT_INTERNAL_H
#define KERNWRIGHT_LLM_PROMPT_INTERNAL_H

#include "llm/prompt.h"

char *prompt_task_text(const prompt_context *c);
char *prompt_device_text(const prompt_context *c);
/* The page of the format as far as it is about templates, its headings one level lower. */
char *prompt_format_text(const prompt_context *c);

#endif
