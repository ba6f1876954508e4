/* The output of weft top for a node's answers, without a terminal: reading, rates, order, lines; a lack of memory. */
#include "top_text.h"

#include <stdlib.h>
#include <string.h>
#include <weft/pack.h>

#include "../../../suite.h"
#include "../../alloc_faults.h"

/* ---- Answers --------------------------------------------------------------------------------------------------- */

struct actor {
    const char *pid, *kind, *name;
    uint64_t mailbox, received, dropped, stack;
};

struct node {
    const char *name, *run;
    uint64_t ms, received, bytes_in, dropped;
    struct actor actor[4]; /* up to one without a pid */
};

static void text(weft_writer *w, const char *key, const char *value)
{
    weft_put_str(w, weft_cstr(key));
    weft_put_str(w, weft_cstr(value));
}

static void number(weft_writer *w, const char *key, uint64_t value)
{
    weft_put_str(w, weft_cstr(key));
    weft_put_uint(w, value);
}

static void list(weft_writer *w, const char *key, uint32_t count)
{
    weft_put_str(w, weft_cstr(key));
    weft_put_array(w, count);
}

static void put_actor(weft_writer *w, const struct actor *a)
{
    weft_put_map(w, 9);
    text(w, "pid", a->pid);
    text(w, "kind", a->kind);
    text(w, "name", a->name);
    text(w, "state", "waiting");
    text(w, "waits_for", "mailbox");
    number(w, "mailbox", a->mailbox);
    number(w, "received", a->received);
    number(w, "dropped", a->dropped);
    number(w, "stack_most", a->stack);
}

/* Most messages have waited for less than a microsecond; since a node's beginning 10 for more than a second; and of
 * each hundred three for a millisecond. */
static void put_times(weft_writer *w, uint64_t messages)
{
    uint64_t rows[][2] = {{1024, messages}, {1280000, messages / 100 * 3}, {UINT64_C(1) << 31, 10}};
    list(w, "mailbox_ns", 3);
    for (int i = 0; i < 3; i++) {
        weft_put_array(w, 3);
        weft_put_uint(w, rows[i][0]);
        weft_put_uint(w, rows[i][1]);
        weft_put_nil(w); /* what a newer node says */
    }
}

static void put_queue(weft_writer *w, const char *name, uint64_t ready, uint64_t dead)
{
    weft_put_map(w, 5);
    text(w, "queue", name);
    number(w, "ready", ready);
    number(w, "delayed", 12345);
    number(w, "leased", 2);
    number(w, "dead", dead);
}

static void put_node(weft_writer *w, const struct node *n)
{
    uint32_t actors = 0;
    while (actors < 4 && n->actor[actors].pid != NULL) actors++;
    weft_put_map(w, 14);
    text(w, "node", n->name);
    text(w, "incarnation", n->run);
    text(w, "state", "up");
    number(w, "at_ns", n->ms * 1000000);
    number(w, "processor_ns", n->ms * 500000);
    number(w, "actor_count", actors);
    list(w, "what a newer node says", 2); /* is left out */
    weft_put_map(w, 1);
    text(w, "a", "b");
    weft_put_nil(w);
    list(w, "workers", 1);
    weft_put_map(w, 5);
    weft_put_str(w, weft_cstr("answers"));
    weft_put_bool(w, true);
    weft_put_str(w, weft_cstr("own"));
    weft_put_bool(w, false);
    number(w, "received", n->received);
    number(w, "longest_ns", 700000000);
    number(w, "busy_ns", n->ms * 875000);
    list(w, "stuck", 1);
    weft_put_map(w, 6);
    number(w, "worker", 0);
    text(w, "pid", "0.7.1@01");
    text(w, "kind", "spinner");
    text(w, "name", "wheel");
    number(w, "ns", 3200000000);
    text(w, "where", "turn < spin");
    list(w, "links", 1);
    weft_put_map(w, 3);
    text(w, "peer", "other");
    text(w, "state", "up");
    number(w, "bytes_in", n->bytes_in);
    weft_put_str(w, weft_cstr("drops"));
    weft_put_map(w, 1);
    number(w, "mailbox-full", n->dropped);
    list(w, "queues", 2);
    put_queue(w, "mail.in", 3, 0);
    put_queue(w, "mail.out", 4, 1);
    list(w, "kinds", 1);
    weft_put_map(w, 3);
    text(w, "kind", "reader");
    number(w, "waiting", 3);
    put_times(w, n->received);
    list(w, "actors", actors);
    for (uint32_t i = 0; i < actors; i++) put_actor(w, &n->actor[i]);
}

