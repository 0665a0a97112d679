/* The device key, "vendor/arch/name/units", from plain data: see docs/devices.md.
 *
 * This text is put into every emitted header as it stands, so that a header computes on its user's machine the very
 * key that the tuner stored. Hence: C99 and C++11, self-contained, nothing that depends on the locale. */
#ifndef KW_KEY_BODY_1
#define KW_KEY_BODY_1

#include <stddef.h>
#include <string.h>

#define KW_KEY_SIZE 160   /* room for a key with its NUL */
#define KW_KEY_SEGMENT 48 /* room for one segment with its NUL; longer ones are cut */

/* What drivers answer. Any text may be NULL, any number 0, when it is not offered. */
typedef struct kw_key_input {
    unsigned vendor_id;
    const char *platform_name;  /* CL_PLATFORM_NAME */
    const char *vendor_name;    /* CL_DEVICE_VENDOR */
    const char *device_name;    /* CL_DEVICE_NAME */
    const char *device_version; /* CL_DEVICE_VERSION: Adreno's model, PoCL's target */
    const char *board_name;     /* AMD's product name: the device name is only "gfx942:..." */
    unsigned compute_units;
    unsigned cc_major, cc_minor; /* NVIDIA's compute capability */
    unsigned intel_ip_version;   /* major << 22 | minor << 14 | revision */
} kw_key_input;

static inline char kw_key_lower(char c)
{
    return (c >= 'A' && c <= 'Z') ? (char)(c - 'A' + 'a') : c;
}

static inline int kw_key_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static inline int kw_key_is_alnum(char c)
{
    return kw_key_is_digit(c) || (kw_key_lower(c) >= 'a' && kw_key_lower(c) <= 'z');
}

/* The text after `prefix` (lower case) if `text` starts with it, whatever its case; NULL otherwise. */
static inline const char *kw_key_after(const char *text, const char *prefix)
{
    for (; *prefix; text++, prefix++)
        if (kw_key_lower(*text) != *prefix)
            return NULL;
    return text;
}

static inline const char *kw_key_find(const char *text, const char *word)
{
    for (; *text; text++)
        if (kw_key_after(text, word))
            return text;
    return NULL;
}

/* Appends one character to a NUL-terminated text of `size` bytes; what does not fit is dropped. */
static inline void kw_key_put(char *out, size_t size, char c)
{
    size_t length = strlen(out);
    if (length + 1 < size) {
        out[length] = c;
        out[length + 1] = '\0';
    }
}

static inline void kw_key_add(char *out, size_t size, const char *text)
{
    for (; *text; text++)
        kw_key_put(out, size, *text);
}

static inline void kw_key_add_number(char *out, size_t size, unsigned n)
{
    char digits[16];
    size_t i = sizeof digits - 1;
    digits[i] = '\0';
    do {
        digits[--i] = (char)('0' + n % 10u);
        n /= 10u;
    } while (n);
    kw_key_add(out, size, digits + i);
}

/* "2.90ghz", "2100mhz": a clock is a setting, not an identity. */
static inline int kw_key_is_clock(const char *word)
{
    if (!kw_key_is_digit(*word))
        return 0;
    while (kw_key_is_digit(*word) || *word == '.')
        word++;
    return strcmp(word, "ghz") == 0 || strcmp(word, "mhz") == 0;
}

/* "r0p1": a revision of the silicon, as ARM appends it. */
static inline int kw_key_is_revision(const char *word)
{
    if (*word++ != 'r' || !kw_key_is_digit(*word))
        return 0;
    while (kw_key_is_digit(*word))
        word++;
    if (*word++ != 'p' || !kw_key_is_digit(*word))
        return 0;
    while (kw_key_is_digit(*word))
        word++;
    return *word == '\0';
}

/* "64-core": compute units say it better, and some drivers leave it out. */
static inline int kw_key_is_core_count(const char *word)
{
    if (!kw_key_is_digit(*word))
        return 0;
    while (kw_key_is_digit(*word))
        word++;
    return strcmp(word, "-core") == 0;
}

