/* transport/discover/etcd_json.c -- writes requests to etcd's JSON gateway, and reads the answers. Keys and values
 * are sent as base64, numbers of 64 bits as strings. */
#include "etcd_json.h"
#include "etcd.h"
#include "source.h"
#include "text.h"
#include "transport.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *wf_etcd_base64(const char *text)
{
    size_t size = strlen(text), at = 0;
    char *out = malloc((size + 2) / 3 * 4 + 1);
    if (out == NULL) return NULL;
    for (size_t i = 0; i < size; i += 3, at += 4) wf_base64((const uint8_t *)text + i, size - i, out + at);
    out[at] = '\0';
    return out;
}

bool wf_etcd_unbase64(const char *text, char *out, size_t size)
{
    static const char digits[] = WF_BASE64_DIGITS;
    uint32_t bits = 0;
    int have = 0;
    size_t at = 0;
    for (; *text != '\0' && *text != '='; text++) {
        const char *digit = strchr(digits, *text);
        if (digit == NULL) return false;
        bits = bits << 6 | (uint32_t)(digit - digits);
        have += 6;
        if (have < 8) continue;
        have -= 8;
        char c = (char)(bits >> have & 0xFF);
        if (c == '\0' || at + 1 >= size) return false;
        out[at++] = c;
    }
    if (size > 0) out[at] = '\0';
    return size > 0 && text[strspn(text, "=")] == '\0';
}

/* ---- Requests ---------------------------------------------------------------------------------------------------- */

/* Takes `j` over, as jansson's format "o" does. */
static char *dump(json_t *j)
{
    /* json_dumps is not used, as it would leave a key out, without an error, if its buffer could not grow. */
    size_t size = j == NULL ? 0 : json_dumpb(j, NULL, 0, JSON_COMPACT);
    char *text = size == 0 ? NULL : malloc(size + 1);
    if (text != NULL && json_dumpb(j, text, size, JSON_COMPACT) != size) {
        free(text);
        text = NULL;
    }
    if (text != NULL) text[size] = '\0';
    json_decref(j);
    return text;
}

static json_t *in_base64(const char *text)
{
    char *coded = wf_etcd_base64(text);
    json_t *j = coded == NULL ? NULL : json_string(coded);
    free(coded);
    return j;
}

static json_t *number(int64_t n)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRId64, n);
    return json_string(text);
}

/* The key behind the last one that begins so: the last byte is one higher. A prefix ends with '/'. */
static json_t *end_of(const char *prefix)
{
    char end[WF_URL_TEXT];
    snprintf(end, sizeof end, "%s", prefix);
    end[strlen(end) - 1]++;
    return in_base64(end);
}

static json_t *put(const char *key, const char *value, int64_t lease)
{
    return json_pack("{s:o, s:o, s:o}", "key", in_base64(key), "value", in_base64(value), "lease", number(lease));
}

char *wf_etcd_json_put(const char *key, const char *value, int64_t lease)
{
    return dump(put(key, value, lease));
}

char *wf_etcd_json_range(const char *prefix)
{
    return dump(json_pack("{s:o, s:o}", "key", in_base64(prefix), "range_end", end_of(prefix)));
}

char *wf_etcd_json_watch(const char *prefix, int64_t from)
{
    return dump(json_pack("{s:{s:o, s:o, s:o}}", "create_request", "key", in_base64(prefix), "range_end",
                          end_of(prefix), "start_revision", number(from)));
}

char *wf_etcd_json_acquire(const char *key, const char *value, int64_t lease)
{
    return dump(json_pack("{s:[{s:o, s:s, s:s, s:s}], s:[{s:o}], s:[{s:{s:o}}]}", "compare", "key", in_base64(key),
                          "target", "CREATE", "result", "EQUAL", "create_revision", "0", "success", "request_put",
                          put(key, value, lease), "failure", "request_range", "key", in_base64(key)));
}

char *wf_etcd_json_release(const char *key, int64_t token)
{
    return dump(json_pack("{s:[{s:o, s:s, s:s, s:o}], s:[{s:{s:o}}]}", "compare", "key", in_base64(key), "target",
                          "CREATE", "result", "EQUAL", "create_revision", number(token), "success",
                          "request_delete_range", "key", in_base64(key)));
}

char *wf_etcd_json_number(const char *name, int64_t n)
{
    return dump(json_pack("{s:o}", name, number(n)));
}

char *wf_etcd_json_sign_on(const char *user, const char *password)
{
    return dump(json_pack("{s:s, s:s}", "name", user, "password", password));
}

char *wf_etcd_node_text(const struct wf_transport *t)
{
    json_t *urls = json_array();
    int rc = urls == NULL ? -1 : 0;
    for (uint32_t i = 0; rc == 0 && i < wf_transport_urls(t); i++)
        rc = json_array_append_new(urls, json_string(t->url[i]));
    if (rc == 0) return dump(json_pack("{s:s, s:o}", "name", t->node->name, "urls", urls));
    json_decref(urls); /* all URLs or none: otherwise other nodes would have only a part while this node runs */
    return NULL;
}

/* ---- Answers ----------------------------------------------------------------------------------------------------- */

bool wf_etcd_node_urls(const char *text, struct wf_url_list *out)
{
    json_t *j = json_loads(text, 0, NULL);
    const json_t *urls = json_object_get(j, "urls");
    bool good = json_is_array(urls);
    for (size_t i = 0; good && i < json_array_size(urls) && i < WF_FRAME_URLS; i++) {
        const char *url = json_string_value(json_array_get(urls, i));
        if (url != NULL && strlen(url) < WF_URL_TEXT && strstr(url, "://") != NULL) wf_url_list_add(out, url);
    }
    json_decref(j);
    return good;
}

int64_t wf_etcd_number(const struct json_t *object, const char *name)
{
    const json_t *j = json_object_get(object, name);
    if (json_is_integer(j)) return json_integer_value(j);
    return json_is_string(j) ? strtoll(json_string_value(j), NULL, 10) : 0;
}

const struct json_t *wf_etcd_member(const struct json_t *object, const char *name)
{
    return json_object_get(object, name);
}

const char *wf_etcd_text(const struct json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text == NULL ? "" : text;
}

bool wf_etcd_true(const struct json_t *object, const char *name)
{
    return json_is_true(json_object_get(object, name));
}

size_t wf_etcd_count(const struct json_t *array)
{
    return json_array_size(array);
}

const struct json_t *wf_etcd_item(const struct json_t *array, size_t i)
{
    return json_array_get(array, i);
}
