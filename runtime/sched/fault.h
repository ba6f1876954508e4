/* runtime/sched/fault.h -- what is said when the process is about to end by a fault or a broken invariant: whose code
 * it was, where, and what happened last on that worker. */
#ifndef WF_FAULT_H
#define WF_FAULT_H

/* From now on, in the whole process. May be called again. */
void wf_fault_report_begin(void);

#endif
