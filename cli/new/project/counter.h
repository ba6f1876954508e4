/* counter.h -- the messages of the counter, and the actor itself. */
#ifndef COUNTER_H
#define COUNTER_H

#include <weft.h>

/* Each list makes a struct, its tag, and what sends and reads it: weft/typed.h. Append fields, never reorder them. */
#define ADD(F) F(int, amount)
WEFT_MESSAGE(add, 1, ADD)
#define ASK(F) F(str, reason)
WEFT_MESSAGE(ask, 2, ASK)
#define TOTAL(F) F(int, value) F(uint, additions)
WEFT_MESSAGE(total, 3, TOTAL)

/* Adds up what it is sent; answers each request with the total. */
void counter(const void *arg, size_t size);

#endif
