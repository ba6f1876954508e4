#include "../streams.h"

#include <weft/udp.h>

static weft_udp open_udp(const weft_udp_options *options, weft_address *bound)
{
    weft_udp u;
    want_int(weft_udp_open(&u, "127.0.0.1:0", options), 0);
    want_int(weft_udp_address(u, bound), 0);
    return u;
}

static void close_udp(weft_udp u)
{
    want_int(weft_udp_close(u), 0);
}

static void want_clean(void)
{
    want_int(wf_here->datagrams.used, 0);
    want_int(wf_here->fds.used, 0);
}

/* ---- Whole datagrams, and their senders ------------------------------------------------------------------------ */
static void exchange(void *arg)
{
    weft_address at_a, at_b, from;
    char buffer[16], text[WEFT_ADDRESS_TEXT];
    (void)arg;
    weft_udp a = open_udp(NULL, &at_a), b = open_udp(NULL, &at_b);
    want_int(weft_udp_send(a, &at_b, "one", 3, WEFT_FOREVER), 0);
    want_int(weft_udp_send(a, &at_b, "three", 5, WEFT_FOREVER), 0);
    want_int(weft_udp_send(a, &at_b, NULL, 0, WEFT_FOREVER), 0);
    want_int(weft_udp_receive(b, buffer, sizeof buffer, &from, WEFT_FOREVER), 3);
    want(memcmp(buffer, "one", 3) == 0 && weft_address_equal(&from, &at_a) && !weft_address_equal(&from, &at_b));
    want_int(weft_udp_receive(b, buffer, sizeof buffer, NULL, WEFT_FOREVER), 5);
    want_int(weft_udp_receive(b, buffer, sizeof buffer, &from, WEFT_FOREVER), 0);
    want_int(weft_udp_receive(b, buffer, sizeof buffer, &from, WEFT_NOW), WEFT_ETIMEDOUT);
    want_int(weft_address_text(&from, text, sizeof text), 0);
    want(strncmp(text, "127.0.0.1:", 10) == 0);
    want_int(weft_udp_send(b, &from, "back", 4, WEFT_FOREVER), 0);
    want_int(weft_udp_receive(a, buffer, sizeof buffer, NULL, WEFT_FOREVER), 4);
    close_udp(a), close_udp(b);
    want_int(weft_udp_close(a), WEFT_ECLOSED);
    want_clean();
}

START_TEST(datagrams_arrive_whole_and_with_their_sender)
{
    run_alone(exchange, NULL);
}
END_TEST

static void truncated(void *arg)
{
    weft_address at, from;
    char buffer[8];
    (void)arg;
    weft_udp u = open_udp(NULL, &at);
    want_int(weft_udp_send(u, &at, "0123456789", 10, WEFT_FOREVER), 0);
    want_int(weft_udp_send(u, &at, "abc", 3, WEFT_FOREVER), 0);
    want_int(weft_udp_receive(u, buffer, 4, &from, WEFT_FOREVER), WEFT_ETOOBIG);
    want(memcmp(buffer, "0123", 4) == 0 && weft_address_equal(&from, &at));
    want_int(weft_udp_receive(u, buffer, 4, &from, WEFT_FOREVER), 3); /* not the rest of the first */
    static char large[70000];
    want_int(weft_udp_send(u, &at, large, sizeof large, WEFT_FOREVER), WEFT_ETOOBIG);
    close_udp(u);
    want_clean();
}

START_TEST(a_datagram_that_does_not_fit_returns_etoobig)
{
    run_alone(truncated, NULL);
}
END_TEST

/* ---- Peers ----------------------------------------------------------------------------------------------------- */
static void connected(void *arg)
{
    weft_address at_server, at_client, at_other, from;
    char peer[WEFT_ADDRESS_TEXT], buffer[8];
    (void)arg;
    weft_udp server = open_udp(NULL, &at_server), other = open_udp(NULL, &at_other);
    want_int(weft_address_text(&at_server, peer, sizeof peer), 0);
    weft_udp client = open_udp(&(weft_udp_options){.peer = peer}, &at_client);
    want_int(weft_udp_send(other, &at_client, "no", 2, WEFT_FOREVER), 0); /* is not let in */
    want_int(weft_udp_send(client, NULL, "ping", 4, WEFT_FOREVER), 0);
    want_int(weft_udp_receive(server, buffer, sizeof buffer, &from, WEFT_FOREVER), 4);
    want(weft_address_equal(&from, &at_client));
    want_int(weft_udp_send(server, &from, "pong", 4, WEFT_FOREVER), 0);
    want_int(weft_udp_receive(client, buffer, sizeof buffer, NULL, WEFT_FOREVER), 4);
    want(memcmp(buffer, "pong", 4) == 0);
    want_int(weft_udp_send(server, NULL, "x", 1, WEFT_FOREVER), WEFT_EINVAL);
    close_udp(server);
#ifndef _WIN32 /* wine 8 keeps it to itself: select and recv of a plain program do not hear of it either */
    want_int(weft_udp_send(client, NULL, "ping", 4, WEFT_FOREVER), 0);
    want_int(weft_udp_receive(client, buffer, sizeof buffer, NULL, WEFT_FOREVER), WEFT_EREFUSED);
#endif
    close_udp(client), close_udp(other);
    want_clean();
}

