/* What a receive in a random program asks for, and what a message brings: mail_programs_test.c and
 * mail_apart_programs_test.c. Messages of the programs have TAGS tags and an id as body. */
#ifndef MAIL_WANTED_H
#define MAIL_WANTED_H

#include "../node_harness.h"
#include "../random.h"

enum { TAGS = 3 };

struct wanted {
    uint32_t tag;     /* 0: any */
    int64_t of, rest; /* id % of == rest; of 0: any */
};

struct brought {
    int64_t id; /* of DOWN: the number of the actor that has ended */
    uint32_t tag;
};

/* The number of the actor with that pid: each test has its own. */
static int64_t number_of(weft_pid who);

static bool is_wanted(const struct wanted *w, uint32_t tag, int64_t id)
{
    return (w->tag == 0 || w->tag == tag) && (w->of == 0 || id % w->of == w->rest);
}

static struct brought brought_by(const weft_msg *m)
{
    struct brought b = {.tag = weft_tag(m)};
    struct weft_down down;
    if (b.tag != WEFT_TAG_DOWN) {
        memcpy(&b.id, weft_data(m), sizeof b.id);
        return b;
    }
    want_int(weft_down_read(m, &down), 0);
    b.id = number_of(down.who);
    return b;
}

static bool match(const weft_msg *m, void *wanted)
{
    struct brought b = brought_by(m);
    return is_wanted(wanted, b.tag, b.id);
}

static int receive_wanted(weft_msg **m, struct wanted *w, int64_t deadline)
{
    if (w->of != 0) return weft_recv_match(m, match, w, deadline);
    if (w->tag != 0) return weft_recv_tag(m, w->tag, deadline);
    return weft_recv(m, deadline);
}

static struct wanted random_wanted(uint64_t *random)
{
    switch (random_below(random, 5)) {
    case 0: return (struct wanted){.tag = 1 + random_below(random, TAGS)};
    case 1: return (struct wanted){.of = 2 + random_below(random, 3)};
    case 2: return (struct wanted){.tag = WEFT_TAG_DOWN};
    default: return (struct wanted){.tag = 0};
    }
}

#endif
