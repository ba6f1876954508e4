/* actors/data/pid.c -- pids as text. */
#include <weft/error.h>
#include <weft/pid.h>

#include "slab.h"

#include <inttypes.h>
#include <stdio.h>

char *weft_pid_format(weft_pid pid, char *out)
{
    snprintf(out, WEFT_PID_TEXT, "%" PRIu32 ".%" PRIu32 ".%" PRIu32 "@%016" PRIx64, wf_id_worker(pid.actor),
             wf_id_slot(pid.actor), wf_id_generation(pid.actor), pid.node);
    return out;
}

/* Reads digits only: no sign and no blanks, which scanf would accept. */
static const char *read_number(const char *at, uint64_t max, unsigned base, uint64_t *out)
{
    const char *start = at;
    for (*out = 0;; at++) {
        unsigned digit = *at >= '0' && *at <= '9'   ? (unsigned)(*at - '0')
                         : *at >= 'a' && *at <= 'f' ? (unsigned)(*at - 'a') + 10
                                                    : 16;
        if (digit >= base) return at == start ? NULL : at;
        if (*out > (max - digit) / base) return NULL;
        *out = *out * base + digit;
    }
}

int weft_pid_parse(const char *text, weft_pid *out)
{
    uint64_t worker, slot, generation, node;
    if (text == NULL || out == NULL) return WEFT_EINVAL;
    const char *at = read_number(text, 0xFF, 10, &worker);
    if (at == NULL || *at != '.' || (at = read_number(at + 1, 0xFFFFFF, 10, &slot)) == NULL) return WEFT_EFORMAT;
    if (*at != '.' || (at = read_number(at + 1, UINT32_MAX, 10, &generation)) == NULL) return WEFT_EFORMAT;
    if (*at != '@' || (at = read_number(at + 1, UINT64_MAX, 16, &node)) == NULL || *at != 0) return WEFT_EFORMAT;
    *out = (weft_pid){node, generation << 32 | worker << 24 | slot};
    return WEFT_OK;
}
