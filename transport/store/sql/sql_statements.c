/* transport/store/sql/sql_statements.c -- see sql_statements.h. */
#include "sql_statements.h"

/* The columns of struct wf_store_job, and of its checksum. */
#define JOB "id, queue, dead, due, lease, attempts, time, tag, sum"

#define CURSOR "SELECT epoch, last, sum FROM cursors WHERE name = ?1 AND topic = ?2"

/* The columns of a reminder, and of its checksum. */
#define REMINDER "queue, name, job, planned, period, sum"

/* The columns of struct wf_store_state, with its id, and of its checksum; and those of struct wf_store_item. */
#define STATE "key, id, opening, owner, first, last, bytes, size, sum"
#define ITEM "time, tag, version, body, sum"

#define ITEM_IS_ANOTHER \
    "time = excluded.time, tag = excluded.tag, version = excluded.version, body = excluded.body, sum = excluded.sum"
/* A join would read all states for each item: SQLite has no index of their ids, and makes none for such a table. */
#define LOST(table) \
    "SELECT state, number FROM " table " WHERE state IN (SELECT state FROM " table " EXCEPT SELECT id FROM states)"

const struct sql_text sql_text_of[SQL_STATEMENTS] = {
    [SQL_INSERT_RECORD] = {"INSERT INTO records(id, time, tag, body, sum) VALUES(?1, ?2, ?3, ?4, ?5)", false},
    [SQL_DELETE_RECORDS] = {"DELETE FROM records WHERE id BETWEEN ?1 AND ?2", false},
    [SQL_RECORD_SIZES] = {"SELECT id, time, tag, CASE WHEN tag < 0 THEN body END, length(body) FROM records"
                          " WHERE id BETWEEN ?1 AND ?2 ORDER BY id",
                          true},
    [SQL_READ_RECORDS] = {"SELECT id, time, tag, body, sum FROM records WHERE id BETWEEN ?1 AND ?2 ORDER BY id",
                          true},
    [SQL_INSERT_LOG] = {"INSERT INTO logs(id, topic, epoch, first, last, bytes, sum)"
                        " VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)",
                        false},
    [SQL_UPDATE_LOG] = {"UPDATE logs SET topic = ?2, epoch = ?3, first = ?4, last = ?5, bytes = ?6, sum = ?7"
                        " WHERE id = ?1",
                        false},
    [SQL_READ_LOGS] = {"SELECT id, topic, epoch, first, last, bytes, sum FROM logs ORDER BY id", true},
    [SQL_READ_LOG] = {"SELECT id, topic, epoch, first, last, bytes, sum FROM logs WHERE id = ?1", false},
    [SQL_COUNT_LOGS] = {"UPDATE log_count SET count = ?1, sum = ?2 WHERE id = 1", false},
    [SQL_READ_COUNT] = {"SELECT count, sum FROM log_count WHERE id = 1", false},
    [SQL_ADVANCE] = {"INSERT INTO cursors(name, topic, epoch, last, sum) VALUES(?1, ?2, ?3, ?4, ?5) ON CONFLICT(name,"
                     " topic) DO UPDATE SET epoch = excluded.epoch, last = excluded.last, sum = excluded.sum",
                     false},
    [SQL_REMOVE_CURSOR] = {"DELETE FROM cursors WHERE name = ?1 AND topic = ?2", false},
    [SQL_CURSOR] = {CURSOR, false},
    [SQL_OTHER_CURSOR] = {CURSOR, false}, /* while answers for the one above have been asked ahead */
    [SQL_CURSORS] = {"SELECT epoch, last, sum, name, topic FROM cursors WHERE (name, topic) > (?1, ?2)"
                     " ORDER BY name, topic",
                     true},
    [SQL_COUNT_CURSORS] = {"SELECT count(*) FROM cursors", false},
    [SQL_INSERT_JOB] = {"INSERT INTO jobs(" JOB ") VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)", false},
    [SQL_INSERT_BODY] = {"INSERT INTO job_bodies(id, body, sum) VALUES(?1, ?2, ?3)", false},
    [SQL_UPDATE_JOB] = {"UPDATE jobs SET queue = ?2, dead = ?3, due = ?4, lease = ?5, attempts = ?6, time = ?7,"
                        " tag = ?8, sum = ?9 WHERE id = ?1",
                        false},
    [SQL_DELETE_JOB] = {"DELETE FROM jobs WHERE id = ?1", false},
    [SQL_DELETE_BODY] = {"DELETE FROM job_bodies WHERE id = ?1", false},
    [SQL_JOB] = {"SELECT " JOB " FROM jobs WHERE id = ?1", false},
    [SQL_DUE_JOBS] = {"SELECT " JOB " FROM jobs WHERE queue = ?1 AND dead = ?2 AND due <= ?3 ORDER BY due, lease, id",
                      true},
    [SQL_NEXT_DUE] = {"SELECT due FROM jobs WHERE queue = ?1 AND dead = 0 AND due > ?2 ORDER BY due LIMIT 1", false},
    [SQL_BODY] = {"SELECT body, sum FROM job_bodies WHERE id = ?1", false},
    [SQL_COUNT_JOBS] = {"UPDATE job_count SET last = ?1, sum = ?2 WHERE id = 1", false},
    [SQL_READ_LAST_JOB] = {"SELECT last, sum FROM job_count WHERE id = 1", false},
    [SQL_INSERT_KEY] = {"INSERT INTO job_keys(queue, name, job, until, sum) VALUES(?1, ?2, ?3, ?4, ?5) ON CONFLICT("
                        "queue, name) DO UPDATE SET job = excluded.job, until = excluded.until, sum = excluded.sum",
                        false},
    [SQL_KEY] = {"SELECT job, until, sum FROM job_keys WHERE queue = ?1 AND name = ?2", false},
    [SQL_FORGET_KEYS] = {"DELETE FROM job_keys WHERE (queue, name) IN (SELECT queue, name FROM job_keys"
                         " WHERE until <= ?1 ORDER BY until LIMIT 2)",
                         false},
    [SQL_COUNT_KEYS] = {"SELECT count(*) FROM job_keys", false},
    [SQL_DUE_BETWEEN] = {"SELECT CASE WHEN lease <> 0 THEN 1 ELSE 0 END, count(*) FROM jobs WHERE queue = ?1"
                         " AND dead = 0 AND due > ?2 AND due <= ?3 GROUP BY 1",
                         true},
    [SQL_QUEUES] =
        {"SELECT queue, dead, CASE WHEN lease <> 0 THEN 1 ELSE 0 END, CASE WHEN due > ?1 THEN 1 ELSE 0 END,"
         " count(*) FROM jobs GROUP BY 1, 2, 3, 4 ORDER BY 1",
         true},
    [SQL_JOBS] = {"SELECT " JOB " FROM jobs WHERE queue = ?1 AND dead = ?2 ORDER BY due, lease, id", true},
    [SQL_ALL_JOBS] = {"SELECT " JOB " FROM jobs ORDER BY id", true},
    [SQL_ALL_BODIES] = {"SELECT b.id FROM job_bodies b LEFT JOIN jobs j ON j.id = b.id WHERE j.id IS NULL"
                        " ORDER BY b.id",
                        true},
    [SQL_ALL_KEYS] = {"SELECT job, until, sum, queue, name FROM job_keys", true},
    [SQL_INSERT_WORKER] = {"INSERT INTO job_workers(id, lease, node, actor, sum) VALUES(?1, ?2, ?3, ?4, ?5)"
                           " ON CONFLICT(id) DO UPDATE SET lease = excluded.lease, node = excluded.node,"
                           " actor = excluded.actor, sum = excluded.sum",
                           false},
    [SQL_DELETE_WORKER] = {"DELETE FROM job_workers WHERE id = ?1", false},
    [SQL_LEASES] = {"SELECT j.id, j.queue, j.dead, j.due, j.lease, j.attempts, j.time, j.tag, j.sum, w.node, w.actor,"
                    " w.sum FROM job_workers w JOIN jobs j ON j.id = w.id WHERE j.lease = w.lease AND j.due > ?1"
                    " ORDER BY j.id",
                    true},
    [SQL_ALL_WORKERS] = {"SELECT id, lease, node, actor, sum FROM job_workers", true},
    [SQL_WRITE_REMINDER] = {"INSERT INTO job_reminders(" REMINDER
                            ") VALUES(?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT(queue,"
                            " name) DO UPDATE SET job = excluded.job, planned = excluded.planned,"
                            " period = excluded.period, sum = excluded.sum",
                            false},
    [SQL_DELETE_REMINDER] = {"DELETE FROM job_reminders WHERE queue = ?1 AND name = ?2", false},
    [SQL_REMINDER] = {"SELECT " REMINDER " FROM job_reminders WHERE queue = ?1 AND name = ?2", false},
    [SQL_REMINDER_OF_JOB] = {"SELECT " REMINDER " FROM job_reminders WHERE job = ?1", false},
    [SQL_REMINDER_SIZES] = {"SELECT queue, count(*) FROM job_reminders GROUP BY queue", true},
    [SQL_REMINDERS] =
        {"SELECT j.id, j.queue, j.dead, j.due, j.lease, j.attempts, j.time, j.tag, j.sum, r.queue, r.name,"
         " r.job, r.planned, r.period, r.sum FROM job_reminders r JOIN jobs j ON j.id = r.job"
         " WHERE (r.queue, r.name) > (?1, ?2) ORDER BY r.queue, r.name",
         true},
    [SQL_ALL_REMINDERS] = {"SELECT r.queue, r.name, r.job, r.planned, r.period, r.sum,"
                           " CASE WHEN j.id IS NULL THEN 0 ELSE 1 END FROM job_reminders r LEFT JOIN jobs j"
                           " ON j.id = r.job AND j.queue = r.queue ORDER BY r.queue, r.name",
                           true},
    [SQL_WRITE_STATE] = {"INSERT INTO states(" STATE
                         ") VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) ON CONFLICT(key) DO"
                         " UPDATE SET id = excluded.id, opening = excluded.opening, owner = excluded.owner, first ="
                         " excluded.first, last = excluded.last, bytes = excluded.bytes, size = excluded.size,"
                         " sum = excluded.sum",
                         false},
    [SQL_DELETE_STATE] = {"DELETE FROM states WHERE key = ?1", false},
    [SQL_STATE] = {"SELECT " STATE " FROM states WHERE key = ?1", false},
    [SQL_STATES] = {"SELECT " STATE " FROM states WHERE key > ?1 ORDER BY key", true},
    [SQL_COUNT_STATES] = {"UPDATE state_count SET count = ?1, last = ?2, sum = ?3 WHERE id = 1", false},
    [SQL_READ_STATE_COUNT] = {"SELECT count, last, sum FROM state_count WHERE id = 1", false},
    [SQL_WRITE_SNAPSHOT] = {"INSERT INTO state_snapshots(state, number, " ITEM ") VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)"
                            " ON CONFLICT(state) DO UPDATE SET number = excluded.number, " ITEM_IS_ANOTHER,
                            false},
    [SQL_DELETE_SNAPSHOT] = {"DELETE FROM state_snapshots WHERE state = ?1", false},
    [SQL_SNAPSHOT] = {"SELECT number, " ITEM " FROM state_snapshots WHERE state = ?1", false},
    [SQL_INSERT_EVENT] = {"INSERT INTO state_events(state, number, " ITEM ") VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)",
                          false},
    [SQL_DELETE_EVENTS] = {"DELETE FROM state_events WHERE state = ?1", false},
    [SQL_EVENTS] = {"SELECT number, " ITEM " FROM state_events WHERE state = ?1 AND number >= ?2 ORDER BY number",
                    true},
    [SQL_LOST_ITEMS] = {LOST("state_snapshots") " UNION ALL " LOST("state_events"), true},
};
