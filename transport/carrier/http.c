/* transport/carrier/http.c -- reads the head of an HTTP request, and judges its Origin and Host. */
#include "http.h"
#include "url.h"

#include "text.h"

#include <string.h>

/* ---- Texts ----------------------------------------------------------------------------------------------------- */

bool wf_http_same(struct wf_http_text a, struct wf_http_text b)
{
    if (a.size != b.size) return false;
    for (size_t i = 0; i < a.size; i++)
        if (wf_lower(a.at[i]) != wf_lower(b.at[i])) return false;
    return true;
}

bool wf_http_is(struct wf_http_text a, const char *text)
{
    return wf_http_same(a, (struct wf_http_text){text, strlen(text)});
}

static struct wf_http_text trimmed(struct wf_http_text s)
{
    while (s.size > 0 && (s.at[0] == ' ' || s.at[0] == '\t')) s.at++, s.size--;
    while (s.size > 0 && (s.at[s.size - 1] == ' ' || s.at[s.size - 1] == '\t')) s.size--;
    return s;
}

bool wf_http_lists(struct wf_http_text s, const char *word)
{
    while (s.size > 0) {
        const char *comma = memchr(s.at, ',', s.size);
        size_t n = comma == NULL ? s.size : (size_t)(comma - s.at);
        if (wf_http_is(trimmed((struct wf_http_text){s.at, n}), word)) return true;
        n += comma != NULL;
        s = (struct wf_http_text){s.at + n, s.size - n};
    }
    return false;
}

static size_t digits_of(const char *at, size_t size)
{
    size_t n = 0;
    while (n < size && at[n] >= '0' && at[n] <= '9') n++;
    return n;
}

static bool is_hex(char c)
{
    return (c >= '0' && c <= '9') || (wf_lower(c) >= 'a' && wf_lower(c) <= 'f');
}

/* ---- Hosts and origins ----------------------------------------------------------------------------------------- */

struct wf_http_text wf_http_host(struct wf_http_text s)
{
    const char *end = memchr(s.at, s.size > 0 && s.at[0] == '[' ? ']' : ':', s.size);
    size_t n = end == NULL ? s.size : (size_t)(end - s.at) + (s.at[0] == '[');
    size_t rest = s.size - n;
    bool port = rest > 0 && s.at[n] == ':' && wf_port_of(s.at + n + 1, rest - 1) >= 0;
    return (struct wf_http_text){rest == 0 || port ? s.at : NULL, n};
}

static bool is_ipv4(struct wf_http_text s)
{
    size_t at = 0;
    for (int part = 0; part < 4; part++) {
        size_t n = digits_of(s.at + at, s.size - at);
        int value = 0;
        for (size_t i = 0; i < n && n <= 3; i++) value = value * 10 + s.at[at + i] - '0';
        if (n < 1 || n > 3 || value > 255) return false;
        at += n;
        if (part < 3 && (at == s.size || s.at[at++] != '.')) return false;
    }
    return at == s.size;
}

/* It is not checked further: no name has brackets. */
static bool is_ipv6(struct wf_http_text s)
{
    if (s.size < 4 || s.at[0] != '[' || s.at[s.size - 1] != ']') return false;
    for (size_t i = 1; i + 1 < s.size; i++)
        if (!is_hex(s.at[i]) && s.at[i] != ':' && s.at[i] != '.') return false;
    return true;
}

struct wf_http_text wf_http_authority(const char *url)
{
    const char *from = strstr(url, "://");
    from = from == NULL ? url : from + 3;
    return (struct wf_http_text){from, strcspn(from, "/?#")};
}

/* ---- Requests -------------------------------------------------------------------------------------------------- */

size_t wf_http_head(const uint8_t *data, size_t size)
{
    for (size_t i = 4; i <= size; i++)
        if (data[i - 1] == '\n' && memcmp(data + i - 4, "\r\n\r\n", 4) == 0) return i;
    return 0;
}

static void take_header(struct wf_http_request *r, struct wf_http_text name, struct wf_http_text value)
{
    const struct {
        const char *name;
        struct wf_http_text *out;
    } known[] = {{"Host", &r->host},
                 {"Origin", &r->origin},
                 {"Upgrade", &r->upgrade},
                 {"Connection", &r->connection},
                 {"Sec-WebSocket-Version", &r->ws_version},
                 {"Sec-WebSocket-Key", &r->ws_key},
                 {"Sec-WebSocket-Protocol", &r->ws_protocol}};
    for (size_t i = 0; i < WF_COUNT(known); i++) {
        if (!wf_http_is(name, known[i].name)) continue;
        r->twice |= known[i].out->at != NULL;
        *known[i].out = value;
    }
}

/* Reads up to `end` or the end of the line. */
static struct wf_http_text word(const char **at, const char *line_end)
{
    const char *from = *at, *space = memchr(from, ' ', (size_t)(line_end - from));
    const char *to = space == NULL ? line_end : space;
    *at = space == NULL ? line_end : space + 1;
    return (struct wf_http_text){from, (size_t)(to - from)};
}

bool wf_http_read(struct wf_http_request *r, const uint8_t *data, size_t size)
{
    const char *head = (const char *)data;
    *r = (struct wf_http_request){.twice = false};
    const char *at = head, *end = head + size - 2; /* the empty line */
    for (const char *c = head; c < end; c++) {
        bool line = c[0] == '\r' && c[1] == '\n';
        if (line) c++;
        else if (((unsigned char)*c < ' ' && *c != '\t') || *c == 0x7f) return false;
    }
    for (bool first = true; at < end; first = false) {
        const char *line_end = at;
        while (line_end[0] != '\r') line_end++;
        if (first) {
            r->method = word(&at, line_end);
            r->target = word(&at, line_end);
            r->version = word(&at, line_end);
            if (at != line_end || r->version.size == 0) return false;
        } else {
            const char *colon = memchr(at, ':', (size_t)(line_end - at));
            if (colon == NULL || colon == at || *at == ' ' || *at == '\t' || colon[-1] == ' ') return false;
            take_header(r, (struct wf_http_text){at, (size_t)(colon - at)},
                        trimmed((struct wf_http_text){colon + 1, (size_t)(line_end - colon - 1)}));
        }
        at = line_end + 2;
    }
    return true;
}

bool wf_http_host_is_numeric(struct wf_http_text host)
{
    return wf_http_is(host, "localhost") || is_ipv4(host) || is_ipv6(host);
}

bool wf_http_path_is(const struct wf_http_request *r, const char *path)
{
    const char *query = r->target.size == 0 ? NULL : memchr(r->target.at, '?', r->target.size);
    size_t size = query == NULL ? r->target.size : (size_t)(query - r->target.at);
    if (size == 0) return strcmp(path, "/") == 0; /* NNG sends this path */
    return size == strlen(path) && memcmp(r->target.at, path, size) == 0;
}
