/* transport/admin/control_reload.h -- RELOAD, for $node. */
#ifndef WF_CONTROL_RELOAD_H
#define WF_CONTROL_RELOAD_H

#include "control.h"

/* NULL, or the text of an error. */
const char *wf_reload_begin(wf_load_module *load, weft_msg *ask, bool *handed);

#endif
