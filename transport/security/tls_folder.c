/* transport/security/tls_folder.c -- finds the folder of certificates that a node uses. */
#include "tls_folder.h"
#include "tls.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool wf_tls_folder(const char *given, char *out, size_t size)
{
    /* Races with setenv only, which no program with threads may call. NOLINTBEGIN(concurrency-mt-unsafe) */
    const char *certs = getenv("WEFT_CERTS"), *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    const char *data = getenv("APPDATA"); /* Windows sets this variable */
    /* NOLINTEND(concurrency-mt-unsafe) */
    int n = -1;
    if (strcmp(given, "auto") != 0) n = snprintf(out, size, "%s", given);
    else if (certs != NULL && certs[0] != '\0') n = snprintf(out, size, "%s", certs);
    else if (config != NULL && config[0] == '/') n = snprintf(out, size, "%s/weft/certs", config);
    else if (home != NULL && home[0] != '\0') n = snprintf(out, size, "%s/.config/weft/certs", home);
    else if (data != NULL && data[0] != '\0') n = snprintf(out, size, "%s/weft/certs", data);
    return n > 0 && (size_t)n < size;
}
