/* typed.c -- an order with lines, a map and an optional note, sent to a till that adds it up and prints it as JSON.
 *
 *     $ weft run typed.c          or: cc typed.c $(pkg-config --cflags --libs weft) && ./a.out
 *     order 7 (paid): 2 tea, 1 bread, 9.25 in all, by card
 *     {"id": 7, "state": "paid", "lines": [{"name": "tea", "price": 3.5, "count": 2}, {"name": "bread", ...
 *     refused: order.lines[0].price: expected real, got str */
#include <stdio.h>
#include <weft.h>

#define STATE(E) E(STATE_OPEN, 0, "open") E(STATE_PAID, 1, "paid")
WEFT_ENUM(state, STATE)
#define LINE(F) F(str, name) F(real, price) F(int, count)
WEFT_STRUCT(line, LINE)
#define ORDER(F) F(uint, id) F(state, state) F(list(line), lines) F(map(str), labels) F(maybe(str), note)
WEFT_MESSAGE(order, 1, ORDER)

static void till(const void *arg, size_t size)
{
    weft_msg *m;
    struct order o;
    struct weft_why why;
    (void)arg, (void)size;
    for (; weft_recv(&m, WEFT_FOREVER) == 0; weft_msg_free(m)) {
        if (order_read_why(m, &o, &why) < 0) {
            printf("refused: %s\n", why.text);
            return; /* messages that an actor still holds are freed with it */
        }
        double sum = 0;
        weft_text how = weft_cstr("cash");
        printf("order %d (%s):", (int)o.id, state_name(o.state));
        for (struct line l; line_next(&o.lines, &l); sum += l.price * (double)l.count)
            printf(" %d %.*s,", (int)l.count, WEFT_STR(l.name));
        weft_str_find(&o.labels, weft_cstr("by"), &how);
        printf(" %.2f in all, by %.*s\n", sum, WEFT_STR(how));
        char json[512];
        order_json_msg(m, json, sizeof json);
        puts(json);
    }
}

static void customer(const void *arg, size_t size)
{
    struct line lines[] = {{weft_cstr("tea"), 3.5, 2}, {weft_cstr("bread"), 2.25, 1}};
    weft_entry_str labels[] = {{weft_cstr("by"), weft_cstr("card")}};
    static const char bad[] = "\x93\x08\x00\x91\x92\xA3tea\xA3\x33.5"; /* the price is a text, "3.5" */
    weft_pid to;
    (void)arg, (void)size;
    if (weft_spawn(&to, till, NULL, 0, NULL) < 0) return;
    struct order o = {.id = 7, .state = STATE_PAID, .lines = line_list(lines, 2), .labels = weft_str_map(labels, 1)};
    if (order_send(to, &o) < 0) return;
    if (weft_send(to, ORDER_TAG, bad, sizeof bad - 1) < 0) return;
}

WEFT_MODULE(customer) /* for `weft run` */

int main(void)
{
    return weft_main(NULL, customer, NULL, 0);
}
