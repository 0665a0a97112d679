/* Where a language model is asked over HTTP: addresses, keys, limits, prices. docs/providers.md has the file's form. */
#ifndef KERNWRIGHT_LLM_CONFIG_H
#define KERNWRIGHT_LLM_CONFIG_H

#include "base/error.h"
#include "base/json.h"
#include "llm/dialect.h"
#include "llm/http.h"
#include "llm/provider.h"

#include <stdbool.h>

typedef struct endpoint {
    const dialect *dialect;
    char *model;
    char *url;     /* the very address that is asked */
    char *key;     /* the secret; NULL: none. Nothing prints it */
    char *key_env; /* where it came from; NULL */
    http_auth auth;
    char **headers; /* "Name: value" from the file; NULL at the end */
    json *extra;
    char *max_tokens_field; /* NULL: found out */
    char *ca_file;
    http_version version;
    endpoint_price price;
    http_limits limits;
    bool stream, fold_system;
    int max_in_flight;
} endpoint;

/* `rest` is "MODEL", "MODEL@URL" or "MODEL@NAME" of an endpoint in the file. A URL that the file has too gets the
 * file's settings. KW_BAD_INPUT: no model, no such endpoint (suggests), a URL that cannot be used or holds a secret,
 * a fault in the file; KW_ENVIRONMENT: the key is not in the environment (names the variable). */
kw_code endpoint_open(const dialect *d, const char *rest, const provider_options *o, endpoint *out, kw_error *err);
void endpoint_clear(endpoint *e);

/* The address asked for a base URL as people write it: slashes at the end are dropped, "/v1" is added to a bare host
 * only, the path of the dialect unless it is there. The caller frees. */
char *endpoint_url(const char *base, const char *path);

/* What usage costs; NaN when a price or a count that matters is not known. */
double endpoint_cost(const endpoint_price *p, const llm_usage *u);

#endif
