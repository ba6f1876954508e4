/* cli/client/pages.c -- asks a node for a list, page by page. */
#include <string.h>

#include "pages.h"
#include "control.h"

#define PRINTS_WITHIN WEFT_SEC(60)

/* Reads the head of a page: its rows, and where the next page begins. */
static int read_page(struct cli_client *k, struct cli_pages *p, const weft_msg *m)
{
    weft_reader r = weft_reader_on(weft_data(m), weft_size(m));
    uint32_t fields = weft_get_array(&r);
    weft_text next = weft_get_bin(&r);
    p->count = weft_get_array(&r);
    if (r.error < 0 || fields < 2 || next.size > sizeof p->next) return cli_cannot_decode(k);
    bool stays = next.size > 0 && next.size == p->next_size && memcmp(next.data, p->next, next.size) == 0;
    if (stays)
        return cli_fail(k->c, CLI_FAILED, "%s: its list does not end: a page names itself as the next one", k->node);
    p->rows_seen += p->count;
    p->bytes_seen += weft_size(m);
    if (p->rows_seen > CLI_ROWS_MAX || p->bytes_seen > CLI_ROWS_BYTES_MAX)
        return cli_fail(k->c, CLI_FAILED, "%s: its list does not end: it has more than %d rows, or more than %d GiB",
                        k->node, CLI_ROWS_MAX, (int)(CLI_ROWS_BYTES_MAX >> 30));
    if (next.size > 0) memcpy(p->next, next.data, next.size);
    p->next_size = next.size;
    p->last = next.size == 0;
    p->rows = r;
    if (p->count > 0 && !p->silent) p->until = 0;
    return CLI_OK;
}

/* Asks a node that does not support pages for the whole list. */
static int ask_for_all(struct cli_client *k, struct cli_pages *p, weft_msg **m)
{
    int rc = cli_control(k, p->verb, NULL, 0, m);
    if (rc != CLI_OK) return rc;
    p->rows = weft_reader_on(weft_data(*m), weft_size(*m));
    p->count = weft_get_array(&p->rows);
    p->last = true;
    return CLI_OK;
}

static void begin_wait(struct cli_client *k, struct cli_pages *p)
{
    if (k->c->has_timeout) return; /* it holds for the whole verb */
    if (p->until == 0) p->until = weft_after(PRINTS_WITHIN);
    int64_t answer = weft_after(CLI_ANSWER_WITHIN);
    k->deadline = answer < p->until ? answer : p->until;
}

int cli_page(struct cli_client *k, struct cli_pages *p, weft_msg **m)
{
    uint8_t request[256];
    weft_writer w = weft_writer_on(request, sizeof request);
    weft_put_array(&w, 5);
    weft_put_uint(&w, p->verb);
    weft_put_bin(&w, p->next, p->next_size);
    weft_put_uint(&w, p->most == 0 ? UINT32_MAX : p->most);
    weft_put_str(&w, weft_cstr(p->kind == NULL ? "" : p->kind));
    weft_put_str(&w, weft_cstr(p->prefix == NULL ? "" : p->prefix));
    begin_wait(k, p);
    int rc = cli_control_or_error(k, WF_CONTROL_PAGE, request, w.size, m);
    if (rc != CLI_OK) return rc;
    if (weft_tag(*m) == WF_CONTROL_PAGE) {
        rc = read_page(k, p, *m);
        if (rc != CLI_OK) weft_msg_free(*m);
        return rc;
    }
    bool first = p->next_size == 0;
    if (!first) {
        rc = cli_print_refusal(k, *m);
        weft_msg_free(*m);
        return rc;
    }
    weft_msg_free(*m);
    return ask_for_all(k, p, m);
}