static uint8_t answer[16384];

static size_t pack(const struct node *nodes, uint32_t count)
{
    weft_writer w = weft_writer_on(answer, sizeof answer);
    weft_put_array(&w, count);
    for (uint32_t i = 0; i < count; i++) {
        if (nodes[i].run != NULL) {
            put_node(&w, &nodes[i]);
            continue;
        }
        weft_put_map(&w, 2);
        text(&w, "node", nodes[i].name);
        text(&w, "error", "timed out");
    }
    ck_assert_int_eq(w.error, 0);
    return w.size;
}

static struct top_snapshot *snapshot(const struct node *nodes, uint32_t count)
{
    struct top_snapshot *s = top_read(answer, pack(nodes, count));
    ck_assert_ptr_nonnull(s);
    return s;
}

static const struct node first[] = {
    {"a",
     "01",
     1000,
     100,
     5000,
     7,
     {{"0.1.1@01", "reader", "x", 5, 10, 0, 4096},
      {"0.10.1@01", "Reader", "", 5, 90, 3, 0},
      {"0.2.1@01", "writer", "b", 9, 20, 0, 8192}}},
    {"gone", NULL, 0, 0, 0, 0, {{NULL, NULL, NULL, 0, 0, 0, 0}}},
    {"b", "02", 9000, 50, 0, 0, {{"0.1.1@02", "reader", "\x1b[2J", 1, 1, 1, 1}}},
};
/* Half a second later; b began anew. */
static const struct node second[] = {
    {"a",
     "01",
     1500,
     350,
     4000,
     9,
     {{"0.2.1@01", "writer", "b", 0, 120, 0, 8192},
      {"0.1.1@01", "reader", "x", 5, 10, 0, 4096},
      {"0.3.1@01", "new", "", 0, 5, 0, 0}}},
    {"b", "03", 100, 60, 0, 0, {{"0.1.1@03", "reader", "", 1, 1, 1, 1}}},
};

START_TEST(an_answer_is_read)
{
    struct top_snapshot *s = snapshot(first, 3);
    ck_assert_uint_eq(s->node_count, 3);
    ck_assert_uint_eq(s->actor_count, 4);
    ck_assert_str_eq(s->nodes[0].name, "a");
    ck_assert_str_eq(s->nodes[2].error, "timed out"); /* by name */
    ck_assert_str_eq(s->nodes[0].drops[0].reason, "mailbox-full");
    ck_assert_uint_eq(s->nodes[0].drops[0].count, 7);
    ck_assert_uint_eq(s->nodes[0].kinds[0].waiting, 3);
    const struct top_queue *q = s->nodes[0].queues; /* the one with the most ready jobs first */
    ck_assert_uint_eq(s->nodes[0].queue_count, 2);
    ck_assert_str_eq(q[0].queue, "mail.out");
    ck_assert(q[0].ready == 4 && q[0].delayed == 12345 && q[0].leased == 2 && q[0].dead == 1 && q[1].ready == 3);
    ck_assert_str_eq(s->actors[3].name, "?[2J"); /* nothing that moves the cursor */
    ck_assert_uint_eq(s->actors[3].node, 1);
    ck_assert(s->nodes[0].rate < 0 && s->nodes[0].workers[0].rate < 0 && s->actors[0].rate < 0); /* not known yet */
    top_free(s);
    /* Whatever is cut off or of another form is no answer. */
    size_t size = pack(first, 3);
    for (size_t i = 0; i < size; i++) ck_assert_ptr_null(top_read(answer, i));
    ck_assert_ptr_null(top_read("\x90", 1));
    ck_assert_ptr_null(top_read("\x91\x01", 2));
    ck_assert_ptr_null(top_read("\x91\x82\xa5links\x91\x80\xa5links\x91\x80", 17));
}
END_TEST

