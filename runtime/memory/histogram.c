/* runtime/memory/histogram.c -- see histogram.h. */
#include "histogram.h"

static int bucket_of(int64_t ns)
{
    if (ns < INT64_C(1) << WF_SPAN_BITS_MIN) return 0;
    if (ns >= INT64_C(1) << WF_SPAN_BITS_MAX) return WF_SPAN_BUCKETS - 1;
    int bits = 63 - __builtin_clzll((unsigned long long)ns);
    int quarter = (int)(ns >> (bits - 2)) & 3;
    return 1 + 4 * (bits - WF_SPAN_BITS_MIN) + quarter;
}

int64_t wf_histogram_bound(int bucket)
{
    WF_ASSERT(bucket >= 0 && bucket < WF_SPAN_BUCKETS);
    if (bucket == WF_SPAN_BUCKETS - 1) return INT64_C(2) << WF_SPAN_BITS_MAX;
    int bits = WF_SPAN_BITS_MIN + bucket / 4, quarter = bucket % 4;
    return (INT64_C(4) + quarter) << (bits - 2);
}

void wf_histogram_add(struct wf_histogram *h, int64_t ns, uint64_t times)
{
    ns = WF_MAX(ns, 0);
    h->bucket[bucket_of(ns)] += times;
    h->sum += (double)ns * (double)times;
}

void wf_histogram_merge(struct wf_histogram *to, const struct wf_histogram *from)
{
    for (int i = 0; i < WF_SPAN_BUCKETS; i++) to->bucket[i] += from->bucket[i];
    to->sum += from->sum;
}

uint64_t wf_histogram_count(const struct wf_histogram *h)
{
    uint64_t all = 0;
    for (int i = 0; i < WF_SPAN_BUCKETS; i++) all += h->bucket[i];
    return all;
}

uint64_t wf_histogram_below(const struct wf_histogram *h, int bits)
{
    WF_ASSERT(bits >= WF_SPAN_BITS_MIN && bits <= WF_SPAN_BITS_MAX);
    uint64_t below = 0;
    for (int i = 0; i <= 4 * (bits - WF_SPAN_BITS_MIN); i++) below += h->bucket[i];
    return below;
}

int64_t wf_histogram_quantile(const struct wf_histogram *h, double part)
{
    double all = (double)wf_histogram_count(h);
    uint64_t up_to = 0;
    if (all == 0) return -1;
    for (int i = 0;; i++) {
        up_to += h->bucket[i];
        if ((up_to > 0 && (double)up_to >= part * all) || i == WF_SPAN_BUCKETS - 1) return wf_histogram_bound(i);
    }
}
