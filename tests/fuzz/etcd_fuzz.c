/* Any text as the answer of etcd: JSON, numbers that are strings, base64, and the record that a node has stored about
 * itself. */
#include "etcd.h"
#include "etcd_json.h"
#include "etcd_spec.h"
#include "fuzz.h"
#include "source.h"

#include <jansson.h>

static void walk(const struct json_t *j, int depth)
{
    static const char *const names[] = {"kvs",      "events", "kv",  "key",    "value",     "header",
                                        "revision", "ID",     "TTL", "result", "succeeded", "urls"};
    char plain[64];
    if (j == NULL || depth > 8) return;
    for (size_t i = 0; i < WF_COUNT(names); i++) {
        const char *text = wf_etcd_text(j, names[i]);
        (void)wf_etcd_number(j, names[i]);
        (void)wf_etcd_true(j, names[i]);
        if (wf_etcd_unbase64(text, plain, sizeof plain)) MUST(memchr(plain, '\0', sizeof plain) != NULL);
        walk(wf_etcd_member(j, names[i]), depth + 1);
    }
    size_t count = wf_etcd_count(j);
    MUST(wf_etcd_item(j, count) == NULL);
    for (size_t i = 0; i < count && i < 8; i++) walk(wf_etcd_item(j, i), depth + 1);
}

static void check_base64(const char *text)
{
    char *coded = wf_etcd_base64(text), *back = malloc(strlen(text) + 1);
    MUST(coded != NULL && back != NULL);
    MUST(wf_etcd_unbase64(coded, back, strlen(text) + 1) && strcmp(back, text) == 0);
    if (text[0] != '\0') MUST(!wf_etcd_unbase64(coded, back, strlen(text)));
    free(coded);
    free(back);
}

/* As a key it comes back from what is said with it; text that is no UTF-8 cannot be said in JSON. */
static void check_said(const char *text)
{
    char *const said[] = {wf_etcd_json_put(text, "value", 1), wf_etcd_json_watch("/weft/", 2),
                          wf_etcd_json_acquire(text, "value", 3), wf_etcd_json_release(text, 4),
                          wf_etcd_json_sign_on(text, text)};
    for (size_t i = 0; i < WF_COUNT(said); i++) {
        json_t *j = said[i] == NULL ? NULL : json_loads(said[i], 0, NULL);
        MUST(j != NULL || (said[i] == NULL && i == 4));
        json_decref(j);
        free(said[i]);
    }
}

int fuzz_one_input(const uint8_t *data, size_t size)
{
    struct input in = {data, data + size};
    char *text = input_string(&in), why[WF_REASON_TEXT] = "", plain[256];
    struct wf_url_list list = {0};
    if (wf_etcd_node_urls(text, &list)) {
        MUST(list.count <= WF_FRAME_URLS);
        for (size_t i = 0; i < list.count; i++) MUST(strstr(list.url[i], "://") != NULL);
    }
    wf_url_list_finish(&list);
    json_t *j = json_loads(text, 0, NULL);
    walk(j, 0);
    json_decref(j);
    (void)wf_etcd_unbase64(text, plain, sizeof plain);
    check_base64(text);
    check_said(text);
    static struct wf_etcd_spec spec;
    static struct wf_source source;
    if (strlen(text) < sizeof source.spec && strstr(text, "password_file") == NULL) {
        memset(&spec, 0, sizeof spec);
        strcpy(source.spec, text);
        char *rest = strdup(text);
        MUST(rest != NULL);
        rest[strcspn(rest, "?")] = '\0';
        int rc = wf_etcd_spec_read(&spec, &source, rest, why);
        MUST(rc == WEFT_OK ? spec.prefix[strlen(spec.prefix) - 1] == '/' && spec.ttl > 0 : why[0] != '\0');
        free(rest);
    }
    free(text);
    return 0;
}