/* Words that one driver adds and another leaves out for the same silicon. */
static inline int kw_key_is_noise(const char *word)
{
    return *word == '\0' || strcmp(word, "cpu") == 0 || strcmp(word, "processor") == 0 || strcmp(word, "mesa") == 0 ||
           kw_key_is_clock(word) || kw_key_is_core_count(word) || kw_key_is_revision(word);
}

/* Reads the next word of a product name, lower case, with '-' for whatever is not a letter, a digit, '.', '_' or '+'.
 * Words end at blanks and non-ASCII bytes; "(R)", "(TM)" and everything else in parentheses is skipped, since drivers
 * put versions there. Returns where to go on, NULL at the end. */
static inline const char *kw_key_word(const char *p, char *word, size_t size)
{
    int depth = 0;
    size_t length;
    word[0] = '\0';
    while (*p == ' ' || *p == '\t')
        p++;
    if (!*p)
        return NULL;
    for (; *p && (depth > 0 || (*p != ' ' && *p != '\t' && (unsigned char)*p < 128)); p++) {
        if (*p == '(') {
            depth++;
        } else if (*p == ')') {
            depth -= depth > 0;
        } else if (depth == 0) {
            int kept = kw_key_is_alnum(*p) || *p == '.' || *p == '_' || *p == '+';
            length = strlen(word);
            if (kept)
                kw_key_put(word, size, kw_key_lower(*p));
            else if (length > 0 && word[length - 1] != '-')
                kw_key_put(word, size, '-');
        }
    }
    while ((unsigned char)*p >= 128)
        p++;
    length = strlen(word);
    if (length > 0 && word[length - 1] == '-')
        word[length - 1] = '\0';
    return p;
}

/* A product name as one segment of a key: words joined by '-', without noise, without the vendor's name in front. */
static inline void kw_key_clean(const char *name, const char *vendor, char *out, size_t size)
{
    char word[KW_KEY_SEGMENT];
    int first = 1;
    out[0] = '\0';
    while (name && (name = kw_key_word(name, word, sizeof word)) != NULL) {
        if (kw_key_is_noise(word))
            continue;
        if (first && strcmp(word, vendor) == 0) {
            first = 0;
            continue;
        }
        first = 0;
        if (out[0])
            kw_key_put(out, size, '-');
        kw_key_add(out, size, word);
    }
    if (!out[0])
        kw_key_add(out, size, vendor);
}

/* The family that a cleaned name belongs to: pieces that start with a digit go, others are cut at their first digit:
 * "radeon-rx-6700-xt" gives "radeon-rx-xt", "mali-g78" gives "mali-g", "m2-max" gives "m-max". */
static inline void kw_key_family(const char *name, char *out, size_t size)
{
    const char *p = name;
    out[0] = '\0';
    while (*p) {
        if (!kw_key_is_digit(*p) && *p != '-') {
            if (out[0])
                kw_key_put(out, size, '-');
            for (; *p && *p != '-' && !kw_key_is_digit(*p); p++)
                kw_key_put(out, size, *p);
        }
        while (*p && *p != '-')
            p++;
        while (*p == '-')
            p++;
    }
    if (!out[0])
        kw_key_add(out, size, name);
}

static inline const char *kw_key_vendor_of_id(unsigned id)
{
    static const struct {
        unsigned id;
        const char *name;
    } table[] = {{0x10deu, "nvidia"},       {0x1002u, "amd"},         {0x1022u, "amd"},     {0x8086u, "intel"},
                 {0x106bu, "apple"},        {0x1027f00u, "apple"},    {0x13b5u, "arm"},     {0x5143u, "qualcomm"},
                 {0x14e4u, "broadcom"},     {0x1010u, "imagination"}, {0x144du, "samsung"}, {0x19e5u, "huawei"},
                 {0x1ed5u, "moorethreads"}, {0x10005u, "mesa"}};
    size_t i;
    for (i = 0; i < sizeof table / sizeof table[0]; i++)
        if (table[i].id == id)
            return table[i].name;
    return NULL;
}

