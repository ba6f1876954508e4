/* actors/core/feature.c -- see feature.h. */
#include "feature.h"

#include "actor.h"

void wf_features_init(struct wf_features *f, const struct wf_feature *const *list)
{
    size_t count = 0, leave = 0, early = 0, end = 0, kinds = 0;
    uint32_t slots = 0;
    for (; *list != NULL; list++) {
        const struct wf_feature *one = *list;
        WF_ASSERT(one->worker_bytes == 0 || one->slot != 0);
        WF_ASSERT(one->work_let_go == NULL || f->work_let_go == NULL); /* at most one feature has this function */
        WF_ASSERT(one->actor_goes_on == NULL || f->goes_on == NULL);
        WF_ASSERT(count < WF_FEATURES_MAX && one->slot < WF_FEATURE_SLOTS);
        WF_ASSERT(one->slot == 0 || (slots >> one->slot & 1) == 0); /* a slot belongs to one */
        slots |= UINT32_C(1) << one->slot;
        f->all[count++] = one;
        if (one->actor_leave != NULL) f->leave[leave++] = one->actor_leave;
        if (one->actor_end_early != NULL) f->end_early[early++] = one->actor_end_early;
        if (one->actor_end != NULL) f->end[end++] = one->actor_end;
        if (one->wait_kind != NULL) f->wait_kinds[kinds++] = one->wait_kind;
        if (one->work_let_go != NULL) f->work_let_go = one->work_let_go;
        if (one->actor_goes_on != NULL) f->goes_on = one->actor_goes_on;
        for (size_t i = 0; i < one->message_count; i++) {
            const struct wf_message_row *row = &one->messages[i];
            WF_ASSERT(row->kind < WF_MSG_KINDS && f->messages[row->kind].kind == 0); /* a kind belongs to one */
            f->messages[row->kind] = *row;
        }
    }
}