START_TEST(a_socket_with_a_peer_hears_of_it_only_and_of_its_absence)
{
    run_alone(connected, NULL);
}
END_TEST

/* ---- Waiting --------------------------------------------------------------------------------------------------- */
struct receiving {
    weft_udp udp;
    int64_t deadline, result;
    bool waits; /* by weft_wait_any */
};

static void receive_one(void *arg)
{
    struct receiving *r = arg;
    char buffer[8];
    weft_wait w = weft_on_udp(r->udp, false);
    r->result = r->waits ? weft_wait_any(&w, 1, r->deadline)
                         : weft_udp_receive(r->udp, buffer, sizeof buffer, NULL, r->deadline);
}

static void ends(void *arg)
{
    weft_address at;
    struct receiving r = {.waits = arg != NULL};
    r.udp = open_udp(NULL, &at);
    r.deadline = weft_after(WEFT_MS(2));
    struct test_task *t = spawn_here(receive_one, &r);
    until(t->done);
    want_int(r.result, WEFT_ETIMEDOUT);
    r.deadline = WEFT_FOREVER;
    t = spawn_here(receive_one, &r);
    until(is_waiting(t));
    struct receiving second = r;
    second.waits = false;
    receive_one(&second);
    want_int(second.result, WEFT_EBUSY);
    wf_task_cancel(&t->task);
    until(t->done);
    want_int(r.result, WEFT_ECANCELED);
    t = spawn_here(receive_one, &r);
    until(is_waiting(t));
    wf_task_kill(&t->task);
    until(t->done);
    want(t->was_killed);
    t = spawn_here(receive_one, &r);
    until(is_waiting(t));
    want_int(weft_udp_send(r.udp, &at, "!", 1, WEFT_FOREVER), 0);
    until(t->done);
    want_int(r.result, r.waits ? 0 : 1);
    if (r.waits) receive_one(&second); /* takes it */
    t = spawn_here(receive_one, &r);
    until(is_waiting(t));
    close_udp(r.udp);
    until(t->done);
    want_int(r.result, WEFT_ECLOSED);
    want_clean();
}

START_TEST(waiting_ends_by_datagram_deadline_cancel_kill_and_close)
{
    run_alone(ends, NULL);
    static int waits;
    run_alone(ends, &waits);
}
END_TEST

static void both_ready(void *arg)
{
    weft_address at;
    (void)arg;
    weft_udp u = open_udp(NULL, &at);
    const weft_wait w[] = {weft_on_udp(u, false), weft_on_udp(u, true)};
    want_int(weft_wait_any(w, 2, WEFT_NOW), 1);
    want_int(weft_udp_send(u, &at, "x", 1, WEFT_FOREVER), 0);
    want_int(weft_wait_all(w, 2, WEFT_FOREVER), 0);
    want_int(weft_wait_any(w, 2, WEFT_NOW), 0);
    close_udp(u);
    want_int(weft_wait_any(w, 2, WEFT_NOW), WEFT_ECLOSED);
    want_clean();
}

START_TEST(both_directions_can_be_waited_for)
{
    run_alone(both_ready, NULL);
}
END_TEST

/* ---- From worker to worker ------------------------------------------------------------------------------------- */
enum { ROUNDS = 300 };
struct hopping {
    weft_udp udp, sender;
    weft_address at;
    int round;
};

static void send_number(const struct hopping *k, int number)
{
    int rc; /* BUSY: the one before has sent, and has not come out of the call yet */
    while ((rc = weft_udp_send(k->sender, &k->at, &number, sizeof number, WEFT_FOREVER)) == WEFT_EBUSY)
        wf_task_yield();
    want_int(rc, 0);
}

static void receive_and_pass(void *arg)
{
    struct hopping *k = arg;
    int number;
    want_int(weft_udp_receive(k->udp, &number, sizeof number, NULL, WEFT_FOREVER), sizeof number);
    want_int(number, k->round);
    if (++k->round == ROUNDS) {
        close_udp(k->udp); /* the other one closes with its worker */
        return;
    }
    int round = k->round;
    bool first_wait = round % 3 == 0; /* the next one is to wait there before it comes */
    if (!first_wait) send_number(k, round);
    harness_spawn(harness_here(), (wf_here->index + 1) % harness_here()->set.count, receive_and_pass, k);
    if (first_wait) send_number(k, round);
}

static struct hopping hopping;

