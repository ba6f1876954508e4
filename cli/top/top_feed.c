/* cli/top/top_feed.c -- see top_feed.h.
 *
 * There are two threads: the first one has the terminal (top_screen.c), the other one is a client node with an actor
 * that asks. They share a struct top_feed, under its lock. A pipe wakes the screen, an event the actor. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "top_feed.h"
#include "top_screen.h"
#include "client.h"
#include "control.h"

struct top_feed {
    struct cli_client client; /* first: what the actor gets */
    struct cli mine;          /* its messages go to `error_text` */
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

/* ---- Its actor ------------------------------------------------------------------------------------------------- */

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
    int rc = top_ask(k, wish, &answer);
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
        rc = rc != CLI_OK ? explain(f, rc) : pause_for(f, weft_after(top_interval_of(k->c)));
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

/* ---- The screen's side ----------------------------------------------------------------------------------------- */

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

int top_show(const struct cli *c)
{
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
    f->wish = top_wish_of(c);
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
