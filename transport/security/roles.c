/* transport/security/roles.c -- the rights of each role; see identity.h. */
#include "roles.h"
#include "identity.h"

#include "base.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    uint32_t rights;
} roles[WF_ROLES] = {
    {"node", WF_RIGHT_JOIN | WF_RIGHT_TALK | WF_RIGHT_OBSERVE | WF_RIGHT_STOP | WF_RIGHT_SPAWN},
    {"guest", WF_RIGHT_JOIN | WF_RIGHT_TALK},
    {"observe", WF_RIGHT_OBSERVE},
    {"admin", WF_RIGHT_TALK | WF_RIGHT_OBSERVE | WF_RIGHT_STOP | WF_RIGHT_SPAWN | WF_RIGHT_ADMIN},
};

const char *wf_role_name(unsigned role)
{
    return role < WF_ROLES ? roles[role].name : NULL;
}

uint32_t wf_role_find(const char *name, size_t size)
{
    for (unsigned i = 0; i < WF_ROLES; i++)
        if (strlen(roles[i].name) == size && memcmp(roles[i].name, name, size) == 0) return 1u << i;
    return 0;
}

uint32_t wf_role_rights(uint32_t mask)
{
    uint32_t rights = 0;
    for (unsigned i = 0; i < WF_ROLES; i++)
        if ((mask >> i & 1) != 0) rights |= roles[i].rights;
    return rights;
}

const char *wf_roles_text(uint32_t mask, char out[WF_ROLE_TEXT])
{
    size_t used = 0;
    out[0] = '\0';
    for (unsigned i = 0; i < WF_ROLES; i++) {
        if ((mask >> i & 1) == 0) continue;
        used += (size_t)snprintf(out + used, WF_ROLE_TEXT - used, "%s%s", used > 0 ? ", " : "", roles[i].name);
        WF_ASSERT(used < WF_ROLE_TEXT);
    }
    return mask == 0 ? "none" : out;
}

bool wf_identity_may_be(const struct wf_identity *i, const char *name, bool client)
{
    size_t n = strlen(i->name);
    if (strncmp(name, i->name, n) != 0) return false;
    return name[n] == '\0' || (client && name[n] == '-');
}
