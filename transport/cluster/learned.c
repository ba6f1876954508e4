/* transport/cluster/learned.c -- which learned addresses this node dials: the rules are in learned.h. */
#include "learned.h"

#include "carrier.h"
#include "hash.h"
#include "platform.h"
#include "url.h"

#include <weft/error.h>
#include <weft/log.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- How often ------------------------------------------------------------------------------------------------- */

uint64_t wf_learned_key(const char *url)
{
    const char *rest = strstr(url, "://");
    rest = rest == NULL ? url : rest + 3;
    size_t size = wf_url_is_local(url) ? strlen(rest) : strcspn(rest, "/");
    uint64_t key = (uint64_t)wf_hash(rest, size, 0) << 32 | wf_hash(rest, size, 1);
    return key == 0 ? 1 : key;
}

static struct wf_learned_address *find(struct wf_learned *l, uint64_t key)
{
    for (uint32_t i = 0; i < WF_LEARNED_ADDRESSES; i++)
        if (l->at[i].key == key) return &l->at[i];
    return NULL;
}

/* A free place, or that of the address with the earliest `next_at`. At most WF_LEARNED_DIALS are busy. */
static struct wf_learned_address *place(struct wf_learned *l, uint64_t key)
{
    struct wf_learned_address *best = NULL;
    for (uint32_t i = 0; i < WF_LEARNED_ADDRESSES; i++) {
        struct wf_learned_address *a = &l->at[i];
        if (a->busy) continue;
        if (best == NULL || a->key == 0 || (best->key != 0 && a->next_at < best->next_at)) best = a;
    }
    *best = (struct wf_learned_address){.key = key};
    return best;
}

int64_t wf_learned_next(const struct wf_learned *l, int64_t now)
{
    if (l->busy == WF_LEARNED_DIALS) return now + WF_LEARNED_EACH;
    int64_t free_at = l->spent_until - WF_LEARNED_BURST * WF_LEARNED_EACH;
    return free_at > now ? free_at : 0;
}

int64_t wf_learned_begin(struct wf_learned *l, uint64_t key, int64_t now)
{
    int64_t free_at = wf_learned_next(l, now);
    if (free_at != 0) return free_at;
    struct wf_learned_address *a = find(l, key);
    if (a != NULL && a->busy) return now + WF_LEARNED_EACH;
    if (a != NULL && now - a->next_at >= WF_LEARNED_FORGOTTEN) a->failures = 0;
    if (a != NULL && a->next_at > now) return a->next_at;
    if (a == NULL) a = place(l, key);
    a->busy = true;
    l->busy++;
    l->spent_until = WF_MAX(l->spent_until, now) + WF_LEARNED_EACH;
    return 0;
}

void wf_learned_end(struct wf_learned *l, uint64_t key, bool linked, int64_t now)
{
    struct wf_learned_address *a = find(l, key);
    WF_ASSERT(a != NULL && a->busy); /* `place` does not take busy ones */
    l->busy--;
    if (linked) {
        l->spent_until -= WF_LEARNED_EACH;
        *a = (struct wf_learned_address){0};
        return;
    }
    a->busy = false;
    a->next_at = now + WF_MIN(WF_LEARNED_FIRST << WF_MIN(a->failures, 10u), WF_LEARNED_LONGEST);
    a->failures++;
}

/* ---- Where ----------------------------------------------------------------------------------------------------- */

static bool refuse(char *why, const char *text)
{
    snprintf(why, WF_REASON_TEXT, "%s", text);
    return false;
}

static bool starts(const char *url, const char *with)
{
    return strncmp(url, with, strlen(with)) == 0;
}

/* The folder of an ipc:// or unix:// URL, with the slash; "" for abstract://, which has none. */
static size_t folder_of(const char *url, const char **out)
{
    *out = strstr(url, "://") + 3;
    const char *slash = starts(url, "abstract://") ? NULL : strrchr(*out, '/');
    return slash == NULL ? 0 : (size_t)(slash - *out) + 1;
}

static bool is_beside(const char *url, const char *own)
{
    const char *a, *b;
    if (!wf_url_is_local(own) || starts(url, "abstract://") != starts(own, "abstract://")) return false;
    size_t size = folder_of(url, &a);
    return size == folder_of(own, &b) && memcmp(a, b, size) == 0 && strstr(a, "/../") == NULL;
}

