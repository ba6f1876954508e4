/* supervisor.c -- a failed actor is started again, under its name, and finds the messages that it had not read.
 *
 *     $ weft run supervisor.c       or: cc supervisor.c $(pkg-config --cflags --libs weft) && ./a.out
 *     adder starts
 *     1, in all 1
 *     2, in all 3
 *     adder starts
 *     4, in all 4
 *     5, in all 9
 *     all has been added
 */
#include <stdio.h>
#include <weft.h>

enum { ADD = 1, DONE };

static void adder(const void *arg, size_t size)
{
    weft_msg *m;
    int sum = 0;
    (void)arg, (void)size;
    printf("adder starts\n");
    weft_ready(); /* the next child may start */
    for (; weft_recv(&m, WEFT_FOREVER) == 0; weft_msg_free(m)) {
        if (weft_tag(m) == DONE) weft_reply(m, DONE, NULL, 0);
        if (weft_tag(m) != ADD) continue;
        int n = *(const int *)weft_data(m);
        weft_require(n != 3); /* a bug: this actor ends here, and its state is lost */
        printf("%d, in all %d\n", n, sum += n);
    }
}

static void feeder(const void *arg, size_t size)
{
    weft_msg *answer;
    weft_pid root;
    (void)arg, (void)size;
    for (int n = 1; n <= 5; n++)
        if (weft_send_name("adder", ADD, &n, sizeof n) < 0) weft_exit(WEFT_EXIT_FAILED); /* to be started again */
    if (weft_call_name("adder", DONE, NULL, 0, &answer, weft_after(WEFT_SEC(5))) < 0) return;
    printf("all has been added\n");
    if (weft_whereis("root", &root) == 0) weft_stop(root); /* which stops its children, the last one first */
}

static void root_body(const void *arg, size_t size)
{
    static const weft_child_spec children[] = {
        {.name = "adder", .body = adder, .keep_mailbox = true, .await_ready = true},
        {.name = "feeder", .body = feeder, .restart = WEFT_TRANSIENT},
    };
    (void)arg, (void)size;
    if (weft_register("root") < 0) return;
    weft_supervise(&(weft_supervisor_spec){.children = children, .child_count = 2, .backoff_min = WEFT_MS(10)});
}

WEFT_MODULE(root_body) /* for `weft run` */

int main(void)
{
    return weft_main(NULL, root_body, NULL, 0);
}
