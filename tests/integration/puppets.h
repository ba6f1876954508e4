/* One actor on each node that executes commands of a test, for tests of the knowledge that nodes have of each
 * other. */
#ifndef PUPPETS_H
#define PUPPETS_H

#include "partition.h"

enum { END = 1000, ORDER_TEXT = 300 };

struct order {
    uint32_t tag;
    char text[ORDER_TEXT];
};

/* Each test defines it: does what a message asks for. `text` is its body, up to a NUL. */
static void obey(char label, weft_msg *m, const char *text);

/* Named "do" on its node. */
static void puppet(const void *arg, size_t size)
{
    (void)size;
    char label = *(const char *)arg;
    ck_assert_int_eq(weft_register("do"), 0);
    say("%c there", label);
    weft_msg *m;
    while (weft_recv(&m, WEFT_FOREVER) == 0) {
        char text[ORDER_TEXT];
        snprintf(text, sizeof text, "%.*s", (int)weft_size(m), (const char *)weft_data(m));
        bool over = weft_tag(m) == END;
        if (!over) obey(label, m, text);
        weft_msg_free(m);
        if (over) return;
    }
}

static void give_order(const void *arg, size_t size)
{
    (void)size;
    const struct order *o = arg;
    weft_pid there;
    (void)weft_await_name("do", &there, patience());
    (void)weft_send_name("do", o->tag, o->text, strlen(o->text)); /* at the end of a test it may be gone */
}

static void instruct(int node, uint32_t tag, const char *text)
{
    struct order o = {.tag = tag};
    snprintf(o.text, sizeof o.text, "%s", text);
    run_actor(net.node[node], give_order, &o, sizeof o);
}

/* `what` is what it says when it is there. */
static void add_actor(int i, weft_actor *body, const char *what)
{
    char label = (char)('a' + i), line[32];
    run_actor(net.node[i], body, &label, 1);
    snprintf(line, sizeof line, "%c %s", label, what);
    HEAR(line);
}

/* Starts three nodes that are all linked, each with its puppet. */
static void three_nodes(void)
{
    net_open();
    for (int i = 0; i < 3; i++) net_node(i);
    for (int i = 0; i < 3; i++) {
        char line[32];
        snprintf(line, sizeof line, "node%c up", 'a' + i);
        ck_assert_int_ge(heard(line, 2), 2);
        add_actor(i, puppet, "there");
    }
}

#endif
