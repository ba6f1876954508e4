/* actors/core/mail_wait.h -- the running actor's mailbox as one of several sources of a wait. */
#ifndef WF_MAIL_WAIT_H
#define WF_MAIL_WAIT_H

#include "wait.h"

extern const struct wf_wait_kind wf_mailbox_wait_kind; /* weft_on_mailbox */

#endif
