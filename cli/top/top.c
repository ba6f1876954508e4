/* cli/top/top.c -- weft top: asks a node again and again, and hands what it says to the screen, or prints it.
 *
 * With a screen there are two threads: the first one has the terminal (top_screen.c), the other one is a client node
 * with an actor that asks. They share a struct top_feed, under its lock. A pipe wakes the screen, an event the
 * actor. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "top.h"
#include "client.h"
#include "control.h"
#include "top_text.h"

struct top_feed {
    struct cli_client client; /* first: what the actor gets */
    struct cli mine;          /* its messages go to `said` */
    char error_text[512];
    int result;
    int ends[2]; /* the ends of the pipe */
    pthread_mutex_t lock;
    /* Under lock, from here on. */
    struct top_wish wish;
    struct top_news news;
    weft_event changed; /* good while `open` */
    int64_t asked;      /* when; 0: nothing is asked now */
    bool open, quit, over;
};

/* ---- Asking ---------------------------------------------------------------------------------------------------- */

/* [A] CLI_OK and the answer. */
static int ask_top(struct cli_client *k, const struct top_wish *wish, weft_msg **answer)
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

static struct top_wish wish_of(const struct cli *c)
{
    struct top_wish wish = {.everywhere = c->all};
    for (int i = 0; c->sort != NULL && i < TOP_BYS; i++) {
        if (strcmp(c->sort, top_by_names[i]) == 0) wish.by = (enum top_by)i;
    }
    if (c->filter != NULL) snprintf(wish.filter, sizeof wish.filter, "%s", c->filter);
    return wish;
}

static int64_t interval_of(const struct cli *c)
{
    return c->interval == 0 ? WEFT_SEC(1) : c->interval;
}

/* ---- Printing -------------------------------------------------------------------------------------------------- */

static int print_objects(const struct cli_client *k, const weft_msg *answer)
{
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
    struct top_wish wish = wish_of(k->c);
    weft_msg *answer;
    for (;;) {
        int rc = ask_top(k, &wish, &answer);
        if (rc != CLI_OK) return rc;
        rc = print_objects(k, answer);
        weft_msg_free(answer);
        if (rc != CLI_OK || cli_output_failed() || k->c->once || weft_sleep(weft_after(interval_of(k->c))) < 0)
            return rc;
    }
}