START_TEST(rates_are_what_happened_in_between)
{
    struct top_snapshot *before = snapshot(first, 3), *now = snapshot(second, 2);
    top_compare(now, before);
    ck_assert_double_eq_tol(now->nodes[0].rate, 500, 0.001);
    ck_assert_double_eq_tol(now->nodes[0].workers[0].rate, 500, 0.001);
    ck_assert_double_eq_tol(now->nodes[0].processor, 0.5, 0.001);
    ck_assert_double_eq_tol(now->nodes[0].drops[0].rate, 4, 0.001);
    ck_assert_double_eq(now->nodes[0].links[0].rate_in, 0); /* a new link counts anew */
    ck_assert_double_eq_tol(now->actors[0].rate, 200, 0.001);
    ck_assert_double_eq(now->actors[1].rate, 0);
    ck_assert(now->actors[2].rate < 0);                           /* was not there */
    ck_assert(now->nodes[1].rate < 0 && now->actors[3].rate < 0); /* another run of b */
    top_free(before);
    top_free(now);
}
END_TEST

static void check_order(struct top_snapshot *s, enum top_by by, bool reverse, const char *filter, const char *pids)
{
    char got[256] = "";
    uint32_t shown = top_arrange(s, by, reverse, filter);
    for (uint32_t i = 0; i < shown; i++) {
        size_t n = strlen(got);
        snprintf(got + n, sizeof got - n, "%s%s", i > 0 ? " " : "", s->actors[i].pid);
    }
    ck_assert_str_eq(got, pids);
}

START_TEST(actors_are_sorted_filtered_and_found)
{
    struct top_snapshot *s = snapshot(first, 3);
    check_order(s, TOP_MAILBOX, false, "", "0.2.1@01 0.10.1@01 0.1.1@01 0.1.1@02");
    check_order(s, TOP_MAILBOX, true, "", "0.1.1@02 0.1.1@01 0.10.1@01 0.2.1@01");
    check_order(s, TOP_RECEIVED, false, "", "0.10.1@01 0.2.1@01 0.1.1@01 0.1.1@02");
    check_order(s, TOP_DROPPED, false, "", "0.10.1@01 0.1.1@02 0.1.1@01 0.2.1@01");
    check_order(s, TOP_STACK, false, "", "0.2.1@01 0.1.1@01 0.1.1@02 0.10.1@01");
    check_order(s, TOP_NAME, false, "", "0.1.1@02 0.2.1@01 0.1.1@01 0.10.1@01"); /* without one: last */
    check_order(s, TOP_KIND, false, "", "0.10.1@01 0.1.1@01 0.1.1@02 0.2.1@01");
    check_order(s, TOP_PID, false, "", "0.1.1@01 0.2.1@01 0.10.1@01 0.1.1@02");
    check_order(s, TOP_PID, false, "READER", "0.1.1@01 0.10.1@01 0.1.1@02");
    check_order(s, TOP_PID, false, "0.2", "0.2.1@01");
    check_order(s, TOP_PID, false, "nobody", "");
    uint32_t all = top_arrange(s, TOP_PID, false, "");
    ck_assert_uint_eq(top_search(s, all, 0, "writ"), 1);
    ck_assert_uint_eq(top_search(s, all, 2, "reader"), 2);
    ck_assert_uint_eq(top_search(s, all, 4, "reader"), 0); /* and again from the first one */
    ck_assert_uint_eq(top_search(s, all, 0, "none"), UINT32_MAX);
    ck_assert_uint_eq(top_search(s, 0, 0, ""), UINT32_MAX);
    top_free(s);
}
END_TEST

/* ---- Lines ----------------------------------------------------------------------------------------------------- */

static bool has_line(const struct top_lines *l, const char *part, enum top_look look)
{
    for (uint32_t i = 0; i < l->count; i++)
        if (strstr(l->line[i].text, part) != NULL && l->line[i].look == look) return true;
    return false;
}

