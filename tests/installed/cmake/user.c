/* A first program of a user of the installed package: an actor that answers, and one that asks. */
#include <stdio.h>
#include <weft.h>

#define ADD(F) F(int, one) F(int, other)
#define SUM(F) F(int, sum)
WEFT_MESSAGE(add, 1, ADD)
WEFT_MESSAGE(sum, 2, SUM)

static void adder(const void *arg, size_t size)
{
    weft_msg *m;
    (void)arg, (void)size;
    while (weft_recv(&m, WEFT_FOREVER) == 0) {
        struct add a;
        if (add_read(m, &a) == 0) sum_reply(m, &(struct sum){.sum = a.one + a.other});
        weft_msg_free(m);
    }
}

static void first(const void *arg, size_t size)
{
    weft_pid who;
    weft_msg *answer;
    struct sum s;
    (void)arg, (void)size;
    if (weft_spawn(&who, adder, NULL, 0, NULL) < 0) return;
    if (add_call(who, &(struct add){.one = 2, .other = 3}, &answer, weft_after(WEFT_SEC(10))) < 0) return;
    if (sum_read(answer, &s) == 0) printf("2 and 3 make %d\n", (int)s.sum);
    weft_msg_free(answer);
    weft_stop(who);
}

int main(void)
{
    return weft_main(NULL, first, NULL, 0);
}
