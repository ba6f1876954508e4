/* transport/store/readers/reminder_pages.h -- the part of the reader actors that answers requests for lists of
 * reminders. */
#ifndef WF_REMINDER_PAGES_H
#define WF_REMINDER_PAGES_H

#include <weft/message.h>

#include "store_file.h"

/* [A, W] Answers the request; the caller frees it. */
void wf_reminders_for(struct wf_store_file *file, const weft_msg *ask);

#endif
