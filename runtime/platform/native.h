/* runtime/platform/native.h -- the functions from which native.c builds pf_env_native(); the poller file of each
 * kernel defines half of them. */
#ifndef PF_NATIVE_H
#define PF_NATIVE_H

#include "platform.h"

/* The WEFT_E* code for this errno. If no code fits it is WEFT_ESYSTEM, and pf_on_unknown_error is told: `where` is the
 * call that failed. */
int pf_error_of(const char *where, int system_error);
/* The same for calls on files and paths. */
int pf_file_error_of(const char *where, int system_error);
#define pf_error(system_error) pf_error_of(__func__, system_error)
#define pf_file_error(system_error) pf_file_error_of(__func__, system_error)
/* Tells of an error that no code fits. Returns WEFT_ESYSTEM. The system's last error stays as it is. */
int pf_unknown_error(const char *where, int system_error);

int64_t pf_native_now(struct pf_env *env);
int64_t pf_native_wall(struct pf_env *env);
void pf_native_random(struct pf_env *env, void *out, size_t size);

int pf_native_poller_create(struct pf_env *env, struct pf_poller **out);
void pf_native_poller_destroy(struct pf_poller *p);
int pf_native_poller_add(struct pf_poller *p, pf_handle h, uint64_t tag);
void pf_native_poller_remove(struct pf_poller *p, pf_handle h);
int pf_native_poller_arm(struct pf_poller *p, pf_handle h, uint64_t tag, bool for_write);
bool pf_native_poller_arms(struct pf_poller *p);
int pf_native_poller_wait(struct pf_poller *p, struct pf_ready *out, int max, int64_t deadline);
void pf_native_poller_wake(struct pf_poller *p);
pf_handle pf_native_poller_handle(struct pf_poller *p);
int pf_native_poller_alarm(struct pf_poller *p, int64_t deadline);
int pf_native_file_submit(struct pf_poller *p, struct pf_file_op *op);
void pf_native_file_cancel(struct pf_poller *p, struct pf_file_op *op);
int pf_native_process_watch(struct pf_poller *p, struct pf_process *c, uint64_t tag);
void pf_native_process_unwatch(struct pf_poller *p, struct pf_process *c);
/* For posix/process.c. The first returns WEFT_OK if this kernel can report the end of a child. The second fills in
 * `handle` of a started child. The third returns 0, or -1 and errno; if the child has been reaped by other code, the
 * signal must not reach another process that has got its number, where the system offers a way. */
int pf_native_process_possible(void);
int pf_native_process_open(struct pf_process *c);
int pf_native_process_signal(struct pf_process *c, int number);

/* posix/fault.c: the program counter and stack pointer of a thread when a handler with this ucontext_t began; 0 on
 * systems that are not supported. */
void pf_where(const void *context, uintptr_t *pc, uintptr_t *sp);
/* Gives the calling thread an alternate signal stack if it has none. Returns the memory, which pf_signal_stack_drop
 * frees, or NULL. */
void *pf_signal_stack_add(void);
void pf_signal_stack_drop(void *memory); /* NULL is fine */

#endif
