/* transport/store/sql/sql_reminders.h -- the rows of reminders: the name of a job, by which it is found. */
#ifndef WF_STORE_SQL_REMINDERS_H
#define WF_STORE_SQL_REMINDERS_H

#include "sql.h"

struct sql_reminder {
    char key[WF_STORE_KEY_MAX + 1];
    uint64_t job;
    int64_t at, period;
};

/* What a look for a reminder has found. */
enum sql_found { SQL_NO_REMINDER, SQL_A_REMINDER, SQL_DAMAGED_REMINDER };

/* For the writer. They return 0 or a WEFT_E*. */
int sql_reminder_find(struct sql_store *s, const char *queue, const char *key, struct sql_reminder *out,
                      enum sql_found *found);
int sql_reminder_of_job(struct sql_store *s, const char *queue, uint64_t job, struct sql_reminder *out,
                        enum sql_found *found);
int sql_reminder_write(struct sql_store *s, const char *queue, const struct sql_reminder *r);
int sql_reminder_delete(struct sql_store *s, const char *queue, const char *key);
/* When a reminder with a period is due next: the first of its times that is after `now`. */
int64_t sql_reminder_next(const struct sql_reminder *r, int64_t now);

int sql_reminders(struct wf_store *s, const char *queue, const char *key, wf_store_each_reminder *each, void *arg);
/* Reads all reminders, as sql_check_jobs. */
int sql_check_reminders(struct wf_store *s, wf_store_each_fault *each, void *arg);

#endif
