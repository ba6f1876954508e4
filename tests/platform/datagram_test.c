/* tests/platform/datagram_test.c -- datagrams, waited for with the poller. */
#include "conformance.h"

enum { A = 1, B = 2 };

static struct end open_here(uint64_t tag, struct pf_address *bound)
{
    struct end e = {PF_NO_HANDLE, tag};
    struct pf_address at;
    ck_assert_int_eq(pf_address_parse("127.0.0.1:0", &at), WEFT_OK);
    ck_assert_int_eq(pf_udp_open(&e.handle, &at, false), WEFT_OK);
    ck_assert_int_eq(pf_local_address(e.handle, bound), WEFT_OK);
    add(e.handle, tag);
    return e;
}

/* pf_udp_receive that waits. */
static int64_t receive(const struct end *e, void *buffer, size_t size, struct pf_address *from)
{
    for (;;) {
        forget(e->tag);
        int64_t n = pf_udp_receive(e->handle, buffer, size, from);
        if (n != PF_AGAIN) return n;
        await_ready(e->handle, e->tag, false);
    }
}

static void expect_text(const struct end *e, const char *text, const struct pf_address *sender)
{
    char buffer[64];
    struct pf_address from;
    ck_assert_int_eq(receive(e, buffer, sizeof buffer, &from), (int64_t)strlen(text));
    ck_assert_mem_eq(buffer, text, strlen(text));
    ck_assert_uint_eq(from.size, sender->size);
    ck_assert_mem_eq(from.bytes, sender->bytes, sender->size);
}

START_TEST(datagrams_come_whole_with_their_sender)
{
    struct pf_address at_a, at_b;
    char buffer[64];
    struct end a = open_here(A, &at_a), b = open_here(B, &at_b);
    ck_assert_int_eq(pf_udp_receive(b.handle, buffer, sizeof buffer, NULL), PF_AGAIN);
    ck_assert_int_eq(pf_is_ready(b.handle, false), 0);
    ck_assert_int_eq(pf_udp_send(a.handle, &at_b, "one", 3), WEFT_OK);
    expect_text(&b, "one", &at_a);
    ck_assert_int_eq(pf_udp_send(a.handle, &at_b, NULL, 0), WEFT_OK);
    expect_text(&b, "", &at_a);
    ck_assert_int_eq(pf_udp_send(b.handle, &at_a, "two", 3), WEFT_OK);
    ck_assert_int_eq(pf_udp_send(b.handle, &at_a, "three", 5), WEFT_OK);
    expect_text(&a, "two", &at_b);
    expect_text(&a, "three", &at_b);
    ck_assert_int_eq(pf_udp_receive(a.handle, buffer, sizeof buffer, NULL), PF_AGAIN);
    take_out(&a);
    take_out(&b);
}
END_TEST

START_TEST(a_too_long_datagram_is_cut_and_reported)
{
    struct pf_address at_a, at_b, from;
    char buffer[4] = "", large[100000] = "";
    struct end a = open_here(A, &at_a), b = open_here(B, &at_b);
    ck_assert_int_eq(pf_udp_send(a.handle, &at_b, "0123456789", 10), WEFT_OK);
    ck_assert_int_eq(receive(&b, buffer, sizeof buffer, &from), WEFT_ETOOBIG);
    ck_assert_mem_eq(buffer, "0123", 4);
    ck_assert_mem_eq(from.bytes, at_a.bytes, at_a.size);
    ck_assert_int_eq(pf_udp_receive(b.handle, buffer, sizeof buffer, NULL), PF_AGAIN); /* the rest is lost */
    ck_assert_int_eq(pf_udp_send(a.handle, &at_b, large, sizeof large), WEFT_ETOOBIG);
    take_out(&a);
    take_out(&b);
}
END_TEST

START_TEST(a_connected_one_hears_one_sender_only)
{
    struct pf_address at_a, at_b, at_c;
    struct end a = open_here(A, &at_a), b = open_here(B, &at_b), c = open_here(3, &at_c);
    ck_assert_int_eq(pf_udp_send(a.handle, NULL, "x", 1), WEFT_EINVAL);
    ck_assert_int_eq(pf_udp_connect(a.handle, &at_b), WEFT_OK);
    ck_assert_int_eq(pf_udp_send(c.handle, &at_a, "stranger", 8), WEFT_OK);
    ck_assert_int_eq(pf_udp_send(b.handle, &at_a, "friend", 6), WEFT_OK);
    expect_text(&a, "friend", &at_b);
    ck_assert_int_eq(pf_udp_send(a.handle, NULL, "back", 4), WEFT_OK);
    expect_text(&b, "back", &at_a);
    take_out(&a);
    take_out(&b);
    take_out(&c);
}
END_TEST

/* Many that come at once are all found by trying until there is nothing. */
START_TEST(a_burst_is_found_whole)
{
    enum { MANY = 50 };
    struct pf_address at_a, at_b;
    struct end a = open_here(A, &at_a), b = open_here(B, &at_b);
    for (unsigned char i = 0; i < MANY; i++) ck_assert_int_eq(pf_udp_send(a.handle, &at_b, &i, 1), WEFT_OK);
    for (unsigned char i = 0, got; i < MANY; i++) {
        ck_assert_int_eq(receive(&b, &got, 1, NULL), 1);
        ck_assert_uint_eq(got, i);
    }
    take_out(&a);
    take_out(&b);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        datagrams_come_whole_with_their_sender,
        a_too_long_datagram_is_cut_and_reported,
        a_connected_one_hears_one_sender_only,
        a_burst_is_found_whole,
    };
    Suite *suite = suite_create("conformance: datagrams");
    add_cases(suite, tests, WF_COUNT(tests));
    return run_suite(suite);
}
