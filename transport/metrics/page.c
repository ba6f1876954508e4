/* transport/metrics/page.c -- see page.h. */
#include "page.h"

#include <stdlib.h>
#include <string.h>

#include <weft/actor.h>
#include <weft/call.h>
#include <weft/error.h>
#include <weft/message.h>

#include "control.h"
#include "text_buffer.h"
#include "web.h"

#define ANSWER_WITHIN WEFT_SEC(8)

enum { PAGES_MAX = 8, ACTORS_OF_EACH = 50 };

struct page {
    struct wf_list_node in_asked;
    struct wf_pages *all;
    struct wf_web_ask *ask; /* NULL: it has been answered */
    struct wf_text_buffer json;
};

int wf_pages_init(struct wf_pages *p)
{
    wf_list_init(&p->asked);
    p->count = 0;
    return pf_mutex_create(&p->lock);
}

static void answer(struct page *p, int status, const char *type, const char *body, size_t size)
{
    wf_web_answer(p->ask, status, type, body, size);
    p->ask = NULL;
}

static void refuse(struct page *p, const char *why)
{
    answer(p, 503, "text/plain; charset=utf-8", why, strlen(why));
}

/* A clean-up. */
static void let_go(void *arg)
{
    struct page *p = arg;
    struct wf_pages *all = p->all;
    pf_mutex_lock(all->lock);
    wf_unlink(&p->in_asked);
    all->count--;
    pf_mutex_unlock(all->lock);
    if (p->ask != NULL) refuse(p, "the node ends\n");
    free(p->json.data);
    free(p);
}

void wf_pages_finish(struct wf_pages *p)
{
    struct wf_list_node *k;
    if (p->lock == NULL) return;
    while ((k = wf_list_first(&p->asked)) != NULL) let_go(WF_CONTAINER(k, struct page, in_asked)); /* killed early */
    pf_mutex_destroy(p->lock);
}

static void page_main(const void *arg, size_t size)
{
    struct page *p = *(struct page *const *)arg;
    uint8_t request[32];
    weft_msg *m;
    (void)size;
    if (weft_defer(let_go, p) < 0) {
        let_go(p);
        return;
    }
    weft_writer w = weft_writer_on(request, sizeof request);
    weft_put_array(&w, 4);
    weft_put_str(&w, weft_cstr("mailbox"));
    weft_put_uint(&w, ACTORS_OF_EACH);
    weft_put_str(&w, weft_cstr(""));
    weft_put_bool(&w, true);
    int rc = weft_call_name("$node", WF_CONTROL_TOP, request, w.size, &m, weft_after(ANSWER_WITHIN));
    if (rc < 0) {
        refuse(p, weft_strerror(rc));
        return;
    }
    weft_reader r = weft_reader_on(weft_data(m), weft_size(m));
    if (weft_tag(m) == WF_CONTROL_TOP) wf_text_buffer_json(&p->json, &r);
    bool whole = weft_tag(m) == WF_CONTROL_TOP && !p->json.failed && r.error == 0;
    weft_msg_free(m);
    if (whole) answer(p, 200, "application/json", p->json.data, p->json.size);
    else refuse(p, "the node has no answer\n");
}

bool wf_pages_take(struct wf_pages *all, struct wf_web_ask *ask)
{
    weft_spawn_options quiet = {.kind = "$page"};
    struct page *p = calloc(1, sizeof *p);
    if (p == NULL) return false;
    p->all = all;
    p->ask = ask;
    pf_mutex_lock(all->lock);
    bool has_space = all->count < PAGES_MAX;
    if (has_space) {
        wf_list_push(&all->asked, &p->in_asked);
        all->count++;
    }
    pf_mutex_unlock(all->lock);
    if (has_space && weft_spawn(NULL, page_main, &p, sizeof p, &quiet) == WEFT_OK) return true;
    p->ask = NULL; /* it stays the caller's */
    if (has_space) let_go(p);
    else free(p);
    return false;
}
