/* Inside of the variant module. */
#ifndef KERNWRIGHT_CODEGEN_VARIANT_JSON_H
#define KERNWRIGHT_CODEGEN_VARIANT_JSON_H

#include "codegen/variant.h"

/* The parts that decide what runs beside the text. */
json *variant_launches_to_json(const variant *v);
json *variant_temps_to_json(const variant *v);
/* Sets v->hash from everything else; `stripped` is what source_strip makes of v->source. */
void variant_set_hash(variant *v, const char *stripped);

#endif