START_TEST(lines_show_nodes_links_and_actors)
{
    struct top_lines l = {.width = 80};
    struct top_snapshot *before = snapshot(first, 1), *now = snapshot(second, 1);
    top_compare(now, before);
    (void)top_arrange(now, TOP_RATE, false, "");
    top_put_nodes(&l, now, 10);
    top_put_actors(&l, now, 0, 2, TOP_RATE);
    for (uint32_t i = 0; i < l.count; i++) ck_assert_msg(strlen(l.line[i].text) <= 80, "%s", l.line[i].text);
    ck_assert(has_line(&l, "dropped: mailbox-full 9 (4/s)", TOP_WARN));
    ck_assert(has_line(&l, "QUEUE ", TOP_HEAD) && has_line(&l, "mail.in ", TOP_PLAIN));
    ck_assert(has_line(&l, "mail.out                                4     12.3k         2         1", TOP_WARN));
    ck_assert(has_line(&l, "reader             0        3        0   1.02 us   1.28 ms", TOP_PLAIN));
    ck_assert(has_line(&l, " LONGEST BUSY ", TOP_HEAD) && has_line(&l, "  700 ms  88% ", TOP_ALARM));
    ck_assert(has_line(&l, "  700 ms   88% ", TOP_WARN)); /* its worker */
    ck_assert(has_line(&l, "HOLD-UP a: wheel (spinner 0.7.1) in ", TOP_ALARM) && has_line(&l, ", 3.20 s", TOP_ALARM));
    ck_assert(has_line(&l, "WORKER", TOP_HEAD) && has_line(&l, "*MSG/S", TOP_HEAD));
    ck_assert_str_eq(l.line[l.count - 2].text,
                     "0.2.1     writer    b         on mailbox       0/0    200    120      0  8.0 KiB");
    top_free(now);
    top_free(before);
    top_lines_clear(&l);
    now = snapshot(first, 3);
    top_put_nodes(&l, now, 1);
    ck_assert(has_line(&l, "... and 2 more nodes", TOP_FAINT) && !has_line(&l, "more kinds", TOP_FAINT));
    ck_assert(has_line(&l, "a>mail.out", TOP_WARN) && has_line(&l, "... and 3 more queues", TOP_FAINT));
    ck_assert(has_line(&l, "b>other", TOP_PLAIN)); /* in the line that would have said that one is left out */
    top_lines_clear(&l);
    top_put_nodes(&l, now, 3);
    ck_assert(has_line(&l, "gone       timed out", TOP_ALARM));
    ck_assert(has_line(&l, "a>rea", TOP_PLAIN) && has_line(&l, "  -  ", TOP_PLAIN)); /* with nothing to compare */
    ck_assert(has_line(&l, "a>other", TOP_PLAIN) && has_line(&l, "b>other", TOP_PLAIN));
    top_free(now);
    top_lines_clear(&l);
}
END_TEST

START_TEST(columns_fit_into_the_width_of_the_terminal)
{
    struct top_snapshot *before = snapshot(first, 3), *now = snapshot(second, 2);
    top_compare(now, before);
    for (int nodes = 1; nodes <= 2; nodes++) {
        now->node_count = (uint32_t)nodes;
        for (int width = 80; width < 240; width++) {
            struct top_lines l = {.width = width};
            top_put_nodes(&l, now, 10);
            top_put_actors(&l, now, 0, 4, TOP_MAILBOX);
            for (uint32_t i = 0; i < l.count; i++)
                ck_assert_msg((int)strlen(l.line[i].text) <= width, "%d: %s", width, l.line[i].text);
            ck_assert(has_line(&l, "DROPS", TOP_HEAD));
            ck_assert(width < 89 || has_line(&l, "   STACK", TOP_HEAD));
            ck_assert(width < 109 || has_line(&l, "  MBOX-P99", TOP_HEAD));
            top_lines_clear(&l);
        }
    }
    top_free(now);
    top_free(before);
}
END_TEST

START_TEST(nodes_and_actors_are_in_the_same_order_each_time)
{
    static const struct node asked = {.name = "m", .run = "05", .ms = 1000, .received = 100},
                             later = {.name = "z", .run = "06", .ms = 1000, .actor = {{.pid = "0.1.1@06"}}},
                             sooner = {.name = "a", .run = "07", .ms = 1000, .actor = {{.pid = "0.1.1@07"}}};
    struct top_snapshot *one = snapshot((struct node[]){asked, later, sooner}, 3);
    struct top_snapshot *other = snapshot((struct node[]){asked, sooner, later}, 3);
    for (int i = 0; i < 3; i++) ck_assert_str_eq(one->nodes[i].name, other->nodes[i].name);
    ck_assert_str_eq(one->nodes[0].name, "m");
    ck_assert_str_eq(one->nodes[1].name, "a");
    check_order(one, TOP_MAILBOX, false, "", "0.1.1@07 0.1.1@06");
    check_order(other, TOP_MAILBOX, false, "", "0.1.1@07 0.1.1@06");
    ck_assert_str_eq(one->nodes[one->actors[0].node].name, "a");
    /* Of equally full mailboxes the one that got more messages is first; so are the longest times, on whichever
     * node. */
    one->actors[1].received = 1;
    check_order(one, TOP_MAILBOX, false, "", "0.1.1@06 0.1.1@07");
    one->nodes[2].kinds[0].p99_ns = 1e6;
    struct top_lines l = {.width = 80};
    top_put_nodes(&l, one, 1);
    uint32_t head = 0;
    while (head < l.count && strncmp(l.line[head].text, "KIND", 4) != 0) head++;
    ck_assert_uint_lt(head + 2, l.count);
    ck_assert(strncmp(l.line[head + 1].text, "z>", 2) == 0);
    ck_assert_str_eq(l.line[head + 2].text, "... and 2 more kinds");
    top_lines_clear(&l);
    top_free(one);
    top_free(other);
}
END_TEST

