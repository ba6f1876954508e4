/* transport/discover/etcd_spec.c -- reads an etcd: spec. */
#include "etcd_spec.h"
#include "source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TTL_DEFAULT = 10, TTL_MIN = 2, TTL_MAX = 3600 };

/* The password is the first line of its file. */
static int read_password(struct wf_etcd_spec *e, const char *path, char *why)
{
    FILE *f = fopen(path, "re");
    bool read = f != NULL && fgets(e->password, sizeof e->password, f) != NULL;
    if (f != NULL) fclose(f);
    e->password[strcspn(e->password, "\r\n")] = '\0';
    if (read && e->password[0] != '\0') return WEFT_OK;
    snprintf(why, WF_REASON_TEXT, "no password can be read from %.100s", path);
    return WEFT_EACCESS;
}

/* All options but those that name files. */
static int read_options(struct wf_etcd_spec *e, const struct wf_source *s, char *why)
{
    char value[WF_URL_TEXT], *end;
    e->ttl = WEFT_SEC(TTL_DEFAULT);
    if (wf_source_option(s, "ttl", value)) {
        long seconds = strtol(value, &end, 10);
        if (*end != '\0' || seconds < TTL_MIN || seconds > TTL_MAX) {
            snprintf(why, WF_REASON_TEXT, "ttl=%.20s: seconds from %d to %d", value, TTL_MIN, TTL_MAX);
            return WEFT_EADDRESS;
        }
        e->ttl = WEFT_SEC(seconds);
    }
    bool user = wf_source_option(s, "user", value);
    if (user) snprintf(e->user, sizeof e->user, "%.63s", value);
    if (user == wf_source_option(s, "password_file", value)) return WEFT_OK;
    snprintf(why, WF_REASON_TEXT, "user and password_file go together");
    return WEFT_EADDRESS;
}

/* "http://host:port/prefix" */
static int split(struct wf_etcd_spec *e, const char *rest, char *why)
{
    bool tls = strncmp(rest, "https://", 8) == 0;
    const char *host = strstr(rest, "://"), *path = host == NULL ? NULL : strchr(host + 3, '/');
    if (!tls && strncmp(rest, "http://", 7) != 0) {
        snprintf(why, WF_REASON_TEXT, "not a URL like etcd:http://127.0.0.1:2379/weft");
        return WEFT_EADDRESS;
    }
    size_t size = path == NULL ? strlen(rest) : (size_t)(path - rest);
    int rc = wf_check_host_port(host + 3, size - (size_t)(host + 3 - rest), why);
    if (rc < 0) return rc;
    if (size >= sizeof e->base || (path != NULL && strlen(path) > 100)) {
        snprintf(why, WF_REASON_TEXT, "the URL is too long");
        return WEFT_EADDRESS;
    }
    snprintf(e->base, sizeof e->base, "%.*s", (int)size, rest);
    bool none = path == NULL || path[1] == '\0';
    snprintf(e->prefix, sizeof e->prefix, "%s/", none ? "/weft" : path);
    size_t n = strlen(e->prefix);
    if (n > 2 && e->prefix[n - 2] == '/') e->prefix[n - 1] = '\0';
    return WEFT_OK;
}

int wf_etcd_spec_check(const struct wf_source *s, const char *rest, char *why)
{
    struct wf_etcd_spec e = {0};
    int rc = split(&e, rest, why);
    return rc == WEFT_OK ? read_options(&e, s, why) : rc;
}

int wf_etcd_spec_read(struct wf_etcd_spec *out, const struct wf_source *s, const char *rest, char *why)
{
    char file[WF_URL_TEXT];
    int rc = split(out, rest, why);
    if (rc == WEFT_OK) rc = read_options(out, s, why);
    if (rc == WEFT_OK && wf_source_option(s, "password_file", file)) rc = read_password(out, file, why);
    (void)wf_source_option(s, "ca", out->ca);
    (void)wf_source_option(s, "cert", out->cert);
    (void)wf_source_option(s, "key", out->key);
    return rc;
}
