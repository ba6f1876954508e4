/* tests/unit/runtime/io/stream_fd_test.c -- streams of sockets made elsewhere, and descriptors that are passed on. */
#include "../streams.h"

#include <fcntl.h>
#include <sys/socket.h>

/* ---- Descriptors of others ------------------------------------------------------------------------------------- */
static void own_socket(void *arg)
{
    int pair[2], pipe_ends[2], fd = -1;
    weft_stream a, b;
    char buffer[8];
    (void)arg;
    want_int(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0); /* blocking, kept over exec */
    want_int(weft_stream_from_fd(&a, pair[0]), 0);
    want_int(weft_stream_from_fd(&b, pair[1]), 0);
    want((fcntl(pair[0], F_GETFL) & O_NONBLOCK) != 0 && (fcntl(pair[0], F_GETFD) & FD_CLOEXEC) != 0);
    want_int(weft_stream_fd(a, &fd), 0);
    want_int(fd, pair[0]);
    want_int(weft_read(a, buffer, sizeof buffer, weft_after(WEFT_MS(1))), WEFT_ETIMEDOUT);
    want_int(weft_write(b, "hi", 2, WEFT_FOREVER), 2);
    want_int(weft_read(a, buffer, sizeof buffer, WEFT_FOREVER), 2);
    close_pair(a, b);
    want_int(fcntl(pair[0], F_GETFD), -1); /* it was the stream's */
    want_int(pipe(pipe_ends), 0);
    want_int(weft_stream_from_fd(&a, pipe_ends[0]), WEFT_EINVAL);
    close(pipe_ends[0]), close(pipe_ends[1]);
    int alone = socket(AF_INET, SOCK_STREAM, 0);
    want_int(weft_stream_from_fd(&a, alone), WEFT_EINVAL); /* not connected */
    close(alone);
    want_int(weft_stream_from_fd(&a, -1), WEFT_EINVAL);
}

START_TEST(a_socket_made_elsewhere_becomes_a_stream)
{
    run_alone(own_socket, NULL);
}
END_TEST

/* ---- Descriptors on their way ---------------------------------------------------------------------------------- */
static void pass_connection(void *arg)
{
    weft_stream via_a, via_b, near, far, arrived;
    int fd = -1;
    char buffer[8];
    (void)arg;
    make_pair(UNIX, &via_a, &via_b);
    make_pair(TCP, &near, &far);
    want_int(weft_stream_fd(near, &fd), 0);
    want_int(weft_send_fd(via_a, fd, WEFT_FOREVER), 0);
    want_int(weft_close(near), 0); /* the connection is on its way, and open */
    want_int(weft_write(via_a, "more", 4, WEFT_FOREVER), 4);
    int got = -1;
    want_int(weft_receive_fd(via_b, &got, WEFT_FOREVER), 1);
    want((fcntl(got, F_GETFD) & FD_CLOEXEC) != 0);
    want_int(weft_read(via_b, buffer, sizeof buffer, WEFT_FOREVER), 4); /* bytes in their order behind it */
    want_int(weft_stream_from_fd(&arrived, got), 0);
    want_int(weft_write(arrived, "hello", 5, WEFT_FOREVER), 5);
    want_int(weft_read(far, buffer, sizeof buffer, WEFT_FOREVER), 5);
    want_int(weft_write(via_a, "x", 1, WEFT_FOREVER), 1);
    want_int(weft_receive_fd(via_b, &got, WEFT_FOREVER), WEFT_EFORMAT);
    want_int(weft_shutdown(via_a), 0);
    want_int(weft_receive_fd(via_b, &got, WEFT_FOREVER), 0);
    want_int(weft_send_fd(via_a, -1, WEFT_NOW), WEFT_EINVAL);
    want_int(weft_send_fd(via_b, 999999, WEFT_NOW), WEFT_EINVAL);
    want_int(weft_send_fd(arrived, fd, WEFT_NOW), WEFT_EINVAL); /* no Unix socket */
    want_int(weft_receive_fd(arrived, &got, WEFT_NOW), WEFT_EINVAL);
    weft_close(arrived), weft_close(far);
    close_pair(via_a, via_b);
}

START_TEST(a_connection_travels_over_a_unix_socket)
{
    run_alone(pass_connection, NULL);
}
END_TEST

/* A read ends behind the byte that a descriptor came with; what follows lies there already and makes no edge. */
static void send_mixed(void *arg)
{
    weft_stream s = *(weft_stream *)arg;
    want_int(weft_write(s, "first", 5, WEFT_FOREVER), 5);
    want_int(weft_send_fd(s, 2, WEFT_FOREVER), 0);
    want_int(weft_write(s, "last", 4, WEFT_FOREVER), 4);
}

