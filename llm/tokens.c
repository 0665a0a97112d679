#include "llm/tokens.h"

#include <math.h>

#define PRIOR_TOKENS 200.0 /* what the first guess weighs */
#define MARGIN 1.1

void tokens_learn(token_ratio *r, size_t bytes, int64_t tokens)
{
    if (tokens <= 0 || bytes == 0)
        return;
    r->bytes += (double)bytes;
    r->tokens += (double)tokens;
}

double tokens_bytes_each(const token_ratio *r)
{
    return (r->bytes + PRIOR_TOKENS * TOKENS_BYTES_EACH) / (r->tokens + PRIOR_TOKENS);
}

int64_t tokens_estimate(const token_ratio *r, size_t bytes)
{
    return (int64_t)ceil((double)bytes / tokens_bytes_each(r) * MARGIN);
}
