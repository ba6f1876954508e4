/* tests/fuzz/fuzz.h -- shared by the targets. */
#ifndef WF_FUZZ_H
#define WF_FUZZ_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MUST(condition) ((condition) ? (void)0 : fuzz_failed(#condition, __FILE__, __LINE__))

static inline _Noreturn void fuzz_failed(const char *condition, const char *file, int line)
{
    fprintf(stderr, "%s:%d: not %s\n", file, line, condition);
    abort();
}

/* The target itself: conserve.c or replay.c stands before it. */
int fuzz_one_input(const uint8_t *data, size_t size);

/* What has not been taken of an input. */
struct input {
    const uint8_t *at, *end;
};

static inline size_t input_left(const struct input *in)
{
    return (size_t)(in->end - in->at);
}

static inline unsigned input_byte(struct input *in)
{
    return in->at < in->end ? *in->at++ : 0;
}

/* A size of two bytes, high one first. */
static inline unsigned input_size(struct input *in)
{
    unsigned high = input_byte(in);
    return high << 8 | input_byte(in);
}

/* The next `*size` bytes, or as many as there are, in memory of exactly that size: reading past them is seen. */
static inline uint8_t *input_copy(struct input *in, size_t *size)
{
    if (*size > input_left(in)) *size = input_left(in);
    uint8_t *copy = malloc(*size + (*size == 0));
    MUST(copy != NULL);
    if (*size > 0) memcpy(copy, in->at, *size);
    in->at += *size;
    return copy;
}

/* What is left of it, up to the first NUL, as a string. */
static inline char *input_string(const struct input *in)
{
    size_t left = input_left(in), size = left == 0 ? 0 : strnlen((const char *)in->at, left);
    char *text = malloc(size + 1); /* not strndup, which ASan's strict checks want to end in a NUL */
    MUST(text != NULL);
    if (size > 0) memcpy(text, in->at, size);
    text[size] = 0;
    return text;
}

#endif
