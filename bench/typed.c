/* bench/typed.c -- what it costs to pack and to read a typed message, in nanoseconds; the best of some rounds. */
#include <stdio.h>

#include <weft.h>

#define SAY(F) F(str, nick) F(str, text)
WEFT_MESSAGE(say, 1, SAY)
#define NUMBERS(F) F(int, a) F(uint, b) F(real, c) F(bool, d) F(int, e) F(uint, f) F(pid, g) F(int, h)
WEFT_MESSAGE(numbers, 2, NUMBERS)
#ifndef SCALARS_ONLY
#define ITEM(F) F(str, name) F(real, price) F(int, count)
WEFT_STRUCT(item, ITEM)
#define ORDER(F) F(uint, id) F(item, first) F(list(item), items) F(maybe(str), note)
WEFT_MESSAGE(order, 3, ORDER)
#endif

enum { TIMES = 50 * 1000, ROUNDS = 30 };

static int64_t checksum; /* so that nothing is optimised away */

static void keep_least(int64_t *least, int64_t start)
{
    int64_t took = weft_now() - start;
    if (took < *least) *least = took;
}

/* Measured and written, as the sending functions do it, then read. */
#define RUN(name, value, use)                                                                        \
    static void run_##name(void)                                                                     \
    {                                                                                                \
        uint8_t buffer[1024];                                                                        \
        size_t size = 0;                                                                             \
        int64_t pack = INT64_MAX, read = INT64_MAX;                                                  \
        for (int round = 0; round < ROUNDS; round++) {                                               \
            int64_t start = weft_now();                                                              \
            for (int i = 0; i < TIMES; i++) {                                                        \
                weft_writer w = weft_writer_on(NULL, 0);                                             \
                name##_put(&w, value);                                                               \
                size = w.size;                                                                       \
                w = weft_writer_on(buffer, size);                                                    \
                name##_put(&w, value);                                                               \
                checksum += buffer[1];                                                               \
            }                                                                                        \
            keep_least(&pack, start);                                                                \
            start = weft_now();                                                                      \
            for (int i = 0; i < TIMES; i++) {                                                        \
                struct name got;                                                                     \
                weft_reader r = weft_reader_on(buffer, size);                                        \
                name##_get(&r, &got, NULL);                                                          \
                use;                                                                                 \
            }                                                                                        \
            keep_least(&read, start);                                                                \
        }                                                                                            \
        printf("%-8s %4zu bytes  pack %6.1f ns  read %6.1f ns\n", #name, size, (double)pack / TIMES, \
               (double)read / TIMES);                                                                \
    }

static struct say hello = {{"ann", 3}, {"hello, everybody who is in this room", 36}};
RUN(say, &hello, checksum += (int64_t)got.text.size)
static struct numbers numbers = {-5, 1000000, 0.25, true, 1 << 20, 7, {UINT64_MAX, 12345}, 0};
RUN(numbers, &numbers, checksum += got.e)
#ifndef SCALARS_ONLY
static struct item lines[4] = {
    {{"tea", 3}, 3.5, 2}, {{"bread", 5}, 2.25, 1}, {{"salt", 4}, 0.5, 1}, {{"oil", 3}, 9, 1}};
static struct order order = {7, {{"tea", 3}, 3.5, 2}, {lines, 4, NULL, NULL}, {true, {"no bag", 6}}};
RUN(order, &order, struct item it; while (item_next(&got.items, &it)) checksum += it.count)
#endif

int main(void)
{
    run_say();
    run_numbers();
#ifndef SCALARS_ONLY
    run_order();
#endif
    return checksum == 0;
}
