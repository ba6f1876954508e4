/* transport/store/sqlite_check.h -- reads the whole store, and reports damage. */
#ifndef WF_STORE_SQLITE_CHECK_H
#define WF_STORE_SQLITE_CHECK_H

#include "sqlite.h"

int sq_check(struct wf_store *s, wf_store_each_fault *each, void *arg);

#endif