static void begin_hopping(void *arg)
{
    weft_address unused;
    (void)arg;
    hopping.round = 0;
    hopping.udp = open_udp(NULL, &hopping.at);
    hopping.sender = open_udp(NULL, &unused);
    send_number(&hopping, 0);
    receive_and_pass(&hopping);
}

START_TEST(other_workers_adopt_a_socket)
{
    struct harness h;
    harness_start(&h, 3);
    harness_spawn(&h, 0, begin_hopping, NULL);
    harness_stop(&h);
}
END_TEST

/* ---- Options --------------------------------------------------------------------------------------------------- */
static void options(void *arg)
{
    weft_address at, group, unused;
    weft_udp u, v;
    char text[WEFT_ADDRESS_TEXT], buffer[8];
    (void)arg;
    u = open_udp(NULL, &at);
    weft_address everybody;
    want_int(weft_address_parse(&everybody, "255.255.255.255:9"), 0);
    want_int(weft_udp_send(u, &everybody, "x", 1, WEFT_FOREVER), WEFT_EACCESS); /* not without the option */
    want_int(weft_address_text(&at, text, sizeof text), 0);
    want_int(weft_udp_open(&v, text, NULL), WEFT_EINUSE);
    close_udp(u);
    /* Two members of a group on one port, over the loopback interface. */
    weft_udp_options shared = {.reuse = true};
    want_int(weft_udp_open(&u, "0.0.0.0:0", &shared), 0);
    want_int(weft_udp_address(u, &at), 0);
    want_int(weft_address_text(&at, text, sizeof text), 0);
    want_int(weft_udp_open(&v, text, &shared), 0);
    snprintf(buffer, sizeof buffer, "%s", strrchr(text, ':') + 1);
    snprintf(text, sizeof text, "239.255.77.99:%s", buffer);
    want_int(weft_address_parse(&group, text), 0);
#ifndef _WIN32 /* wine 8 knows no MCAST_JOIN_GROUP */
    want_int(weft_udp_join(u, &group, "lo"), 0);
    want_int(weft_udp_join(u, &group, "lo"), WEFT_EEXIST);
    want_int(weft_udp_join(v, &group, "lo"), 0);
    want_int(weft_udp_leave(v, &group, "lo"), 0);
    want_int(weft_udp_leave(v, &group, "lo"), WEFT_EADDRESS);
#endif
    want_int(weft_udp_join(v, &group, "no-such-thing"), WEFT_EADDRESS);
    want_int(weft_udp_join(v, &at, "lo"), WEFT_EADDRESS);
    close_udp(u), close_udp(v);
    u = open_udp(&(weft_udp_options){.broadcast = true, .no_loop = true, .hops = 3, .receive_buffer = 65536},
                 &unused);
    close_udp(u);
    want_int(weft_udp_open(&u, "127.0.0.1:0", &(weft_udp_options){.hops = 4000}), WEFT_EINVAL);
    want_int(weft_udp_open(&u, "unix:/tmp/x", NULL), WEFT_EADDRESS);
    want_int(weft_udp_open(&u, "127.0.0.1", NULL), WEFT_EADDRESS);
    want_int(weft_udp_open(&u, NULL, NULL), WEFT_EINVAL);
    want_clean();
}

START_TEST(options_and_groups_have_effect_and_errors)
{
    weft_udp u = {0};
    ck_assert_int_eq(weft_udp_open(&u, "127.0.0.1:0", NULL), WEFT_ENOTACTOR);
    ck_assert_int_eq(weft_udp_send(u, NULL, NULL, 0, WEFT_NOW), WEFT_ENOTACTOR);
    ck_assert_int_eq(weft_udp_receive(u, NULL, 0, NULL, WEFT_NOW), WEFT_ENOTACTOR);
    ck_assert_int_eq(weft_udp_close(u), WEFT_ENOTACTOR);
    run_alone(options, NULL);
}
END_TEST

static void leave_open(void *arg)
{
    weft_address unused;
    weft_udp u = open_udp(NULL, &unused);
    if (arg == NULL) want_int(weft_udp_defer_close(u), 0);
}

static void closed_by_ending(void *arg)
{
    (void)arg;
    struct test_task *t = spawn_here(leave_open, NULL);
    until(t->done);
    want_clean();
    t = spawn_here(leave_open, &t); /* and this one with its worker */
    until(t->done);
    want_int(wf_here->datagrams.used, 1);
}

START_TEST(a_socket_closes_with_its_actor_or_with_the_node)
{
    run_alone(closed_by_ending, NULL);
}
END_TEST

TEST_MAIN("datagram", datagrams_arrive_whole_and_with_their_sender, a_datagram_that_does_not_fit_returns_etoobig,
          a_socket_with_a_peer_hears_of_it_only_and_of_its_absence,
          waiting_ends_by_datagram_deadline_cancel_kill_and_close, both_directions_can_be_waited_for,
          other_workers_adopt_a_socket, options_and_groups_have_effect_and_errors,
          a_socket_closes_with_its_actor_or_with_the_node)
