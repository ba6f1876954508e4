/* The process's standard streams if the system refuses them: the linker replaces the calls by functions of the
 * test. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/socket.h>
#include <unistd.h>

#include <weft/error.h>

#include "platform.h"
#include "../../../suite.h"

static int failing, failure; /* the command of fcntl that fails, and with what; -1: none */
static int closed;

static int control(int (*real)(int, int, ...), int fd, int command, long value)
{
    if (command != failing) return real(fd, command, value);
    errno = failure;
    return -1;
}

int __real_fcntl(int fd, int command, ...);
int __real_fcntl64(int fd, int command, ...);
int __wrap_fcntl(int fd, int command, ...);
int __wrap_fcntl64(int fd, int command, ...);
#define CONTROL(name)                                      \
    int __wrap_##name(int fd, int command, ...)            \
    {                                                      \
        va_list args;                                      \
        va_start(args, command);                           \
        long value = va_arg(args, long);                   \
        va_end(args);                                      \
        return control(__real_##name, fd, command, value); \
    }
CONTROL(fcntl)
#ifdef __GLIBC__
CONTROL(fcntl64)
#endif

/* It is closed, whatever it says. */
int __real_close(int fd);
int __wrap_close(int fd);
int __wrap_close(int fd)
{
    (void)__real_close(fd);
    closed = fd;
    errno = EIO;
    return -1;
}

/* A socket cannot be opened again, so it is duplicated. */
static int with_a_socket(pf_handle *out)
{
    int ends[2], before = dup(STDIN_FILENO), rc;
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    ck_assert_int_eq(dup2(ends[0], STDIN_FILENO), STDIN_FILENO);
    closed = -1;
    rc = pf_standard(out, STDIN_FILENO);
    failing = -1;
    ck_assert_int_eq(dup2(before, STDIN_FILENO), STDIN_FILENO);
    (void)__real_close(before);
    for (int i = 0; i < 2; i++) (void)__real_close(ends[i]);
    return rc;
}

START_TEST(a_socket_is_duplicated)
{
    pf_handle h;
    failing = -1;
    ck_assert_int_eq(with_a_socket(&h), WEFT_OK);
    ck_assert_int_gt((int)h, 2);
    ck_assert_int_ne(__real_fcntl((int)h, F_GETFL) & O_NONBLOCK, 0);
    (void)__real_close((int)h);
}
END_TEST

START_TEST(no_descriptor_for_a_duplicate)
{
    pf_handle h = PF_NO_HANDLE;
    failing = F_DUPFD_CLOEXEC, failure = EMFILE;
    ck_assert_int_eq(with_a_socket(&h), WEFT_EFULL);
    ck_assert_int_eq(closed, -1);
    ck_assert(h == PF_NO_HANDLE);
}
END_TEST

/* The error says why it failed, and not how the closing went. */
START_TEST(a_duplicate_that_would_wait_is_given_up)
{
    pf_handle h = PF_NO_HANDLE;
    failing = F_SETFL, failure = ENOMEM;
    ck_assert_int_eq(with_a_socket(&h), WEFT_ENOMEM);
    ck_assert_int_gt(closed, 2);
    ck_assert(h == PF_NO_HANDLE);
}
END_TEST

START_TEST(a_stream_that_is_not_open)
{
    pf_handle h;
    failing = F_GETFL, failure = EBADF;
    ck_assert_int_eq(pf_standard(&h, STDIN_FILENO), WEFT_ECLOSED);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("standard streams");
    TCase *t = tcase_create("standard streams");
    tcase_add_test(t, a_socket_is_duplicated);
    tcase_add_test(t, no_descriptor_for_a_duplicate);
    tcase_add_test(t, a_duplicate_that_would_wait_is_given_up);
    tcase_add_test(t, a_stream_that_is_not_open);
    suite_add_tcase(s, t);
    return run_suite(s);
}
