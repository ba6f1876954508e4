/* The bytes that a listener of ws:// reads: a request, which must be refused if it names a page; and frames, which
 * give the same bytes in pieces of any sizes. The first byte gives the sizes of the pieces. */
#include "fuzz.h"
#include "carrier.h"
#include "http.h"
#include "ws.h"

struct taken {
    size_t size;
    const char *over;
    uint8_t bytes[4096];
};

static void take(const uint8_t *data, size_t size, size_t piece, struct taken *out)
{
    struct wf_ws w = {.left = 0};
    uint8_t buffer[4096];
    out->size = 0;
    out->over = NULL;
    for (size_t at = 0; at < size && out->over == NULL; at += piece) {
        size_t n = WF_MIN(piece, size - at);
        memcpy(buffer, data + at, n);
        size_t payload = wf_ws_take(&w, buffer, n, &out->over);
        MUST(payload <= n && w.control_size <= WF_WS_CONTROL_MAX && w.ping_size <= WF_WS_CONTROL_MAX);
        memcpy(out->bytes + out->size, buffer, payload);
        out->size += payload;
    }
}

int fuzz_one_input(const uint8_t *data, size_t size)
{
    static struct taken whole, parts;
    static const struct wf_ws_door door = {"ws://127.0.0.1:1/", false, NULL, 0};
    char answer[WF_WS_ANSWER_MAX], why[WF_REASON_TEXT] = "";
    if (size == 0 || size > 4096) return 0;
    size_t head = wf_http_head(data + 1, size - 1);
    MUST(head <= size - 1);
    if (head > 0) {
        bool in = wf_ws_answer(&door, data + 1, head, answer, why);
        MUST(strlen(answer) < sizeof answer && strncmp(answer, "HTTP/1.1 ", 9) == 0);
        MUST(in == (strncmp(answer + 9, "101", 3) == 0) && (in || why[0] != '\0'));
        for (size_t i = 0; in && i + 9 < head; i++) MUST(memcmp(data + 1 + i, "\r\nOrigin:", 9) != 0);
    }
    take(data + 1, size - 1, size, &whole);
    take(data + 1, size - 1, 1 + data[0], &parts);
    MUST(whole.size == parts.size && memcmp(whole.bytes, parts.bytes, whole.size) == 0);
    MUST((whole.over == NULL) == (parts.over == NULL) && (whole.over == NULL || strcmp(whole.over, parts.over) == 0));
    return 0;
}
