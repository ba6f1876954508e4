/* service.h -- the store of step 4: two actors and their supervisor. */
#ifndef SERVICE_H
#define SERVICE_H

#include "kv.h"

static inline void keeper(const void *arg, size_t size)
{
    struct table t = {.count = 0};
    weft_msg *m;
    (void)arg, (void)size;
    while (weft_recv(&m, WEFT_FOREVER) == 0) {
        struct put p;
        struct get g;
        if (put_read(m, &p) == 0) done_reply(m, &(struct done){.ok = table_put(&t, p.key, p.value)});
        if (get_read(m, &g) == 0) value_reply(m, &(struct value){.value = table_get(&t, g.key)});
        weft_msg_free(m);
    }
}

static inline void front(const void *arg, size_t size)
{
    weft_pid table;
    weft_msg *m;
    (void)arg, (void)size;
    if (weft_whereis("kv.table", &table) < 0) weft_fail(WEFT_EXIT_FAILED, "there is no table");
    while (weft_recv(&m, WEFT_FOREVER) == 0) {
        struct put p;
        if (put_read(m, &p) == 0) weft_require(p.key.size > 0); /* the bug is still there */
        /* The reply to a forwarded request goes to the original caller; so does an error if it cannot be sent. */
        weft_ignore(weft_send_msg(table, m));
    }
}

static inline void service(const void *arg, size_t size)
{
    const weft_child_spec children[] = {
        {.name = "kv.table", .body = keeper},
        {.name = "kv", .body = front, .keep_mailbox = true},
    };
    (void)arg, (void)size;
    /* If the table fails, `front`, which holds its pid, restarts too. If `front` fails, the table keeps running. */
    weft_supervise(&(weft_supervisor_spec){.strategy = WEFT_REST_FOR_ONE,
                                           .children = children,
                                           .child_count = 2,
                                           .max_restarts = 10,
                                           .period = WEFT_SEC(60)});
}

#endif