START_TEST(an_answer_of_inspect_is_shown_as_lines)
{
    struct top_lines l = {.width = 80};
    weft_writer w = weft_writer_on(answer, sizeof answer);
    weft_put_map(&w, 5);
    text(&w, "kind", "k\n");
    number(&w, "mailbox", 12);
    number(&w, "waits_ns", 2500000);
    list(&w, "links", 2);
    weft_put_str(&w, weft_cstr("0.1.1@x"));
    weft_put_str(&w, weft_cstr("0.2.1@x"));
    list(&w, "callers", 1);
    weft_put_array(&w, 4);
    weft_put_str(&w, weft_cstr("/opt/shop.so"));
    weft_put_uint(&w, 0x1a2b);
    weft_put_str(&w, weft_cstr(""));
    weft_put_uint(&w, 0);
    ck_assert(top_put_detail(&l, answer, w.size));
    ck_assert(has_line(&l, "callers       shop.so+0x1a2b", TOP_PLAIN));
    ck_assert(has_line(&l, "kind          k?", TOP_PLAIN) && has_line(&l, "mailbox       12", TOP_PLAIN));
    ck_assert(has_line(&l, "waits_ns      2.50 ms", TOP_PLAIN));
    ck_assert(has_line(&l, "links         0.1.1@x  0.2.1@x", TOP_PLAIN));
    ck_assert(!top_put_detail(&l, "\x81\xa1", 2));
    top_lines_clear(&l);
}
END_TEST

START_TEST(numbers)
{
    char out[16];
    static const struct {
        double value;
        const char *number, *bytes, *span;
    } rows[] = {{0, "0", "0 B", "0 ns"},
                {999, "999", "999 B", "999 ns"},
                {1024, "1024", "1.0 KiB", "1.02 us"},
                {9999, "9999", "9.8 KiB", "10.00 us"},
                {12345, "12.3k", "12 KiB", "12.3 us"},
                {999900, "1.00M", "976 KiB", "1000 us"},
                {123456789, "123M", "118 MiB", "123 ms"},
                {4.5e12, "4.50T", "4.1 TiB", "4500 s"},
                {-1, "-", "-", NULL}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        ck_assert_str_eq(top_number(rows[i].value, out), rows[i].number);
        ck_assert_str_eq(top_bytes(rows[i].value, out), rows[i].bytes);
        if (rows[i].span != NULL) ck_assert_str_eq(top_span(rows[i].value, out), rows[i].span);
    }
}
END_TEST

START_TEST(without_memory_there_is_less_and_nothing_is_lost)
{
    size_t size = pack(first, 3);
    struct top_snapshot *s = NULL;
    for (long n = 0; s == NULL; n++) {
        ck_assert_int_lt(n, 100);
        long live = faults.live;
        faults_arm(n, true);
        s = top_read(answer, size);
        if (faults_disarm() > 0 && s == NULL) ck_assert_int_eq(faults.live, live);
    }
    struct top_lines l = {.width = 80};
    faults_arm(0, true);
    top_put_nodes(&l, s, 10);
    top_compare(s, s);
    ck_assert_int_gt(faults_disarm(), 0);
    ck_assert(l.failed && l.count == 0);
    top_free(s);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("top");
    TCase *t = tcase_create("top");
    tcase_add_test(t, an_answer_is_read);
    tcase_add_test(t, rates_are_what_happened_in_between);
    tcase_add_test(t, actors_are_sorted_filtered_and_found);
    tcase_add_test(t, lines_show_nodes_links_and_actors);
    tcase_add_test(t, columns_fit_into_the_width_of_the_terminal);
    tcase_add_test(t, nodes_and_actors_are_in_the_same_order_each_time);
    tcase_add_test(t, an_answer_of_inspect_is_shown_as_lines);
    tcase_add_test(t, numbers);
    tcase_add_test(t, without_memory_there_is_less_and_nothing_is_lost);
    suite_add_tcase(s, t);
    return run_suite(s);
}