/* Whether one of the node's URLs or seeds is on this machine (`here`), or on another one (not `here`). */
static bool has_own(const char *const *own, uint32_t count, bool here)
{
    for (uint32_t i = 0; i < count; i++)
        if ((wf_url_is_local(own[i]) || wf_url_is_loopback(own[i])) == here) return true;
    return false;
}

/* The bytes of an IP address, 4 or 16; 0: it is a name. */
static size_t address_of(const char *host, size_t size, uint8_t out[16])
{
    char text[64];
    struct pf_address a;
    bool bare = host[0] != '[' && memchr(host, ':', size) != NULL; /* IPv6 without brackets, as in ranges */
    if (size > 50) return 0;
    snprintf(text, sizeof text, "%s%.*s%s:0", bare ? "[" : "", (int)size, host, bare ? "]" : "");
    return pf_address_parse(text, &a) == WEFT_OK ? pf_address_bytes(&a, out) : 0;
}

static bool same_bits(const uint8_t *a, const uint8_t *b, unsigned bits)
{
    if (memcmp(a, b, bits / 8) != 0) return false;
    unsigned rest = bits % 8;
    return rest == 0 || ((a[bits / 8] ^ b[bits / 8]) >> (8 - rest)) == 0;
}

/* `bits` gets the BITS of "ADDRESS/BITS", or all bits of an address alone. */
static size_t read_range(const char *range, uint8_t out[16], unsigned *bits)
{
    const char *slash = strchr(range, '/');
    size_t size = address_of(range, slash == NULL ? strlen(range) : (size_t)(slash - range), out);
    *bits = (unsigned)size * 8;
    if (slash == NULL || size == 0) return size;
    char *end;
    unsigned long n = strtoul(slash + 1, &end, 10);
    if (slash[1] < '0' || slash[1] > '9' || *end != '\0' || n > *bits) return 0;
    *bits = (unsigned)n;
    return size;
}

bool wf_learned_is_range(const char *range)
{
    uint8_t bytes[16];
    unsigned bits;
    size_t size = strlen(range);
    if (size == 0 || size >= WF_LEARNED_RANGE) return false;
    if (read_range(range, bytes, &bits) > 0) return true;
    return strspn(range, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-.") == size &&
           strspn(range, "0123456789.") != size;
}

static bool is_in(const char *range, const char *host, size_t size)
{
    uint8_t a[16], b[16];
    unsigned bits;
    size_t have = address_of(host, size, a), wanted = read_range(range, b, &bits), length = strlen(range);
    if (have > 0) return have == wanted && same_bits(a, b, bits);
    if (range[0] == '.') return size > length && memcmp(host + size - length, range, length) == 0;
    return size == length && memcmp(host, range, size) == 0;
}

bool wf_learned_allows(const struct wf_learned *l, const char *const *own, uint32_t own_count, const char *url,
                       char *why)
{
    size_t size;
    const char *host = wf_url_host(url, &size);
    if (wf_url_is_local(url)) {
        for (uint32_t i = 0; i < own_count; i++)
            if (is_beside(url, own[i])) return true;
        return refuse(why, "a local socket in a folder where this node has none");
    }
    if (host == NULL) return refuse(why, "not a URL of a network");
    bool here = wf_url_is_loopback(url);
    if (here && !has_own(own, own_count, true))
        return refuse(why, "this node has no other address of its own machine");
    if (!here && !has_own(own, own_count, false)) return refuse(why, "this node has no other address of a network");
    if (here || l->range_count == 0) return true;
    for (uint32_t i = 0; i < l->range_count; i++)
        if (is_in(l->range[i], host, size)) return true;
    return refuse(why, "--dial-only does not name it");
}

int wf_learned_init(struct wf_learned *l, const weft_node_options *o)
{
    if (o->dial_only_count > WF_LEARNED_RANGES) {
        weft_log(WEFT_ERROR, "node option dial_only: at most %d", WF_LEARNED_RANGES);
        return WEFT_EINVAL;
    }
    for (size_t i = 0; i < o->dial_only_count; i++) {
        if (o->dial_only[i] == NULL || !wf_learned_is_range(o->dial_only[i])) {
            weft_log(WEFT_ERROR, "node option dial_only: %.200s is no address, ADDRESS/BITS, name or .DOMAIN",
                     o->dial_only[i] == NULL ? "(null)" : o->dial_only[i]);
            return WEFT_EINVAL;
        }
        snprintf(l->range[l->range_count++], WF_LEARNED_RANGE, "%s", o->dial_only[i]);
    }
    return WEFT_OK;
}
