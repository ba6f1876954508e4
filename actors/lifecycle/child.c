/* actors/lifecycle/child.c -- supervision in the child, and requests to a supervisor. */
#include "child.h"

#include "deliver.h"
#include "names.h"
#include "supervisor.h"

#include <string.h>

/* ---- In a child ------------------------------------------------------------------------------------------------ */

static int take_name(const char *name)
{
    weft_pid has;
    int rc = weft_register(name);
    if (rc != WEFT_EEXIST) return rc;
    /* A kept actor has its name already. */
    return weft_whereis(name, &has) == WEFT_OK && weft_pid_equal(has, weft_self()) ? WEFT_OK : rc;
}

void wf_child_main(const void *arg, size_t size)
{
    const struct wf_charge *c = arg;
    WF_ASSERT(size >= sizeof *c);
    struct wf_actor *self = wf_actor_self();
    if (wf_actor_more(self) == NULL) weft_exit(WEFT_ENOMEM);
    self->more->charge = c;
    int rc = c->unregistered ? WEFT_OK : take_name(c->name);
    if (rc == WEFT_OK && !c->await_ready) rc = weft_ready();
    if (rc < 0) weft_exit(rc);
    size -= sizeof *c;
    c->body(size == 0 ? NULL : c + 1, size);
    self->more->charge = NULL; /* it is in this stack frame */
}

int wf_child_tell(uint32_t tag)
{
    struct wf_actor *self = wf_actor_self();
    const struct wf_charge *c = self->more == NULL ? NULL : self->more->charge;
    if (c == NULL) return WEFT_OK;
    struct wf_worker *w = self->task.worker;
    weft_msg *m = wf_msg_new(w, tag, 0);
    if (m == NULL) return WEFT_ENOMEM;
    m->post.flags = WF_MSG_SYSTEM;
    m->from = wf_actor_pid(self);
    return wf_send_signal(w, c->supervisor, m);
}

int weft_ready(void)
{
    struct wf_actor *self = wf_actor_self();
    if (self == NULL) return WEFT_ENOTACTOR;
    if (self->told_ready) return WEFT_OK;
    int rc = wf_child_tell(WF_TAG_CHILD_STARTED);
    self->told_ready = rc == WEFT_OK;
    return rc;
}

/* ---- Specs ----------------------------------------------------------------------------------------------------- */

static const char *wrong_field(const weft_child_spec *s)
{
    if (s->body == NULL) return "body is NULL";
    if (s->arg == NULL && s->arg_size > 0) return "arg is NULL but arg_size is not 0";
    if (s->arg_size > WEFT_CHILD_ARG_MAX) return "arg_size is over 60 KiB";
    if ((unsigned)s->restart > WEFT_TEMPORARY) return "restart is no weft_restart";
    if (s->start_timeout < 0) return "start_timeout is negative";
    if (wf_is_point(s->start_timeout)) return "start_timeout is a point in time, not a span";
    if (s->stop_timeout < 0) return "stop_timeout is negative";
    if (wf_is_point(s->stop_timeout)) return "stop_timeout is a point in time, not a span";
    if (s->options.link) return "options.link is set";
    if (s->options.monitor != NULL) return "options.monitor is set";
    return NULL;
}

int wf_child_check(const weft_child_spec *s, const char *of)
{
    if (s->name == NULL || wf_name_check(weft_cstr(s->name)) < 0) {
        weft_log(WEFT_ERROR, "%s: name of a child: \"%.70s\" is not 1 to %d letters, digits, '.', '_', '-' or '$'",
                 of, s->name == NULL ? "" : s->name, WF_NAME_MAX);
        return WEFT_EINVAL;
    }
    const char *wrong = wrong_field(s);
    if (wrong == NULL) return WEFT_OK;
    weft_log(WEFT_ERROR, "%s: child %s: %s", of, s->name, wrong);
    return WEFT_EINVAL;
}

