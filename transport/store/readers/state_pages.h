/* transport/store/readers/state_pages.h -- requests of the store's readers about states of actors: pages of one
 * state, and lists of states. */
#ifndef WF_STATE_PAGES_H
#define WF_STATE_PAGES_H

#include <weft/message.h>

#include "store_file.h"

/* [A, W] Answers a WF_STORE_STATE_READ or WF_STORE_STATES request. */
void wf_state_page_for(struct wf_store_file *file, const weft_msg *ask);

#endif
