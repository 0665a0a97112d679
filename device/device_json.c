/* What is known of a device as JSON: in the hello of a worker, and listed. */
#include "device/device.h"

#include <stdio.h>
#include <string.h>

json *device_info_to_json(const device_info *d)
{
    json *j = json_new_object();
    json_set_string(j, "spec", d->spec);
    json_set_string(j, "key", d->key);
    json_set_string(j, "name", d->name);
    json_set_string(j, "platform", d->platform);
    json_set_string(j, "driver", d->driver);
    json_set_string(j, "api", d->api);
    json_set_string(j, "pci", d->pci);
    json_set_string(j, "extensions", d->extensions);
    json_set_int(j, "timer_resolution_ns", d->timer_resolution_ns);
    json_set_bool(j, "builds_at_launch", d->builds_at_launch);
    json_set_bool(j, "simulated", d->simulated);
    json_set(j, "limits", limits_to_json(&d->limits));
    return j;
}

static kw_code read_text(const json *j, const char *key, char *out, size_t size, kw_error *err)
{
    const char *text;
    kw_code code = json_opt_string(j, key, "device", "", &text, err);
    if (code == KW_OK)
        snprintf(out, size, "%s", text);
    return code;
}

kw_code device_info_from_json(const json *j, device_info *out, kw_error *err)
{
    const char *spec;
    memset(out, 0, sizeof *out);
    if (json_get_string(j, "spec", "device", &spec, err) != KW_OK ||
        read_text(j, "spec", out->spec, sizeof out->spec, err) != KW_OK ||
        read_text(j, "key", out->key, sizeof out->key, err) != KW_OK ||
        read_text(j, "name", out->name, sizeof out->name, err) != KW_OK ||
        read_text(j, "platform", out->platform, sizeof out->platform, err) != KW_OK ||
        read_text(j, "driver", out->driver, sizeof out->driver, err) != KW_OK ||
        read_text(j, "api", out->api, sizeof out->api, err) != KW_OK ||
        read_text(j, "pci", out->pci, sizeof out->pci, err) != KW_OK ||
        read_text(j, "extensions", out->extensions, sizeof out->extensions, err) != KW_OK ||
        json_opt_int(j, "timer_resolution_ns", "device", 0, &out->timer_resolution_ns, err) != KW_OK ||
        json_opt_bool(j, "builds_at_launch", "device", false, &out->builds_at_launch, err) != KW_OK ||
        json_opt_bool(j, "simulated", "device", false, &out->simulated, err) != KW_OK)
        return KW_BAD_INPUT;
    return limits_from_json(json_get(j, "limits"), &out->limits, err);
}
