/* runtime/memory/histogram.h -- a histogram of spans of time: buckets whose width grows with the spans, four to each
 * power of two, as in an HdrHistogram of one digit. It distinguishes spans that differ by a quarter, between 256 ns
 * and 69 s; shorter spans are counted in the first bucket, longer ones in the last. */
#ifndef WF_HISTOGRAM_H
#define WF_HISTOGRAM_H

#include "base.h"

enum {
    WF_SPAN_BITS_MIN = 8,  /* the first bucket is below 2^8 ns */
    WF_SPAN_BITS_MAX = 36, /* the last bucket is from 2^36 ns on */
    WF_SPAN_BUCKETS = 4 * (WF_SPAN_BITS_MAX - WF_SPAN_BITS_MIN) + 2,
};

struct wf_histogram {
    double sum; /* nanoseconds */
    uint64_t bucket[WF_SPAN_BUCKETS];
};

/* Counts a span `times` times; one below 0 is 0. */
void wf_histogram_add(struct wf_histogram *h, int64_t ns, uint64_t times);
void wf_histogram_merge(struct wf_histogram *to, const struct wf_histogram *from);
/* The spans in a bucket are below this value; but those in the last one may be longer. */
int64_t wf_histogram_bound(int bucket);
/* The number of all spans, and the number of spans below 2^bits ns, for bits from WF_SPAN_BITS_MIN to
 * WF_SPAN_BITS_MAX. */
uint64_t wf_histogram_count(const struct wf_histogram *h);
uint64_t wf_histogram_below(const struct wf_histogram *h, int bits);
/* A span below which this part of all spans (0 to 1) lies, as wf_histogram_bound returns it; -1: there are no
 * spans. */
int64_t wf_histogram_quantile(const struct wf_histogram *h, double part);

#endif
