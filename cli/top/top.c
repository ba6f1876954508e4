/* cli/top/top.c -- weft top: asks a node again and again, and prints what it says, or hands it to the screen. */
#include <stdlib.h>
#include <string.h>

#include "top.h"
#include "client.h"
#include "control.h"
#include "top_text.h"

/* ---- Asking ---------------------------------------------------------------------------------------------------- */

int top_ask(struct cli_client *k, const struct top_wish *wish, weft_msg **answer)
{
    char request[160];
    weft_writer w = weft_writer_on(request, sizeof request);
    weft_put_array(&w, 4);
    weft_put_str(&w, weft_cstr(top_choice(wish->by)));
    weft_put_uint(&w, wish->everywhere ? 200 : 1000);
    weft_put_str(&w, weft_cstr(wish->filter));
    weft_put_bool(&w, wish->everywhere);
    k->deadline = weft_after(k->c->has_timeout ? k->c->timeout : WEFT_SEC(wish->everywhere ? 8 : 5));
    return cli_control(k, WF_CONTROL_TOP, request, w.size, answer);
}

struct top_wish top_wish_of(const struct cli *c)
{
    struct top_wish wish = {.everywhere = c->all};
    for (int i = 0; c->sort != NULL && i < TOP_BYS; i++) {
        if (strcmp(c->sort, top_by_names[i]) == 0) wish.by = (enum top_by)i;
    }
    if (c->filter != NULL) snprintf(wish.filter, sizeof wish.filter, "%s", c->filter);
    return wish;
}

int64_t top_interval_of(const struct cli *c)
{
    return c->interval == 0 ? WEFT_SEC(1) : c->interval;
}

/* ---- Printing -------------------------------------------------------------------------------------------------- */

static int print_objects(const struct cli_client *k, const weft_msg *answer)
{
    struct top_snapshot *s = top_read(weft_data(answer), weft_size(answer));
    if (s == NULL) return cli_cannot_decode(k); /* a value is of another type than its key says */
    top_free(s);
    weft_reader r = weft_reader_on(weft_data(answer), weft_size(answer));
    for (uint32_t left = weft_get_array(&r); left > 0 && r.error == 0; left--) {
        const uint8_t *start = r.at;
        weft_skip(&r);
        if (r.error != 0) break;
        cli_print_json(stdout, start, (size_t)(r.at - start));
        putchar('\n');
    }
    return r.error == 0 ? CLI_OK : cli_cannot_decode(k);
}

static int print_lines(struct top_snapshot *s, const struct top_wish *wish)
{
    struct top_lines l = {.width = 120};
    uint32_t shown = top_arrange(s, wish->by, wish->reverse, wish->filter);
    top_put_nodes(&l, s, UINT32_MAX);
    top_put_actors(&l, s, 0, shown, wish->by);
    for (uint32_t i = 0; i < l.count; i++) {
        size_t n = strlen(l.line[i].text);
        while (n > 0 && l.line[i].text[n - 1] == ' ') n--;
        printf("%.*s\n", (int)n, l.line[i].text);
    }
    top_lines_clear(&l);
    return CLI_OK;
}

/* [A] --json: each answer, until it is over. */
static int print_each(struct cli_client *k)
{
    struct top_wish wish = top_wish_of(k->c);
    weft_msg *answer;
    for (;;) {
        int rc = top_ask(k, &wish, &answer);
        if (rc != CLI_OK) return rc;
        rc = print_objects(k, answer);
        weft_msg_free(answer);
        if (rc != CLI_OK || cli_output_failed() || k->c->once || weft_sleep(weft_after(top_interval_of(k->c))) < 0)
            return rc;
    }
}

/* [A] --once: what there is after the interval, compared with what there was before. */
static int print_once(struct cli_client *k)
{
    struct top_wish wish = top_wish_of(k->c);
    struct top_snapshot *before = NULL, *now = NULL;
    int rc = CLI_OK;
    for (int i = 0; i < 2 && rc == CLI_OK; i++) {
        weft_msg *answer;
        if (i > 0) (void)weft_sleep(weft_after(top_interval_of(k->c)));
        rc = top_ask(k, &wish, &answer);
        if (rc != CLI_OK) break;
        before = now;
        now = top_read(weft_data(answer), weft_size(answer));
        weft_msg_free(answer);
        if (now == NULL) rc = cli_cannot_decode(k);
        else if (before != NULL) top_compare(now, before);
    }
    if (rc == CLI_OK) rc = print_lines(now, &wish);
    top_free(before);
    top_free(now);
    return rc;
}

int cli_top(const struct cli *c)
{
    if (c->json) return cli_ask_node(c, print_each);
    if (c->once) return cli_ask_node(c, print_once);
    return top_show(c);
}
