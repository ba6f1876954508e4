/* transport/store/sql/sql_tables.h -- the functions of an engine that are the same for each database. */
#ifndef WF_STORE_SQL_TABLES_H
#define WF_STORE_SQL_TABLES_H

#include "sql_append.h"
#include "sql_check.h"
#include "sql_counts.h"
#include "sql_cursors.h"
#include "sql_jobs.h"
#include "sql_queues.h"
#include "sql_read.h"
#include "sql_reminders.h"
#include "sql_states.h"
#include "sql_states_read.h"
#include "sql_workers.h"

/* For the table of an engine, which adds its scheme, open, close and clock. */
#define SQL_TABLES                                                                                \
    .append = sql_append, .read = sql_read, .trim = sql_trim, .find = sql_find, .list = sql_list, \
    .cursor = sql_cursor, .advance = sql_advance, .cursors = sql_cursors, .change = sql_change,   \
    .queues = sql_queues, .jobs = sql_jobs, .reminders = sql_reminders, .leases = sql_leases,     \
    .change_states = sql_change_states, .states = sql_states, .read_state = sql_read_state, .check = sql_check

#endif
