/* Compiled programs beside the kernel text. */
#include "base/hash.h"
#include "codegen/header_internal.h"

#include <inttypes.h>
#include <string.h>

#define PIECE 4000 /* KW_BINARY_PIECE of codegen/runtime/launch.inc */
#define ROW 64     /* bytes of a line */

kw_code header_check_binaries(const header_model *m, kw_error *err)
{
    for (size_t i = 0; i < m->n_binaries; i++) {
        const header_binary *b = &m->binaries[i];
        if (b->variant < 0 || b->variant >= (int)m->n_variants || !b->identity[0] || b->size == 0)
            return kw_error_set(err, KW_BAD_INPUT, "binary %zu: of variant %d, %zu bytes", i, b->variant, b->size);
        for (size_t k = 0; k < i; k++)
            if (m->binaries[k].variant == b->variant && strcmp(m->binaries[k].identity, b->identity) == 0)
                return kw_error_set(err, KW_BAD_INPUT, "variant %d has two binaries for %s", b->variant, b->identity);
    }
    return KW_OK;
}

size_t header_binary_bytes(const header_model *m)
{
    size_t bytes = 0;
    for (size_t i = 0; i < m->n_binaries; i++)
        bytes += m->binaries[i].size;
    return bytes;
}

/* FNV-1a, as kw_hash_bytes of the header. */
static uint64_t check_of(const header_binary *b)
{
    uint64_t hash = UINT64_C(14695981039346656037);
    for (size_t i = 0; i < b->size; i++)
        hash = (hash ^ b->bytes[i]) * UINT64_C(1099511628211);
    return hash;
}

static size_t n_pieces(const header_binary *b)
{
    return (b->size + PIECE - 1) / PIECE;
}

/* Digits may follow an escape, so all three digits of it are written. */
static void put_row(strb *out, const unsigned char *bytes, size_t n)
{
    strb_add(out, "    \"");
    for (size_t i = 0; i < n; i++) {
        const unsigned char c = bytes[i];
        if (c < 32 || c > 126 || c == '"' || c == '\\' || c == '?')
            strb_printf(out, "\\%03o", c);
        else
            strb_add_char(out, (char)c);
    }
    strb_add(out, "\"\n");
}

static void put_piece(strb *out, const unsigned char *bytes, size_t n)
{
    for (size_t at = 0; at < n; at += ROW)
        put_row(out, bytes + at, n - at < ROW ? n - at : ROW);
    strb_add(out, "    ,\n");
}

static void put_pieces(const header_model *m, strb *out)
{
    strb_add(out, "{\n");
    for (size_t i = 0; i < m->n_binaries; i++) {
        const header_binary *b = &m->binaries[i];
        for (size_t at = 0; at < b->size; at += PIECE)
            put_piece(out, b->bytes + at, b->size - at < PIECE ? b->size - at : PIECE);
    }
    strb_add(out, "};\n");
}

/* In the file of the kernel text, under a name with a hash of the bytes. */
static void put_split_pieces(writer *w)
{
    strb pieces = STRB_INIT, declaration = STRB_INIT;
    static const char begin[] = "#ifdef __cplusplus\nextern \"C\" {\n#endif\n",
                      end[] = "#ifdef __cplusplus\n}\n#endif\n";
    put_pieces(w->m, &pieces);
    const uint64_t id = hash_u64(pieces.data, pieces.length, 0);
    header_put_f(w, &declaration, "extern const char *const @_binary_%016" PRIx64 "[];\n", id);
    strb_printf(&w->out, "%s%s%s", begin, strb_text(&declaration), end);
    header_put_f(w, &w->out, "static const char *const *const @_binary_pieces = @_binary_%016" PRIx64 ";\n", id);
    strb_printf(w->sources, "#ifndef KW_NO_BINARIES\n%s%s\n", begin, strb_text(&declaration));
    header_put_f(w, w->sources, "const char *const @_binary_%016" PRIx64 "[] = ", id);
    strb_add_n(w->sources, pieces.data, pieces.length);
    strb_printf(w->sources, "%s#endif\n", end);
    strb_clear(&pieces);
    strb_clear(&declaration);
}

void header_put_binaries(writer *w)
{
    const header_model *m = w->m;
    strb *out = &w->out;
    size_t first = 0;
    if (m->n_binaries == 0)
        return;
    strb_add(out, "/* Compiled programs, for the devices and drivers that made them. */\n#ifndef KW_NO_BINARIES\n");
    if (w->sources) {
        put_split_pieces(w);
    } else {
        header_put(w, out, "static const char *const @_binary_pieces[] = ");
        put_pieces(m, out);
    }
    header_put(w, out, "static const kw_binary @_binaries[] = {\n");
    for (size_t i = 0; i < m->n_binaries; i++) {
        const header_binary *b = &m->binaries[i];
        strb_printf(out, "    {%d, ", b->variant);
        header_put_literal(out, b->identity, strlen(b->identity), "    ");
        strb_printf(out, ", %zu, %zu, 0x%016" PRIx64 "u},\n", first, b->size, check_of(b));
        first += n_pieces(b);
    }
    strb_add(out, "};\n#endif\n\n");
}
