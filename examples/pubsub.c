/* pubsub.c -- a market-data feed: readers choose by wildcard, and choose a policy for when they are too slow.
 *
 *     $ weft run pubsub.c          or: cc pubsub.c $(pkg-config --cflags --libs weft) && ./a.out
 *     ticker (quote.oslo.EQNR): 4 quotes, the last 304 for EQNR; lost 0
 *     london (quote.london.*): 4 quotes, the last 104 for VOD; lost 0
 *     audit (quote.>): 12 quotes, the last 104 for VOD; lost 0
 *     screen (quote.>): 3 quotes, the last 104 for VOD; lost 9
 *     robot (quote.oslo.*): 2 quotes, the last 201 for DNB; lost 1, cut off
 *     late (quote.>): 3 quotes, known from before: EQNR 304, DNB 204, VOD 104; lost 0
 *
 * ticker and london keep up. audit must get every quote: when its mailbox is full the feed waits for it. screen wants
 * the newest quotes: when it is too slow the oldest are dropped, and it learns how many. robot prefers to be cut off
 * rather than to act on old prices. late subscribes when the day is over and gets the last price of each share.
 * Nothing in the feed would change if its readers were on other nodes. */
#include <stdio.h>
#include <string.h>
#include <weft.h>

#define QUOTE(F) F(int, price)
WEFT_MESSAGE(quote, 1, QUOTE) /* published as "quote.MARKET.SHARE": struct quote, quote_read(), ... */
enum { READY = 2, CLOSE = 3, ROUNDS = 4 };

struct reader {
    const char *name, *pattern;
    weft_subscribe_options options;
    bool slow; /* it begins to read when the market has closed */
    weft_pid feed;
};
static const struct reader readers[] = {
    {.name = "ticker", .pattern = "quote.oslo.EQNR"},
    {.name = "london", .pattern = "quote.london.*"},
    {.name = "audit", .pattern = "quote.>", .options = {.slow = WEFT_SLOW_SUSPEND}},
    {.name = "screen", .pattern = "quote.>", .options = {.slow = WEFT_SLOW_DROP_OLDEST, .max = 3}, .slow = true},
    {.name = "robot", .pattern = "quote.oslo.*", .options = {.slow = WEFT_SLOW_DISCONNECT, .max = 2}, .slow = true},
    {.name = "late", .pattern = "quote.>"},
};
static const char *const shares[] = {"quote.oslo.EQNR", "quote.oslo.DNB", "quote.london.VOD"};

struct seen {
    int quotes, lost;
    bool cut_off;
    char last[100];
};

static void take(struct seen *seen, const weft_msg *m)
{
    struct weft_subscription_news news;
    struct quote q;
    if (weft_subscription_news_read(m, &news) == 0) {
        seen->lost += (int)news.lost;
        seen->cut_off = news.kind == WEFT_SUBSCRIPTION_ENDED;
    } else if (quote_is(m) && quote_read(m, &q) == 0) {
        const char *share = strrchr(weft_topic(m), '.') + 1;
        size_t used = weft_is_retained(m) ? strlen(seen->last) : 0;
        seen->quotes++;
        if (!weft_is_retained(m)) snprintf(seen->last, sizeof seen->last, "the last %d for %s", (int)q.price, share);
        else
            snprintf(seen->last + used, sizeof seen->last - used, "%s %s %d", used == 0 ? "known from before:" : ",",
                     share, (int)q.price);
    }
}

static void reader(const void *arg, size_t size)
{
    struct reader r = *(const struct reader *)arg;
    struct seen seen = {.quotes = 0};
    weft_msg *m;
    (void)size;
    if (weft_subscribe_with(r.pattern, &r.options, NULL) < 0) return;
    if (weft_send(r.feed, READY, NULL, 0) < 0) return;
    if (r.slow && weft_recv_tag(&m, CLOSE, WEFT_FOREVER) == 0) weft_msg_free(m); /* quotes wait in the mailbox */
    while (weft_recv(&m, r.slow ? WEFT_NOW : WEFT_FOREVER) == 0) {
        bool closed = weft_tag(m) == CLOSE;
        take(&seen, m);
        weft_msg_free(m);
        if (closed) break;
    }
    printf("%s (%s): %d quotes, %s; lost %d%s\n", r.name, r.pattern, seen.quotes, seen.last, seen.lost,
           seen.cut_off ? ", cut off" : "");
}

static weft_pid start(struct reader r)
{
    const uint32_t room = r.options.slow == WEFT_SLOW_SUSPEND ? 4 : 0; /* messages; 0: the default */
    const weft_spawn_options options = {.kind = r.name, .mailbox_max = room, .monitor = &(weft_monitor_ref){0}};
    weft_pid pid;
    weft_msg *m;
    r.feed = weft_self();
    if (weft_spawn(&pid, reader, &r, sizeof r, &options) < 0) weft_exit(WEFT_EXIT_FAILED);
    if (weft_recv_tag(&m, READY, WEFT_FOREVER) == 0) weft_msg_free(m); /* it has subscribed */
    return pid;
}

/* Each reader has received everything that was published before this. */
static void close_and_wait(weft_pid to)
{
    weft_msg *m;
    weft_ignore(weft_send(to, CLOSE, NULL, 0)); /* if it has ended, the monitor reports that as well */
    if (weft_recv_tag(&m, WEFT_TAG_DOWN, WEFT_FOREVER) == 0) weft_msg_free(m); /* the monitor reports its end */
}

static void feed(const void *arg, size_t size)
{
    enum { LATE = 5 };
    weft_pid pids[LATE];
    (void)arg, (void)size;
    for (int i = 0; i < LATE; i++) pids[i] = start(readers[i]);
    for (int round = 1; round <= ROUNDS; round++)
        for (int i = 0; i < 3; i++) {
            struct quote q = {100 * (3 - i) + round};
            weft_msg *m = quote_new(&q);
            if (m == NULL || weft_publish_retained(shares[i], weft_tag(m), weft_data(m), weft_size(m)) < 0) return;
            weft_msg_free(m);
        }
    for (int i = 0; i < LATE; i++) close_and_wait(pids[i]);
    close_and_wait(start(readers[LATE]));
}

WEFT_MODULE(feed) /* for `weft run` */

int main(void)
{
    return weft_main(NULL, feed, NULL, 0);
}
