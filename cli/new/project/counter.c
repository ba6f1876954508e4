/* counter.c -- an actor: it waits for its mailbox and owns its state, so there is nothing to lock. */
#include "counter.h"

void counter(const void *arg, size_t size)
{
    struct total total = {0};
    weft_msg *m;
    (void)arg, (void)size;
    while (weft_recv(&m, WEFT_FOREVER) == 0) { /* < 0: it was asked to stop */
        struct add add;
        struct ask ask;
        bool is_add = add_read(m, &add) == 0;
        if (is_add) {
            total.value += add.amount;
            total.additions++;
        }
        if (weft_wants_reply(m) && (is_add || ask_read(m, &ask) == 0)) total_reply(m, &total);
        weft_msg_free(m); /* a request without an answer fails its caller: WEFT_ENOREPLY */
    }
}
