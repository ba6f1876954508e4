/* tests/unit/transport/wire/frames.h -- frames in a buffer, and what a reader of them must survive. */
#ifndef WF_FRAMES_H
#define WF_FRAMES_H

#include "../../../suite.h"
#include "frame.h"
#include "frame_tables.h"

#include <string.h>

static uint8_t buffer[80 * 1024];

static weft_writer writer(void)
{
    return weft_writer_on(buffer, sizeof buffer);
}

static bool text_is(weft_text t, const char *s)
{
    return t.size == strlen(s) && memcmp(t.data, s, t.size) == 0;
}

/* Reads all frames; returns the last result: 0 at the end, or an error. */
static int read_all(weft_reader *r)
{
    struct wf_frame f;
    int got;
    while ((got = wf_frame_next(r, &f)) == 1) {
        struct wf_frame_peer p;
        weft_text t;
        if (f.kind == WF_FRAME_CHUNK && f.number > 0) {
            struct wf_frame within;
            weft_reader inside = f.items;
            (void)wf_frame_next(&inside, &within);
        }
        for (uint32_t i = 0; f.kind == WF_FRAME_PEERS && i < f.count; i++) wf_frame_next_peer(&f, &p);
        for (uint32_t i = 0; f.kind == WF_FRAME_PUBLISH_TO && i < f.count; i++) (void)wf_frame_next_queue(&f, &t);
    }
    return got;
}

/* Cut anywhere but between two frames, the buffer's batch is an error. */
static void cut_everywhere(size_t size)
{
    size_t ends[32], count = 0;
    struct wf_frame f;
    weft_reader whole = weft_reader_on(buffer, size);
    while (wf_frame_next(&whole, &f) == 1) {
        ck_assert_uint_lt(count, 32);
        ends[count++] = (size_t)(whole.at - whole.start);
    }
    for (size_t cut = 1; cut < size; cut++) {
        uint8_t *copy = malloc(cut); /* exactly as long, so that a read past the end is seen */
        memcpy(copy, buffer, cut);
        weft_reader r = weft_reader_on(copy, cut);
        bool at_end = false;
        for (size_t i = 0; i < count; i++) at_end |= ends[i] == cut;
        ck_assert_int_eq(read_all(&r), at_end ? 0 : WEFT_EFORMAT);
        free(copy);
    }
}

/* Returns how many single flipped bits made the buffer's batch an error. */
static unsigned flip_each_bit(size_t size)
{
    unsigned refused = 0;
    for (size_t bit = 0; bit < size * 8; bit++) {
        uint8_t *copy = malloc(size);
        memcpy(copy, buffer, size);
        copy[bit / 8] ^= (uint8_t)(1u << bit % 8);
        weft_reader r = weft_reader_on(copy, size);
        refused += read_all(&r) < 0;
        free(copy);
    }
    return refused;
}

#endif
