/* gather.c -- calls many actors at once: three shops, one of which is closed. Then a cycle of calls.
 *
 *     $ cc gather.c $(pkg-config --cflags --libs weft) && ./a.out
 *     a majority: 2 of 3 shops
 *     all of them: no; the third: the request was freed without a reply
 *     two that call each other: a cycle of calls waits for itself (2 actors) */
#include <stdio.h>
#include <weft.h>

enum { PRICE = 1, CLOSED = 2, MEET = 3, GO = 4 };

static void shop(const void *arg, size_t size)
{
    const int price = *(const int *)arg;
    weft_msg *m;
    (void)size;
    while (weft_recv(&m, WEFT_FOREVER) == 0) {
        if (price != CLOSED && !weft_expired(m)) weft_reply(m, PRICE, &price, sizeof price);
        weft_msg_free(m); /* a call without a reply fails: WEFT_ENOREPLY */
    }
}

static void call_back(const void *arg, size_t size)
{
    weft_msg *m, *answer;
    (void)arg, (void)size;
    if (weft_recv_tag(&m, MEET, WEFT_FOREVER) < 0) return;
    /* The caller waits for this actor, and now this actor waits for the caller. */
    int rc = weft_call(weft_from(m), MEET, NULL, 0, &answer, WEFT_FOREVER);
    weft_pid members[8];
    printf("two that call each other: %s (%zu actors)\n", weft_strerror(rc), weft_call_cycle(members, 8));
    weft_msg_free(m);
}

static void customer(const void *arg, size_t size)
{
    static const int prices[] = {30, 20, CLOSED};
    struct weft_answer a[3];
    (void)arg, (void)size;
    for (int i = 0; i < 3; i++)
        if (weft_spawn(&a[i].from, shop, &prices[i], sizeof prices[i], NULL) < 0) return;
    int got = weft_gather(a, 3, 2, PRICE, NULL, 0, weft_after(WEFT_SEC(5)));
    printf("a majority: %d of 3 shops\n", got);
    weft_answers_free(a, 3);
    got = weft_gather(a, 3, 3, PRICE, NULL, 0, weft_after(WEFT_SEC(5)));
    printf("all of them: %s; the third: %s\n", got == 3 ? "yes" : "no", weft_strerror(a[2].error));
    weft_answers_free(a, 3);
    weft_pid other;
    weft_msg *answer;
    if (weft_spawn(&other, call_back, NULL, 0, NULL) < 0) return;
    if (weft_call(other, MEET, NULL, 0, &answer, WEFT_FOREVER) == 0) weft_msg_free(answer);
    for (int i = 0; i < 3; i++) weft_stop(a[i].from);
}

int main(void)
{
    return weft_main(NULL, customer, NULL, 0);
}