/* [A] --once: what there is after the interval, compared with what there was before. */
static int print_once(struct cli_client *k)
{
    struct top_wish wish = wish_of(k->c);
    struct top_snapshot *before = NULL, *now = NULL;
    int rc = CLI_OK;
    for (int i = 0; i < 2 && rc == CLI_OK; i++) {
        weft_msg *answer;
        if (i > 0) (void)weft_sleep(weft_after(interval_of(k->c)));
        rc = ask_top(k, &wish, &answer);
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

/* ---- The feed: its actor --------------------------------------------------------------------------------------- */

static void wake_screen(struct top_feed *f)
{
    (void)!write(f->ends[1], "", 1); /* full: it is awake anyway */
}

static void hand_over(struct top_feed *f, struct top_snapshot *fresh)
{
    pthread_mutex_lock(&f->lock);
    struct top_snapshot *old = f->news.fresh;
    f->news.fresh = fresh;
    f->asked = 0;
    pthread_mutex_unlock(&f->lock);
    top_free(old);
    wake_screen(f);
}

static void hand_over_detail(struct top_feed *f, const weft_msg *m)
{
    size_t size = m == NULL ? 0 : weft_size(m);
    void *copy = m == NULL ? NULL : malloc(size + 1);
    if (copy != NULL) memcpy(copy, weft_data(m), size);
    pthread_mutex_lock(&f->lock);
    void *old = f->news.detail;
    f->news.detail = copy;
    f->news.detail_size = size;
    snprintf(f->news.why, sizeof f->news.why, "%s", copy == NULL ? f->error_text : "");
    pthread_mutex_unlock(&f->lock);
    free(old);
    wake_screen(f);
}

/* Sends one or two requests. A request about an actor may fail, and a node may be slow: then the next request
 * follows. */
static int ask_once(struct top_feed *f, const struct top_wish *wish)
{
    struct cli_client *k = &f->client;
    weft_msg *answer;
    int rc = ask_top(k, wish, &answer);
    if (rc == CLI_DEADLINE) return CLI_OK;
    if (rc != CLI_OK) return rc;
    struct top_snapshot *fresh = top_read(weft_data(answer), weft_size(answer));
    weft_msg_free(answer);
    if (fresh == NULL) return cli_cannot_decode(k);
    hand_over(f, fresh);
    if (wish->inspect[0] == '\0') return CLI_OK;
    char request[80];
    weft_writer w = weft_writer_on(request, sizeof request);
    weft_put_str(&w, weft_cstr(wish->inspect));
    rc = cli_control(k, WF_CONTROL_INSPECT, request, w.size, &answer);
    hand_over_detail(f, rc == CLI_OK ? answer : NULL);
    if (rc == CLI_OK) weft_msg_free(answer);
    return rc == CLI_UNREACHABLE ? rc : CLI_OK;
}

/* The event goes with the actor, in whatever way. */
static void close_feed(void *arg)
{
    struct top_feed *f = arg;
    pthread_mutex_lock(&f->lock);
    f->open = false;
    pthread_mutex_unlock(&f->lock);
}

/* A request has failed. A node that ends refuses requests before its link ends: then the end of the node is
 * reported. */
static int explain(const struct top_feed *f, int rc)
{
    weft_msg *m;
    if (weft_recv_tag(&m, WEFT_TAG_NODE_DOWN, weft_after(WEFT_SEC(1))) < 0) return rc;
    weft_msg_free(m);
    return cli_node_gone(&f->client);
}

/* Waits until the next request. */
static int pause_for(const struct top_feed *f, int64_t until)
{
    weft_wait any[] = {weft_on_event(f->changed), weft_on_mailbox()};
    int which = weft_wait_any(any, 2, until);
    weft_msg *m;
    if (which == WEFT_ECANCELED) return CLI_FAILED;
    if (which == 0) (void)weft_event_take(f->changed);
    if (which != 1 || weft_recv(&m, WEFT_NOW) < 0) return CLI_OK;
    bool gone = weft_tag(m) == WEFT_TAG_NODE_DOWN;
    weft_msg_free(m);
    return gone ? cli_node_gone(&f->client) : CLI_OK;
}

static int feed(struct cli_client *k)
{
    struct top_feed *f = (struct top_feed *)k;
    weft_event changed;
    int rc = weft_event_open(&changed);
    if (rc == WEFT_OK) rc = weft_defer(close_feed, f);
    if (rc == WEFT_OK) rc = weft_watch_nodes();
    if (rc < 0) return cli_fail_with(k->c, rc, "cannot start");
    pthread_mutex_lock(&f->lock);
    f->changed = changed;
    f->open = true;
    pthread_mutex_unlock(&f->lock);
    while (rc == CLI_OK) {
        pthread_mutex_lock(&f->lock);
        struct top_wish wish = f->wish;
        bool quit = f->quit;
        f->asked = weft_now();
        pthread_mutex_unlock(&f->lock);
        if (quit) break;
        rc = ask_once(f, &wish);
        rc = rc != CLI_OK ? explain(f, rc) : pause_for(f, weft_after(interval_of(k->c)));
    }
    return rc;
}

static void *feed_thread(void *arg)
{
    struct top_feed *f = arg;
    f->result = cli_with_node(&f->client);
    pthread_mutex_lock(&f->lock);
    f->over = true;
    pthread_mutex_unlock(&f->lock);
    wake_screen(f);
    return NULL;
}

/* ---- The feed: the screen's side ------------------------------------------------------------------------------- */

static void change(struct top_feed *f, const struct top_wish *wish, bool quit)
{
    pthread_mutex_lock(&f->lock);
    if (wish != NULL) f->wish = *wish;
    f->quit = f->quit || quit;
    if (f->open) (void)weft_event_set(f->changed);
    pthread_mutex_unlock(&f->lock);
}

void top_feed_wish(struct top_feed *f, const struct top_wish *wish)
{
    change(f, wish, false);
}

bool top_feed_take(struct top_feed *f, struct top_news *out)
{
    char bytes[64];
    while (read(f->ends[0], bytes, sizeof bytes) > 0) {}
    pthread_mutex_lock(&f->lock);
    *out = f->news;
    out->late = f->asked == 0 ? 0 : weft_now() - f->asked;
    f->news = (struct top_news){0};
    bool more = !f->over;
    pthread_mutex_unlock(&f->lock);
    return more;
}

int top_feed_descriptor(const struct top_feed *f)
{
    return f->ends[0];
}

static bool make_pipe(int ends[2])
{
    if (pipe(ends) < 0) return false;
    for (int i = 0; i < 2; i++) {
        (void)fcntl(ends[i], F_SETFD, FD_CLOEXEC);
        (void)fcntl(ends[i], F_SETFL, O_NONBLOCK);
    }
    return true;
}

static int show(const struct cli *c, struct top_feed *f)
{
    pthread_t thread;
    sigset_t all, before;
    top_screen_prepare();
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int rc = pthread_create(&thread, NULL, feed_thread, f);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (rc != 0) return cli_fail(c, CLI_FAILED, "cannot start a thread: %s", strerror(rc));
    int signal_number = top_screen(f, &f->wish);
    change(f, NULL, true);
    pthread_join(thread, NULL);
    if (signal_number < 0) return cli_fail(c, CLI_FAILED, "the type of the terminal (TERM) is unknown; try --once");
    if (signal_number == SIGTERM || signal_number == SIGHUP) {
        (void)signal(signal_number, SIG_DFL); /* so that the parent process sees which signal ended it */
        (void)pthread_sigmask(SIG_UNBLOCK, &all, NULL);
        (void)raise(signal_number);
    }
    if (f->result == CLI_OK || signal_number != 0) return CLI_OK;
    return cli_fail(c, f->result, "%s", f->error_text);
}

int cli_top(const struct cli *c)
{
    if (c->json) return cli_ask_node(c, print_each);
    if (c->once) return cli_ask_node(c, print_once);
    if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
        return cli_fail(
            c, CLI_USAGE,
            "standard output is no terminal; use --once for one report, or --json for one after the other");
    struct top_feed *f = calloc(1, sizeof *f);
    if (f == NULL || !make_pipe(f->ends)) {
        free(f);
        return cli_fail(c, CLI_FAILED, "out of memory or of descriptors");
    }
    f->mine = *c;
    f->mine.error_text = f->error_text;
    f->mine.error_size = sizeof f->error_text;
    f->client = (struct cli_client){.c = &f->mine, .work = feed};
    f->wish = wish_of(c);
    pthread_mutex_init(&f->lock, NULL);
    int rc = show(c, f);
    pthread_mutex_destroy(&f->lock);
    close(f->ends[0]);
    close(f->ends[1]);
    top_free(f->news.fresh);
    free(f->news.detail);
    free(f);
    return rc;
}
