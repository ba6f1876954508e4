/* runtime/io/resolve.c -- addresses, and names, which are looked up on the node's threads for blocking functions. */
#include <stdio.h>
#include <string.h>

#include <weft/resolve.h>

#include "offload.h"
#include "resolve.h"
#include "task.h"

_Static_assert(sizeof(weft_address) == sizeof(struct pf_address) &&
                   offsetof(weft_address, size) == offsetof(struct pf_address, size),
               "the public form is the platform's");

int weft_address_parse(weft_address *out, const char *text)
{
    struct pf_address a;
    if (out == NULL || text == NULL) return WEFT_EINVAL;
    int rc = pf_address_parse(text, &a);
    if (rc == WEFT_OK) memcpy(out, &a, sizeof *out);
    return rc;
}

int weft_address_text(const weft_address *a, char *out, size_t size)
{
    struct pf_address copy;
    if (a == NULL || out == NULL || size == 0) return WEFT_EINVAL;
    memcpy(&copy, a, sizeof copy);
    return pf_address_format(&copy, out, size);
}

bool weft_address_equal(const weft_address *a, const weft_address *b)
{
    return a->size == b->size && a->size <= sizeof a->bytes && memcmp(a->bytes, b->bytes, a->size) == 0;
}

/* ---- Names ----------------------------------------------------------------------------------------------------- */

struct lookup {
    char host[WF_HOST_BYTES], service[WF_SERVICE_BYTES];
    int result;
    struct pf_address found[WEFT_RESOLVE_MAX];
};

static void look_up(void *block)
{
    struct lookup *l = block;
    l->result = pf_resolve(l->host, l->service, l->found, WEFT_RESOLVE_MAX);
}

int wf_resolve_host(const char *host, const char *service, struct pf_address *out, int max, int64_t deadline)
{
    struct lookup l;
    memset(&l, 0, sizeof l);
    if (strlen(host) >= sizeof l.host || strlen(service) >= sizeof l.service) return WEFT_EADDRESS;
    snprintf(l.host, sizeof l.host, "%s", host);
    snprintf(l.service, sizeof l.service, "%s", service);
    int rc = wf_offload_look_up(look_up, &l, sizeof l, deadline);
    if (rc < 0 || l.result < 0) return rc < 0 ? rc : l.result;
    int count = WF_MIN(l.result, max);
    memcpy(out, l.found, (size_t)count * sizeof *out);
    return count;
}

int weft_resolve(const char *host, const char *service, weft_address *out, size_t max, int64_t deadline)
{
    struct pf_address found[WEFT_RESOLVE_MAX];
    if (wf_task_self() == NULL) return WEFT_ENOTACTOR;
    if (host == NULL || service == NULL || *host == '\0' || *service == '\0' || out == NULL || max == 0)
        return WEFT_EINVAL;
    int count = wf_resolve_host(host, service, found, (int)WF_MIN(max, (size_t)WEFT_RESOLVE_MAX), deadline);
    if (count > 0) memcpy(out, found, (size_t)count * sizeof *out);
    return count;
}
