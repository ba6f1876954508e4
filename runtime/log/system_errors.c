/* runtime/log/system_errors.c -- see system_errors.h. */
#include "system_errors.h"

#include "log.h"
#include "platform.h"

static _Thread_local bool is_hidden;

static void tell(const char *where, int system_error, const char *text)
{
    if (!is_hidden) weft_log(WEFT_WARN, "%s failed: %s (system error %d)", where, text, system_error);
}

void wf_system_errors_tell(void)
{
    /* Pairs with the load of the thread that meets an error. */
    atomic_store_explicit(&pf_on_unknown_error, tell, memory_order_release);
}

bool wf_system_errors_hide(bool hidden)
{
    bool before = is_hidden;
    is_hidden = hidden;
    return before;
}