static void read_across(weft_stream from, weft_stream to)
{
    char buffer[16];
    want_int(weft_read(to, buffer, sizeof buffer, weft_after(WEFT_MS(1))), WEFT_ETIMEDOUT); /* registers it */
    struct test_task *t = spawn_here(send_mixed, &from);
    want_int(weft_read_exact(to, buffer, 10, weft_after(WEFT_SEC(30))), 10);
    want(memcmp(buffer, "first\0last", 10) == 0);
    until(t->done);
    close_pair(from, to);
}

static void bytes_around(void *arg)
{
    weft_stream a, b;
    int pair[2];
    (void)arg;
    make_pair(UNIX, &a, &b);
    read_across(a, b); /* b: by weft_connect */
    make_pair(UNIX, &a, &b);
    read_across(b, a); /* a: by weft_accept */
    want_int(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    want_int(weft_stream_from_fd(&a, pair[0]), 0);
    want_int(weft_stream_from_fd(&b, pair[1]), 0);
    read_across(a, b);
}

START_TEST(bytes_behind_a_descriptor_are_not_left)
{
    run_alone(bytes_around, NULL);
}
END_TEST

struct receiving {
    weft_stream stream;
    int64_t deadline;
    int fd, result;
};

static void receive_one(void *arg)
{
    struct receiving *r = arg;
    r->result = weft_receive_fd(r->stream, &r->fd, r->deadline);
}

static void receiving_ends(void *arg)
{
    weft_stream a, b;
    (void)arg;
    make_pair(UNIX, &a, &b);
    struct receiving r = {.stream = b, .deadline = weft_after(WEFT_MS(2)), .fd = -1};
    receive_one(&r);
    want_int(r.result, WEFT_ETIMEDOUT);
    r.deadline = WEFT_NOW;
    receive_one(&r);
    want_int(r.result, WEFT_ETIMEDOUT);
    r.deadline = WEFT_FOREVER;
    struct test_task *t = spawn_here(receive_one, &r);
    until(is_waiting(t));
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
    want_int(weft_send_fd(a, 2, WEFT_FOREVER), 0);
    until(t->done);
    want_int(r.result, 1);
    want(r.fd > 2);
    close(r.fd);
    t = spawn_here(receive_one, &r);
    until(is_waiting(t));
    want_int(weft_close(b), 0);
    until(t->done);
    want_int(r.result, WEFT_ECLOSED);
    want_int(weft_send_fd(a, 2, WEFT_FOREVER), WEFT_ERESET);
    want_int(weft_close(a), 0);
}

START_TEST(receiving_a_descriptor_ends_as_any_wait_does)
{
    run_alone(receiving_ends, NULL);
}
END_TEST

/* More than the socket takes: the sender waits, nothing is lost, all arrive in order. */
enum { MANY = 2000 };

static void send_many(void *arg)
{
    weft_stream s = *(weft_stream *)arg;
    int ends[2];
    want_int(pipe(ends), 0);
    for (int i = 0; i < MANY; i++) {
        int rc;
        while ((rc = weft_send_fd(s, ends[i % 2], WEFT_FOREVER)) == WEFT_EFULL) wf_task_yield();
        want_int(rc, 0);
    }
    close(ends[0]), close(ends[1]);
    want_int(weft_shutdown(s), 0);
}

static void flood(void *arg)
{
    weft_stream a, b;
    int fd, count = 0, rc;
    (void)arg;
    make_pair(UNIX, &a, &b);
    spawn_here(send_many, &a);
    for (; (rc = weft_receive_fd(b, &fd, WEFT_FOREVER)) == 1; count++) {
        want_int(fcntl(fd, F_GETFL) & O_ACCMODE, count % 2 == 0 ? O_RDONLY : O_WRONLY);
        close(fd);
    }
    want_int(rc, 0);
    want_int(count, MANY);
    close_pair(a, b);
}

START_TEST(a_sender_of_many_descriptors_waits)
{
    run_alone(flood, NULL);
}
END_TEST

TEST_MAIN("stream_fd", a_socket_made_elsewhere_becomes_a_stream, a_connection_travels_over_a_unix_socket,
          bytes_behind_a_descriptor_are_not_left, receiving_a_descriptor_ends_as_any_wait_does,
          a_sender_of_many_descriptors_waits)
