/* The same in C++17. A clean-up is a weft_defer: stopping an actor does not unwind its stack. */
#include <cstdio>
#include <string_view>
#include <weft.h>

#define ADD(F) F(int, one) F(int, other)
#define SUM(F) F(int, sum)
WEFT_MESSAGE(add, 1, ADD)
WEFT_MESSAGE(sum, 2, SUM)

namespace {

void adder(const void *, size_t)
{
    weft_msg *m;
    while (weft_recv(&m, WEFT_FOREVER) == 0) {
        struct add a;
        if (add_read(m, &a) == 0) {
            struct sum s = {};
            s.sum = a.one + a.other;
            sum_reply(m, &s);
        }
        weft_msg_free(m);
    }
}

void first(const void *, size_t)
{
    weft_pid who;
    weft_msg *answer;
    struct sum s;
    struct add a = {};
    a.one = 2, a.other = 3;
    if (weft_spawn(&who, adder, nullptr, 0, nullptr) < 0) return;
    if (add_call(who, &a, &answer, weft_after(WEFT_SEC(10))) < 0) return;
    if (sum_read(answer, &s) == 0) std::printf("2 and 3 make %d\n", static_cast<int>(s.sum));
    weft_msg_free(answer);
    weft_stop(who);
    if (std::string_view(weft_strerror(WEFT_ETIMEDOUT)).empty()) std::puts("no text");
}

} // namespace

int main()
{
    return weft_main(nullptr, first, nullptr, 0);
}