/* Some drivers fill the vendor id with something of their own; then the vendor's name decides. */
static inline const char *kw_key_vendor_of_name(const char *vendor_name)
{
    static const char *const table[][2] = {
        {"nvidia", "nvidia"},     {"advanced micro devices", "amd"}, {"amd", "amd"},     {"authenticamd", "amd"},
        {"intel", "intel"},       {"genuineintel", "intel"},         {"apple", "apple"}, {"arm", "arm"},
        {"qualcomm", "qualcomm"}, {"imagination", "imagination"},    {"mesa", "mesa"}};
    size_t i;
    for (i = 0; i < sizeof table / sizeof table[0]; i++)
        if (kw_key_after(vendor_name, table[i][0]))
            return table[i][1];
    return NULL;
}

/* PoCL and Oclgrind are vendors of their own: their code generator decides what is fast, not the maker of the host. */
static inline void kw_key_vendor(const kw_key_input *in, char *out, size_t size)
{
    const char *platform = in->platform_name ? in->platform_name : "";
    const char *vendor_name = in->vendor_name ? in->vendor_name : "";
    const char *known = NULL;
    out[0] = '\0';
    if (kw_key_after(platform, "portable computing language"))
        known = "pocl";
    else if (kw_key_after(platform, "oclgrind"))
        known = "oclgrind";
    if (!known)
        known = kw_key_vendor_of_id(in->vendor_id);
    if (!known)
        known = kw_key_vendor_of_name(vendor_name);
    if (known)
        kw_key_add(out, size, known);
    else if (kw_key_word(vendor_name, out, size) == NULL || !out[0])
        kw_key_add(out, size, "unknown");
}

/* PoCL's name of a CPU driver, as device names and targets start with it. NULL if `text` does not. */
static inline const char *kw_key_pocl_driver(const char *text)
{
    static const char *const drivers[] = {"cpu-minimal", "cpu-tbb", "cpu", "pthread", "basic"};
    size_t i;
    for (i = 0; i < sizeof drivers / sizeof drivers[0]; i++) {
        const char *p = kw_key_after(text, drivers[i]);
        if (p && (*p == '-' || *p == '\0'))
            return *p ? p + 1 : p;
    }
    return NULL;
}

/* LLVM's name of the CPU that PoCL compiles for, from a device version "... HSTR: pthread-x86_64-pc-linux-gnu-znver3":
 * what follows the target triple, whose fourth part (the ABI) is not always there. "" if it has another form. */
static inline void kw_key_pocl_target(const char *version, char *out, size_t size)
{
    static const char *const abis[] = {"gnu", "musl", "android", "eabi", "msvc"};
    const char *p = kw_key_find(version, "hstr: ");
    size_t i;
    int part;
    out[0] = '\0';
    p = p ? kw_key_pocl_driver(p + strlen("hstr: ")) : NULL;
    for (part = 0; p && part < 3; part++) {
        p = strchr(p, '-');
        p = p ? p + 1 : NULL;
    }
    for (i = 0; p && i < sizeof abis / sizeof abis[0]; i++)
        if (kw_key_after(p, abis[i])) {
            p = strchr(p, '-');
            p = p ? p + 1 : NULL;
        }
    for (; p && (kw_key_is_alnum(*p) || *p == '-' || *p == '_' || *p == '.'); p++)
        kw_key_put(out, size, kw_key_lower(*p));
}

/* The same from a device name "skylake-avx512-AMD EPYC", without its prefix: LLVM's names have neither capitals nor
 * blanks. Returns where the model starts. */
static inline const char *kw_key_pocl_name_target(const char *p, char *out, size_t size)
{
    out[0] = '\0';
    while (*p) {
        const char *end;
        int is_model = 0;
        for (end = p; *end && *end != '-'; end++)
            is_model = is_model || *end == ' ' || kw_key_lower(*end) != *end;
        if (is_model)
            break;
        if (out[0])
            kw_key_put(out, size, '-');
        for (; p < end; p++)
            kw_key_put(out, size, *p);
        while (*p == '-')
            p++;
    }
    return p;
}

