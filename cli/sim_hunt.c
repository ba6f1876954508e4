/* cli/sim_hunt.c -- see sim_hunt.h. */
#include "sim_hunt.h"

#include <string.h>

enum { FRESH_ONE_IN = 4, DRAWN = 4, STATES = WEFT_SIM_STATES + WF_SIM_MARKS };

/* The end of SplitMix64, as in runtime/memory/hash.h, which the command does not see. */
static uint64_t mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

static uint64_t draw(struct sim_hunt *h, uint64_t below)
{
    h->random += UINT64_C(0x9E3779B97F4A7C15);
    return mix(h->random) % below;
}

/* ---- States of a run ------------------------------------------------------------------------------------------- */

struct reached {
    uint32_t count;
    struct wf_sim_mark state[STATES];
};

static void add_state(struct reached *all, uint64_t name, uint32_t count)
{
    if (count > 0) all->state[all->count++] = (struct wf_sim_mark){name, count};
}

static uint64_t hash_of(const char *name)
{
    uint64_t h = 0;
    for (; *name != '\0'; name++) h = mix(h ^ (uint8_t)*name);
    return h;
}

static void collect(struct reached *all, const struct wf_sim_result *r)
{
    all->count = 0;
    for (uint32_t i = 0; i < r->state_count; i++) add_state(all, hash_of(r->state[i]), r->reached[i]);
    for (uint32_t i = 0; i < r->mark_count; i++) add_state(all, r->mark[i].name, r->mark[i].count);
}

static uint64_t with_count(const struct wf_sim_mark *state)
{
    return state->name + 31 - (uint32_t)__builtin_clz(state->count);
}

static uint32_t place_of(uint64_t combination)
{
    return (uint32_t)(mix(combination) % SIM_COMBINATIONS);
}

/* Returns whether no run has reached it before. */
static bool count(struct sim_hunt *h, uint64_t combination, uint32_t *rarest)
{
    const uint32_t place = place_of(combination);
    const bool is_new = h->seen[place]++ == 0;
    h->combinations += is_new;
    if (h->seen[place] < h->seen[*rarest]) *rarest = place;
    return is_new;
}

static bool count_all(struct sim_hunt *h, const struct reached *all, uint32_t *rarest)
{
    bool is_new = false;
    for (uint32_t i = 0; i < all->count; i++) {
        const struct wf_sim_mark *a = &all->state[i];
        is_new |= count(h, with_count(a), rarest);
        for (uint32_t k = 0; k < i; k++) /* both orders give the same */
            is_new |= count(h, mix(a->name) + mix(all->state[k].name), rarest);
    }
    return is_new;
}

/* ---- Runs that are kept ---------------------------------------------------------------------------------------- */

static void keep(struct sim_hunt *h, const struct wf_sim_origin *from, uint32_t rarest)
{
    const uint32_t place = h->kept_count < SIM_KEPT ? h->kept_count++ : (uint32_t)draw(h, SIM_KEPT);
    h->kept[place] = (struct sim_kept){*from, rarest, 0};
}

void sim_hunt_note(struct sim_hunt *h, const struct wf_sim_origin *from, const struct wf_sim_result *r)
{
    struct reached all;
    h->runs++;
    collect(&all, r);
    if (all.count == 0) return;
    uint32_t rarest = place_of(with_count(&all.state[0]));
    if (!count_all(h, &all, &rarest)) return;
    h->last_new = h->runs;
    keep(h, from, rarest);
}

/* How often the rarest state of a kept run was reached, plus how often its plan was varied: the run with the lowest
 * sum is varied next. */
static uint64_t worn(const struct sim_hunt *h, const struct sim_kept *k)
{
    return (uint64_t)h->seen[k->rarest] + k->tried;
}

static struct sim_kept *choose(struct sim_hunt *h)
{
    struct sim_kept *best = &h->kept[draw(h, h->kept_count)];
    for (int i = 1; i < DRAWN; i++) {
        struct sim_kept *k = &h->kept[draw(h, h->kept_count)];
        if (worn(h, k) < worn(h, best)) best = k;
    }
    best->tried++;
    return best;
}

void sim_hunt_next(struct sim_hunt *h, uint64_t *fresh, struct wf_sim_origin *out)
{
    if (h->kept_count == 0 || draw(h, FRESH_ONE_IN) == 0) {
        out->seed = (*fresh)++;
        out->change_count = 0;
        return;
    }
    *out = choose(h)->origin;
    if (out->change_count == WF_SIM_CHANGES) out->change_count--; /* another last change */
    out->change[out->change_count++] = (uint32_t)draw(h, 1000000);
}
