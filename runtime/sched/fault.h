/* runtime/sched/fault.h -- the report when a fault or a broken invariant ends the process: which actor's code it was,
 * where, and what happened last on that worker. */
#ifndef WF_FAULT_H
#define WF_FAULT_H

/* Turns these reports on for the whole process. May be called again. */
void wf_fault_report_begin(void);

#endif