/* ---- Asking a supervisor --------------------------------------------------------------------------------------- */

static bool is_here(weft_pid supervisor)
{
    return supervisor.node == weft_node_incarnation(weft_here());
}

/* WEFT_EINVAL: an actor that is no supervisor has answered in its own way. */
static int answer_of(weft_msg *m, uint32_t tag, struct wf_child_answer *out)
{
    bool good = weft_tag(m) == tag && weft_size(m) == sizeof *out;
    if (good) memcpy(out, weft_data(m), sizeof *out);
    weft_msg_free(m);
    return good ? out->rc : WEFT_EINVAL;
}

int weft_start_child(weft_pid supervisor, const weft_child_spec *spec, weft_pid *out, int64_t deadline)
{
    if (wf_actor_self() == NULL) return WEFT_ENOTACTOR;
    if (spec == NULL || !is_here(supervisor)) return WEFT_EINVAL;
    int rc = wf_child_check(spec, "weft_start_child");
    if (rc < 0) return rc;
    /* The request is in a message, so that it is freed if this actor is killed while it waits. */
    size_t size = sizeof(struct wf_start_request) + spec->arg_size;
    weft_msg *box = weft_msg_new(0, size);
    if (box == NULL) return WEFT_ENOMEM;
    struct wf_start_request *r = weft_msg_body(box);
    *r = (struct wf_start_request){.spec = *spec};
    memcpy(r->name, spec->name, strlen(spec->name));
    if (spec->arg_size > 0) memcpy(r + 1, spec->arg, spec->arg_size);
    weft_msg *m;
    struct wf_child_answer answer;
    rc = weft_call(supervisor, WF_TAG_START_CHILD, r, size, &m, deadline);
    weft_msg_free(box);
    if (rc == WEFT_OK) rc = answer_of(m, WF_TAG_START_CHILD, &answer);
    if (rc == WEFT_OK && out != NULL) *out = answer.pid;
    return rc;
}

int weft_stop_child(weft_pid supervisor, const char *name, int64_t deadline)
{
    if (wf_actor_self() == NULL) return WEFT_ENOTACTOR;
    if (name == NULL || wf_name_check(weft_cstr(name)) < 0 || !is_here(supervisor)) return WEFT_EINVAL;
    weft_msg *m;
    struct wf_child_answer answer;
    int rc = weft_call(supervisor, WF_TAG_STOP_CHILD, name, strlen(name) + 1, &m, deadline);
    return rc == WEFT_OK ? answer_of(m, WF_TAG_STOP_CHILD, &answer) : rc;
}

int weft_children(weft_pid supervisor, struct weft_child_info *out, size_t max, int64_t deadline)
{
    if (wf_actor_self() == NULL) return WEFT_ENOTACTOR;
    if ((out == NULL && max > 0) || !is_here(supervisor)) return WEFT_EINVAL;
    weft_msg *m;
    int rc = weft_call(supervisor, WF_TAG_LIST_CHILDREN, NULL, 0, &m, deadline);
    if (rc < 0) return rc;
    struct wf_child_answer no;
    if (weft_tag(m) != WF_TAG_LIST_CHILDREN || weft_size(m) == sizeof no || weft_size(m) % sizeof *out != 0)
        return answer_of(m, WF_TAG_LIST_CHILDREN, &no);
    size_t count = weft_size(m) / sizeof *out;
    if (count > 0 && max > 0) memcpy(out, weft_data(m), WF_MIN(count, max) * sizeof *out);
    weft_msg_free(m);
    return (int)count;
}

/* ---- What the feature registers -------------------------------------------------------------------------------- */

/* A supervisor stops its children, in the right order. */
static bool is_stopped_by_other(const struct wf_actor *a)
{
    return a->body == wf_child_main;
}

const struct wf_feature wf_supervision_feature = {.name = "supervision",
                                                  .actor_is_stopped_by_other = is_stopped_by_other};
