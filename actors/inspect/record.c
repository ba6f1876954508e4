/* actors/inspect/record.c -- what all recorders of a node hold, in one list. */
#include "record_merge.h"

#include <stdlib.h>
#include <string.h>

int64_t weft_record_read(weft_node *node, struct weft_record **out)
{
    struct wf_record_merge *m = malloc(sizeof *m);
    if (m == NULL) return WEFT_ENOMEM;
    wf_record_merge_init(m, node);
    const size_t most = wf_record_merge_left(m);
    struct weft_record *all = malloc((most + 1) * sizeof *all);
    size_t first = most;
    while (all != NULL && first > 0 && wf_record_merge_next(m, &all[first - 1])) first--;
    free(m);
    if (all == NULL) return WEFT_ENOMEM;
    memmove(all, &all[first], (most - first) * sizeof *all);
    *out = all;
    return (int64_t)(most - first);
}
