/* transport/sim/sim_report.c -- see sim_report.h. */
#include "sim_report.h"

#include "actor.h"
#include "hash.h"
#include "typed.h"
#include "typed_tags.h"

#include <weft/monitor.h>
#include <weft/record.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EVENTS_EACH = 4, ACTOR_TEXT = WF_SIM_NAME + 72, TAG_TEXT = 64, SENTENCE = 2 * ACTOR_TEXT + TAG_TEXT + 64 };

/* ---- Names of actors ------------------------------------------------------------------------------------------- */

static size_t place_of(uint64_t actor)
{
    return wf_mix(actor) % WF_SIM_NAMES;
}

static void note(struct wf_sim_names *n, const struct wf_worker *worker, weft_pid pid)
{
    if (pid.node == 0 || pid.actor == 0) return; /* an actor of another node: the events of that node name it */
    const struct wf_actor *a = wf_slab_find(&wf_actors_of(worker)->slab, pid.actor);
    if (a == NULL) return; /* the actor has ended: its last note stays */
    size_t i = place_of(pid.actor);
    const char *name = wf_actor_name(a);
    n->known[i].actor = pid.actor;
    snprintf(n->known[i].text, sizeof n->known[i].text, "%s", name[0] != '\0' ? name : a->kind);
}

static void note_host(struct wf_sim_names *n, const struct wf_sim_host *h, unsigned host)
{
    uint64_t number, next;
    struct weft_record r;
    wf_recorder_span(&h->worker->recorder, &number, &next);
    if (n->seen[host].node != h->node || n->seen[host].events > next) n->seen[host].events = 0;
    n->seen[host].node = h->node;
    for (number = WF_MAX(number, n->seen[host].events); number != next; number++) {
        if (!wf_recorder_get(&h->worker->recorder, number, &r)) continue;
        note(n, h->worker, r.actor);
        note(n, h->worker, r.other);
    }
    n->seen[host].events = next;
}

void wf_sim_names_note(struct wf_sim_names *n, const struct wf_sim_world *w)
{
    for (unsigned i = 0; i < WF_SIM_HOSTS; i++)
        if (w->host[i].node != NULL) note_host(n, &w->host[i], i);
}

/* Returns a text such as "n1/ledger(0.2.10000001)", with the numbers that the log shows. */
static const char *name_of(const struct wf_sim_names *n, const struct wf_sim_world *w, uint64_t actor,
                           char out[ACTOR_TEXT])
{
    struct wf_sim_life life;
    char name[WF_SIM_NAME + 1] = "", number[48];
    size_t i = place_of(actor);
    if (actor == 0) return "nobody";
    wf_sim_life_of(w, actor, &life);
    if (n->known[i].actor == actor) snprintf(name, sizeof name, "%s", n->known[i].text);
    snprintf(number, sizeof number, "%" PRIu32 ".%" PRIu32 ".%" PRIu32, wf_id_worker(actor), wf_id_slot(actor),
             wf_id_generation(actor));
    const char *before = life.over ? ", before the crash" : "";
    if (life.host == WF_SIM_HOSTS) snprintf(out, ACTOR_TEXT, "%s(%s)", name, number);
    else snprintf(out, ACTOR_TEXT, "n%u/%s(%s%s)", life.host + 1, name, number, before);
    return out;
}

/* ---- Names of messages ----------------------------------------------------------------------------------------- */

static const char *tag_of(uint32_t tag, char out[TAG_TEXT])
{
    const char *name = wf_tag_name(tag);
    if (name != NULL) snprintf(out, TAG_TEXT, "%s", name);
    else if (tag > WEFT_TAG_SYSTEM) snprintf(out, TAG_TEXT, "weft's own tag %" PRIu32, tag - WEFT_TAG_SYSTEM);
    else snprintf(out, TAG_TEXT, "tag %" PRIu32, tag);
    return out;
}

static const char *value_of(const struct weft_record *r, char out[TAG_TEXT])
{
    char words[32];
    if (r->kind != WEFT_RECORD_EXIT) return tag_of((uint32_t)r->value, out);
    const char *reason = weft_reason_text((int)r->value, words);
    if (reason == words) snprintf(out, TAG_TEXT, "%" PRId64, r->value); /* the reason has no name */
    else snprintf(out, TAG_TEXT, "%" PRId64 " (%s)", r->value, reason);
    return out;
}

/* ---- The events ------------------------------------------------------------------------------------------------ */

struct report {
    const struct wf_sim_names *names;
    const struct wf_sim_world *world;
    char *out;
    size_t size, at;
};

static void put_event(struct report *p, unsigned host, const struct weft_record *r)
{
    char actor[ACTOR_TEXT], other[ACTOR_TEXT], value[TAG_TEXT], text[SENTENCE];
    const struct wf_record_names names = {name_of(p->names, p->world, r->actor.actor, actor),
                                          name_of(p->names, p->world, r->other.actor, other), value_of(r, value)};
    int n = snprintf(p->out + p->at, p->size - p->at, "  n%u %12.6f s  %s\n", host + 1,
                     (double)(r->at - PF_SIM_START) / 1e9, wf_record_sentence(r, &names, text, sizeof text));
    if (n < 0 || (size_t)n >= p->size - p->at) p->out[p->at] = '\0'; /* removes an incomplete line */
    else p->at += (size_t)n;
}

/* Shows the last events of each actor, the actor with the newest event first. */
static void report_host(struct report *p, unsigned host)
{
    struct weft_record *all;
    int64_t count = weft_record_read(p->world->host[host].node, &all);
    for (int64_t i = count - 1; i >= 0; i--) {
        if (all[i].kind == 0) continue; /* shown already */
        int64_t of[EVENTS_EACH];
        int found = 0;
        uint64_t who = all[i].actor.actor;
        for (int64_t k = i; k >= 0; k--) {
            if (all[k].actor.actor != who || all[k].kind == 0) continue;
            if (found < EVENTS_EACH) of[found++] = k;
            else all[k].kind = (weft_record_kind)0;
        }
        while (found-- > 0) {
            put_event(p, host, &all[of[found]]);
            all[of[found]].kind = (weft_record_kind)0;
        }
    }
    if (count >= 0) free(all);
}

void wf_sim_report(const struct wf_sim_names *n, const struct wf_sim_world *w, char *out, size_t size)
{
    struct report p = {n, w, out, size, 0};
    for (unsigned i = 0; i < WF_SIM_HOSTS; i++)
        if (w->host[i].node != NULL) report_host(&p, i);
}
