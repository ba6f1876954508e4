/* runtime/platform/limit.c -- see limit.h. */
#include "base.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint64_t wf_limits_seed;
static uint64_t share; /* of 256: the share of the limits that differ from their values with this seed */
static const char *wanted;
static bool shown;
static const struct wf_limit *uses;

static uint64_t mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

void wf_limits_draw(uint64_t seed, bool show)
{
    static const uint8_t shares[] = {16, 64, 128, 240};
    wf_limits_seed = seed == 0 ? 0 : mix(seed ^ UINT64_C(0x6C696D697473)) | 1;
    share = shares[wf_limits_seed >> 8 & 3];
    wanted = getenv("WEFT_LIMITS");
    shown = show;
    uses = NULL;
}

static bool is_wanted(const char *name)
{
    char part[64];
    for (const char *at = wanted; at != NULL && *at != '\0'; at += strcspn(at, ","), at += *at == ',') {
        snprintf(part, sizeof part, "%.*s", (int)strcspn(at, ","), at);
        if (strstr(name, part) != NULL) return true;
    }
    return wanted == NULL;
}

/* Returns the least allowed value, the next one, a tenth of `value`, or any value between; small orders of magnitude
 * come as often as large ones. */
static int64_t draw(uint64_t bits, int64_t value, int64_t least)
{
    int64_t span = value - least, drawn;
    switch (bits & 3) {
    case 0: return least;
    case 1: drawn = least + 1; break;
    case 2: drawn = value / 10; break;
    default: drawn = least + (int64_t)((bits >> 8) % ((uint64_t)span + 1)) / ((int64_t)1 << (bits >> 2 & 15)); break;
    }
    return WF_MAX(least, WF_MIN(drawn, value));
}

static bool is_known(const char *name)
{
    const struct wf_limit *u = uses;
    while (u != NULL && strcmp(u->name, name) != 0) u = u->next;
    return u != NULL;
}

int64_t wf_limit_value(struct wf_limit *l, const char *name, int64_t value, int64_t least)
{
    if (l->seed == wf_limits_seed) return l->value;
    uint64_t bits = wf_limits_seed;
    WF_ASSERT(least >= 1 && least <= value);
    for (const char *at = name; *at != '\0'; at++) bits = mix(bits ^ (uint8_t)*at);
    const bool known = is_known(name);
    *l = (struct wf_limit){name, wf_limits_seed, value, uses};
    uses = l;
    if ((bits >> 48 & 255) < share && is_wanted(name)) l->value = draw(bits, value, least);
    if (l->value != value && shown && !known)
        fprintf(stderr, "limit %s: %lld, not %lld\n", name, (long long)l->value, (long long)value);
    return l->value;
}
