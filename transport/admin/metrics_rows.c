/* transport/admin/metrics_rows.c -- see metrics_rows.h. */
#include "metrics_rows.h"

#include <stdlib.h>
#include <string.h>

#include <weft/pack.h>

#include "transport.h"

_Static_assert(sizeof((struct wf_transport *)0)->metrics_row / sizeof(weft_pid) == WF_METRICS_ROWS_MAX, "rows");

int wf_metrics_row_add(void)
{
    struct wf_transport *t = weft_here()->transport;
    if (t == NULL) return WEFT_OK;
    pf_mutex_lock(t->lock);
    bool fits = t->metrics_rows < WF_METRICS_ROWS_MAX;
    if (fits) t->metrics_row[t->metrics_rows++] = weft_self();
    pf_mutex_unlock(t->lock);
    return fits ? WEFT_OK : WEFT_EFULL;
}

static void remove_row(struct wf_transport *t, weft_pid pid)
{
    pf_mutex_lock(t->lock);
    for (uint32_t i = 0; i < t->metrics_rows; i++)
        if (weft_pid_equal(t->metrics_row[i], pid)) t->metrics_row[i] = t->metrics_row[--t->metrics_rows];
    pf_mutex_unlock(t->lock);
}

static void append(char **text, const void *data, size_t size)
{
    size_t before = strlen(*text);
    char *grown = size > WF_METRICS_ROW_BYTES_MAX ? NULL : realloc(*text, before + size + 1);
    if (grown == NULL) return;
    memcpy(grown + before, data, size);
    grown[before + size] = '\0';
    *text = grown;
}

static uint32_t copy_rows(struct wf_transport *t, weft_pid row[WF_METRICS_ROWS_MAX])
{
    pf_mutex_lock(t->lock);
    uint32_t count = t->metrics_rows;
    memcpy(row, t->metrics_row, sizeof t->metrics_row);
    pf_mutex_unlock(t->lock);
    return count;
}

/* The answer of one actor, which the caller frees; NULL: there is none. */
static weft_msg *ask_row(struct wf_transport *t, weft_pid row, uint32_t request)
{
    weft_msg *answer = NULL;
    int rc = weft_call(row, request, NULL, 0, &answer, weft_after(WEFT_SEC(1)));
    if (rc == WEFT_ENOACTOR) remove_row(t, row);
    return rc < 0 ? NULL : answer;
}

void wf_metrics_rows_append(struct wf_transport *t, char **text)
{
    weft_pid row[WF_METRICS_ROWS_MAX];
    uint32_t count = copy_rows(t, row);
    for (uint32_t i = 0; i < count; i++) {
        weft_msg *answer = ask_row(t, row[i], WF_METRICS_ASK);
        if (answer != NULL) append(text, weft_data(answer), weft_size(answer));
        weft_msg_free(answer);
    }
}

static bool is_an_array(const weft_msg *m)
{
    weft_reader r = weft_reader_on(weft_data(m), weft_size(m)), inside = r;
    weft_skip(&r);
    (void)weft_get_array(&inside);
    return r.error == 0 && inside.error == 0 && r.at == (const uint8_t *)weft_data(m) + weft_size(m) &&
           weft_size(m) <= WF_METRICS_ROW_BYTES_MAX;
}

weft_msg *wf_metrics_queues(struct wf_transport *t)
{
    weft_pid row[WF_METRICS_ROWS_MAX];
    uint32_t count = copy_rows(t, row);
    for (uint32_t i = 0; i < count; i++) {
        weft_msg *answer = ask_row(t, row[i], WF_METRICS_QUEUES);
        if (answer != NULL && is_an_array(answer)) return answer;
        weft_msg_free(answer);
    }
    return NULL;
}
