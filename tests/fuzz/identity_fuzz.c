/* Any bytes as a certificate: reads the name in it, if they are a certificate. */
#include "fuzz.h"
#include "../unit/transport/security/identity_read.h"
#include "roles.h"

int fuzz_one_input(const uint8_t *data, size_t size)
{
    struct wf_identity who;
    char why[128] = "";
    if (!identity_read(&who, data, size, why, sizeof why)) {
        MUST(why[0] != '\0');
        return 0;
    }
    MUST(who.name[0] != '\0' && memchr(who.name, '\0', sizeof who.name) != NULL);
    MUST(who.roles < 1u << WF_ROLES);
    MUST(who.rights == wf_role_rights(who.roles));
    MUST(wf_identity_may_be(&who, who.name, false));
    return 0;
}