/* PoCL names a CPU "pthread-LLVMCPU-MODEL", "cpu-LLVMCPU-MODEL", "pthread-0x0a1" or just "cpu", by version and
 * architecture. 0 if the name has another form. */
static inline int kw_key_pocl_cpu(const kw_key_input *in, char *arch, char *model, size_t size)
{
    const char *p = kw_key_pocl_driver(in->device_name ? in->device_name : "");
    if (!p)
        return 0;
    kw_key_pocl_target(in->device_version ? in->device_version : "", arch, size);
    if (arch[0]) {
        const char *rest = kw_key_after(p, arch);
        if (rest && (*rest == '-' || *rest == '\0'))
            p = rest;
    } else {
        p = kw_key_pocl_name_target(p, arch, size);
    }
    if (!arch[0])
        kw_key_add(arch, size, "generic");
    while (*p == '-')
        p++;
    kw_key_clean(p, arch, model, size);
    return 1;
}

/* The product's name, as raw text. */
static inline const char *kw_key_product(const kw_key_input *in, const char *vendor)
{
    const char *name = in->device_name ? in->device_name : "";
    const char *model;
    if (strcmp(vendor, "amd") == 0 && in->board_name && in->board_name[0])
        return in->board_name;
    if (strcmp(vendor, "qualcomm") == 0 && in->device_version) {
        model = kw_key_find(in->device_version, "adreno");
        if (model)
            return model;
    }
    return name;
}

/* The architecture where the driver names one; "" otherwise. */
static inline void kw_key_arch(const kw_key_input *in, const char *vendor, char *out, size_t size)
{
    const char *name = in->device_name ? in->device_name : "";
    out[0] = '\0';
    if (strcmp(vendor, "nvidia") == 0 && in->cc_major) {
        kw_key_add(out, size, "sm_");
        kw_key_add_number(out, size, in->cc_major);
        kw_key_add_number(out, size, in->cc_minor);
    } else if (strcmp(vendor, "intel") == 0 && in->intel_ip_version) {
        kw_key_add(out, size, "ip_");
        kw_key_add_number(out, size, in->intel_ip_version >> 22);
        kw_key_put(out, size, '.');
        kw_key_add_number(out, size, (in->intel_ip_version >> 14) & 0xffu);
    } else if (kw_key_after(name, "gfx")) {
        for (; kw_key_is_alnum(*name); name++)
            kw_key_put(out, size, kw_key_lower(*name));
    }
}

/* Writes "nvidia/sm_90/h200/132". Always ends the text; what does not fit into `size` is cut. */
static inline void kw_key_make(const kw_key_input *in, char *out, size_t size)
{
    char vendor[KW_KEY_SEGMENT], arch[KW_KEY_SEGMENT], name[KW_KEY_SEGMENT];
    if (size == 0)
        return;
    out[0] = '\0';
    kw_key_vendor(in, vendor, sizeof vendor);
    if (strcmp(vendor, "pocl") != 0 || !kw_key_pocl_cpu(in, arch, name, sizeof name)) {
        kw_key_clean(kw_key_product(in, vendor), vendor, name, sizeof name);
        kw_key_arch(in, vendor, arch, sizeof arch);
        if (arch[0] && kw_key_after(name, "gfx"))
            memcpy(name, arch, sizeof name);
        if (!arch[0])
            kw_key_family(name, arch, sizeof arch);
    }
    kw_key_add(out, size, vendor);
    kw_key_put(out, size, '/');
    kw_key_add(out, size, arch);
    kw_key_put(out, size, '/');
    kw_key_add(out, size, name);
    kw_key_put(out, size, '/');
    kw_key_add_number(out, size, in->compute_units);
}

#endif /* KW_KEY_BODY_1 */
