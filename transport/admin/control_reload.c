/* transport/admin/control_reload.c -- replaces the module that a node runs: loads the new one on a thread for blocking
 * work, asks the actors that support it to continue with the new code, and answers which of them do.
 * actors/reload/reload.h describes what happens in them.
 *
 * A loaded module stays loaded, even if no actor uses it: its hook has run, and may have left pointers. */
#include "control_reload.h"
#include "answer.h"
#include "tool_actors.h"
#include "control.h"
#include "reload.h"

#include "transport.h"
#include "export.h"

#include <weft/local.h>
#include <weft/offload.h>

#include <stdlib.h>
#include <string.h>

enum { PATH_SIZE = 4096 };

struct job {
    wf_load_module *load;
    weft_migrate *hook;
    struct weft_export *exports;
    int rc;
    char path[PATH_SIZE];
    char why[512];
};

static void load(void *block)
{
    struct job *j = block;
    wf_exports_collect(&j->exports);
    j->rc = j->load(j->path, &j->hook, j->why, sizeof j->why);
    wf_exports_collect(NULL);
}

static bool read_path(const weft_msg *ask, char out[PATH_SIZE])
{
    weft_reader r = weft_reader_on(weft_data(ask), weft_size(ask));
    weft_text path = weft_get_str(&r);
    if (r.error < 0 || path.size == 0 || path.size >= PATH_SIZE || memchr(path.data, 0, path.size) != NULL)
        return false;
    memcpy(out, path.data, path.size);
    out[path.size] = '\0';
    return true;
}

struct outcome {
    const struct wf_reloaded *all;
    size_t count;
};

static void put_outcome(weft_writer *w, const struct wf_transport *t, const void *data)
{
    const struct outcome *o = data;
    char pid[WEFT_PID_TEXT];
    (void)t;
    weft_put_array(w, (uint32_t)o->count);
    for (size_t i = 0; i < o->count; i++) {
        const struct wf_reloaded *r = &o->all[i];
        weft_put_array(w, 5);
        weft_put_str(w, weft_cstr(weft_pid_format(r->info.pid, pid)));
        weft_put_str(w, weft_cstr(r->info.kind));
        weft_put_str(w, weft_cstr(r->info.name));
        weft_put_bool(w, r->moved);
        weft_put_str(w, weft_cstr(r->why));
    }
}

static const char *move_actors(const weft_msg *ask, const struct job *j, int64_t deadline)
{
    struct wf_reloaded *all;
    struct outcome o = {NULL, 0};
    int rc = wf_reload_actors(weft_here(), j->hook, &all, &o.count, deadline);
    if (rc < 0) return weft_strerror(rc);
    size_t moved = 0;
    for (size_t i = 0; i < o.count; i++) moved += all[i].moved;
    if (moved > 0) wf_exports_replace(j->exports);
    weft_log(WEFT_INFO, "module %s: %zu of %zu actors that can be moved run it now", j->path, moved, o.count);
    o.all = all;
    const char *why = o.count == 0 ? "no actor of this node has called weft_trap_reload, so none would run it"
                                   : wf_control_answer(ask, put_outcome, NULL, &o);
    (void)weft_release(all);
    return why;
}

/* A deadline so early that the answer arrives before the caller stops waiting. */
static int64_t soon(const weft_msg *ask)
{
    int64_t now = weft_now(), deadline = weft_deadline(ask);
    return deadline == WEFT_FOREVER ? now + WEFT_SEC(60) : now + WF_MAX(deadline - now, 0) / 4 * 3;
}

static const char *reload(const weft_msg *ask, struct job *j)
{
    int64_t deadline = soon(ask);
    if (!read_path(ask, j->path)) return "the path of the module is missing or too long";
    int rc = weft_offload(load, j, sizeof *j, deadline);
    if (rc < 0) return weft_strerror(rc);
    return j->rc < 0 ? j->why : move_actors(ask, j, deadline);
}

static void reloader_main(const void *arg, size_t size)
{
    weft_msg *ask;
    struct job *j = weft_alloc(sizeof *j);
    if (j == NULL || weft_recv(&ask, WEFT_FOREVER) < 0) return;
    memset(j, 0, sizeof *j);
    memcpy(&j->load, arg, size);
    const char *why = reload(ask, j);
    if (why != NULL) (void)weft_reply(ask, WF_CONTROL_ERROR, why, strlen(why));
    weft_msg_free(ask);
}

const char *wf_reload_begin(wf_load_module *loader, weft_msg *ask, bool *handed)
{
    if (loader == NULL) return "this node runs no module that could be replaced: weft run did not start it";
    return wf_hand_to(
        ask, &(struct wf_tool_work){.body = reloader_main, .kind = "$reload", .arg = &loader, .size = sizeof loader},
        handed);
}
