/* actors/inspect/top_actors.c -- see top_actors.h. */
#include "top_actors.h"

#include <stdlib.h>
#include <string.h>

#include "actor.h"
#include "inspect_worker.h"
#include "text.h"

struct wf_rank {
    uint64_t value;
    uint32_t place; /* in `actors` */
};

static bool contains(const char *text, const char *part)
{
    for (; *text != '\0'; text++) {
        size_t i = 0;
        while (part[i] != '\0' && wf_lower(text[i]) == wf_lower(part[i])) i++;
        if (part[i] == '\0') return true;
    }
    return part[0] == '\0';
}

static bool matches(const struct wf_top_want *want, const struct wf_actor *a)
{
    char pid[WEFT_PID_TEXT];
    if (want->filter[0] == '\0') return true;
    if (contains(a->kind, want->filter) || contains(wf_actor_name(a), want->filter)) return true;
    return contains(weft_pid_format(wf_actor_pid(a), pid), want->filter);
}

static uint64_t ranked(uint64_t first, uint64_t second)
{
    return WF_MIN(first, UINT32_MAX) << 32 | WF_MIN(second, UINT32_MAX);
}

static uint64_t value_of(enum wf_top_by by, uint64_t waiting, uint64_t received, uint64_t dropped)
{
    switch (by) {
    case WF_TOP_BY_RECEIVED: return ranked(received, waiting);
    case WF_TOP_BY_DROPPED: return ranked(dropped, waiting);
    case WF_TOP_BY_MAILBOX: break;
    }
    return ranked(waiting, received);
}

/* ---- The heap: the least is the first -------------------------------------------------------------------------- */

static void swap(struct wf_rank *a, struct wf_rank *b)
{
    struct wf_rank kept = *a;
    *a = *b;
    *b = kept;
}

static void sift_up(struct wf_rank *h, uint32_t i)
{
    for (; i > 0 && h[i].value < h[(i - 1) / 2].value; i = (i - 1) / 2) swap(&h[i], &h[(i - 1) / 2]);
}

static void sift_down(struct wf_rank *h, uint32_t count)
{
    for (uint32_t i = 0, child; (child = 2 * i + 1) < count; i = child) {
        if (child + 1 < count && h[child + 1].value < h[child].value) child++;
        if (h[i].value <= h[child].value) return;
        swap(&h[i], &h[child]);
    }
}

/* Where the description of one with this rank goes; NULL: there are better ones. */
static struct wf_actor_info *place_for(struct wf_top_actors *p, uint64_t value)
{
    if (p->count < p->want.most) {
        uint32_t place = p->count++;
        p->rank[place] = (struct wf_rank){value, place};
        sift_up(p->rank, place);
        return &p->actors[place];
    }
    if (p->count == 0 || value <= p->rank[0].value) return NULL;
    uint32_t place = p->rank[0].place;
    p->rank[0].value = value;
    sift_down(p->rank, p->count);
    return &p->actors[place];
}

int wf_top_actors_init(struct wf_top_actors *p, const struct wf_top_want *want)
{
    *p = (struct wf_top_actors){.want = *want};
    p->want.most = WF_MIN(want->most, WF_TOP_MOST);
    p->actors = calloc(p->want.most + 1, sizeof *p->actors);
    p->rank = calloc(p->want.most + 1, sizeof *p->rank);
    if (p->actors != NULL && p->rank != NULL) return WEFT_OK;
    wf_top_actors_free(p);
    return WEFT_ENOMEM;
}

void wf_top_actors_offer(struct wf_top_actors *p, const struct wf_actor *a)
{
    if (!matches(&p->want, a)) return;
    p->matched++;
    struct wf_actor_info *info = place_for(p,
                                           value_of(p->want.by, wf_mail_count(a), wf_actor_received(a), a->dropped));
    if (info != NULL) wf_actor_info_of(a, info);
}

void wf_top_actors_merge(struct wf_top_actors *p, struct wf_top_actors *from)
{
    for (uint32_t i = 0; i < from->count; i++) {
        const struct wf_actor_info *a = &from->actors[i];
        struct wf_actor_info *to = place_for(p, value_of(p->want.by, a->mailbox, a->received, a->dropped));
        if (to != NULL) *to = *a;
    }
    p->matched += from->matched;
    wf_top_actors_free(from);
}

void wf_top_actors_free(struct wf_top_actors *p)
{
    free(p->actors);
    free(p->rank);
    p->actors = NULL;
    p->rank = NULL;
    p->count = 0;
}
