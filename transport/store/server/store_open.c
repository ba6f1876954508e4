/* transport/store/server/store_open.c -- weft_store_open of weft/store.h: starts the store's actor, or one that
 * stands by. */
#include <stdlib.h>

#include <weft.h>
#include <weft/queue.h>
#include <weft/store.h>

#include "engine.h"
#include "store_actor.h"
#include "store_messages.h"
#include "store_standby.h"
#include "stored_topic.h"

static int pack_topics(const weft_store_options *o, struct store_keep *keep)
{
    for (size_t i = 0; i < o->topic_count; i++) {
        const struct weft_stored_topics *t = &o->topics[i];
        if (!wf_store_pattern_ok(t->pattern) || t->age < 0) {
            weft_log(WEFT_ERROR, "store: '%s' is not a pattern of topics, or its limits are wrong",
                     t->pattern == NULL ? "" : t->pattern);
            return WEFT_EINVAL;
        }
        keep[i] = (struct store_keep){weft_cstr(t->pattern), t->count, t->bytes, t->age};
    }
    return WEFT_OK;
}

static int pack_queues(const weft_store_options *o, struct store_rule *rule)
{
    for (size_t i = 0; i < o->queue_count; i++) {
        const struct weft_stored_queues *q = &o->queues[i];
        if (!wf_store_pattern_ok(q->pattern) || q->lease < 0 || q->jobs > WEFT_QUEUE_JOBS_MAX) {
            weft_log(WEFT_ERROR,
                     "store: '%s' is not a pattern of queues, or its lease or its number of jobs is wrong",
                     q->pattern == NULL ? "" : q->pattern);
            return WEFT_EINVAL;
        }
        rule[i] = (struct store_rule){weft_cstr(q->pattern), q->lease == 0 ? WEFT_SEC(60) : q->lease, q->attempts,
                                      q->jobs == 0 ? WEFT_QUEUE_JOBS_MAX : q->jobs};
    }
    return WEFT_OK;
}

static int pack_states(const weft_store_options *o, weft_text *state)
{
    for (size_t i = 0; i < o->state_count; i++) {
        if (!wf_store_pattern_ok(o->states[i].pattern)) {
            weft_log(WEFT_ERROR, "store: '%s' is not a pattern of states",
                     o->states[i].pattern == NULL ? "" : o->states[i].pattern);
            return WEFT_EINVAL;
        }
        state[i] = weft_cstr(o->states[i].pattern);
    }
    return WEFT_OK;
}

static int check_options(const weft_store_options *o)
{
    if (o == NULL || o->url == NULL || o->topic_count + o->queue_count + o->state_count == 0) return WEFT_EINVAL;
    if ((o->topics == NULL && o->topic_count > 0) || (o->queues == NULL && o->queue_count > 0)) return WEFT_EINVAL;
    if (o->states == NULL && o->state_count > 0) return WEFT_EINVAL;
    bool fits = o->topic_count <= WEFT_STORE_PATTERNS_MAX && o->queue_count <= WEFT_STORE_PATTERNS_MAX &&
                o->state_count <= WEFT_STORE_PATTERNS_MAX;
    return fits ? WEFT_OK : WEFT_EINVAL;
}

/* The lists of a store_config: too large for a small stack. */
struct lists {
    struct store_keep keep[WEFT_STORE_PATTERNS_MAX];
    struct store_rule rule[WEFT_STORE_PATTERNS_MAX];
    weft_text state[WEFT_STORE_PATTERNS_MAX];
};

static int pack_lists(const weft_store_options *o, struct lists *l, void **out, size_t *size)
{
    int rc = pack_topics(o, l->keep);
    if (rc == WEFT_OK) rc = pack_queues(o, l->rule);
    if (rc == WEFT_OK) rc = pack_states(o, l->state);
    if (rc < 0) return rc;
    struct store_config config = {.url = weft_cstr(o->url),
                                  .keep = store_keep_list(l->keep, o->topic_count),
                                  .queues = store_rule_list(l->rule, o->queue_count),
                                  .states = weft_str_list(l->state, o->state_count),
                                  .standby = o->standby};
    weft_writer measure = weft_writer_on(NULL, 0);
    store_config_put(&measure, &config);
    *out = weft_alloc(measure.size);
    if (*out == NULL) return WEFT_ENOMEM;
    *size = measure.size;
    weft_writer w = weft_writer_on(*out, *size);
    store_config_put(&w, &config);
    return WEFT_OK;
}

/* `*out` belongs to the calling actor, which may be killed while weft_spawn lets others run. */
static int pack_config(const weft_store_options *o, void **out, size_t *size)
{
    int rc = check_options(o);
    if (rc < 0) return rc;
    struct lists *l = malloc(sizeof *l);
    if (l == NULL) return WEFT_ENOMEM;
    rc = pack_lists(o, l, out, size);
    free(l);
    return rc;
}

int weft_store_open(const weft_store_options *options, weft_pid *out, int64_t deadline)
{
    void *config;
    size_t size;
    weft_pid pid;
    if (weft_pid_is_nobody(weft_self())) return WEFT_ENOTACTOR;
    int rc = pack_config(options, &config, &size);
    if (rc < 0) return rc;
    rc = wf_store_start(&pid, options->standby ? wf_store_standby : wf_store_actor, config, size,
                        options->standby ? &wf_store_standby_options : &wf_store_actor_options, deadline);
    (void)weft_release(config);
    if (rc == WEFT_OK && out != NULL) *out = pid;
    return rc;
}
