/* counter_test.c -- tests run in virtual time, on a node within this process: weft/test.h. */
#include <stdio.h>
#include <weft/test.h>

#include "counter.h"

static void adds_up(const void *arg, size_t size)
{
    weft_pid who;
    weft_msg *answer;
    struct total total;
    (void)arg, (void)size;
    weft_require(weft_spawn(&who, counter, NULL, 0, NULL) == 0);
    for (int64_t i = 1; i <= 4; i++) weft_require(add_send(who, &(struct add){.amount = i}) == 0);
    weft_require(ask_call(who, &(struct ask){0}, &answer, weft_after(WEFT_SEC(1))) == 0);
    weft_require(total_read(answer, &total) == 0);
    weft_require(total.value == 10 && total.additions == 4);
    weft_msg_free(answer);
}

static void refuses_what_it_cannot_read(const void *arg, size_t size)
{
    weft_pid who;
    weft_msg *answer;
    (void)arg, (void)size;
    weft_require(weft_spawn(&who, counter, NULL, 0, NULL) == 0);
    weft_require(weft_call(who, 99, NULL, 0, &answer, weft_after(WEFT_SEC(1))) == WEFT_ENOREPLY);
    weft_require(weft_call(who, ASK_TAG, "\xc1", 1, &answer, weft_after(WEFT_SEC(1))) == WEFT_ENOREPLY);
}

static void ends_when_asked_to(const void *arg, size_t size)
{
    weft_pid who;
    (void)arg, (void)size;
    weft_require(weft_spawn(&who, counter, NULL, 0, NULL) == 0 && weft_monitor(who, NULL) == 0);
    weft_require(weft_stop(who) == 0);
    weft_expect_down(who, WEFT_EXIT_STOPPED, WEFT_SEC(1));
}

int main(void)
{
    static const struct {
        const char *name;
        weft_actor *body;
    } tests[] = {{"adds_up", adds_up},
                 {"refuses_what_it_cannot_read", refuses_what_it_cannot_read},
                 {"ends_when_asked_to", ends_when_asked_to}};
    int failed = 0;
    for (size_t i = 0; i < sizeof tests / sizeof tests[0]; i++) {
        int ok = weft_test_run(tests[i].body, NULL, 0, NULL) == 0; /* why not is on standard error */
        printf("%-30s %s\n", tests[i].name, ok ? "ok" : "FAILED");
        failed += !ok;
    }
    return failed > 0;
}
