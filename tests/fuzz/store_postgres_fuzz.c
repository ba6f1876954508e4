/* Answers of PostgreSQL, as a server may give that lies or is damaged: any number of rows and columns, NULLs, values of any
 * length in any column. All that reads a row gets them from the driver: records, jobs, states, and numbers. An input is a
 * shape, and then values. */
#include "fuzz.h"

#include <libpq-fe.h>

#include "postgres_connection.h"
#include "postgres_driver.h"
#include "sql_block.h"
#include "sql_jobs.h"
#include "sql_row.h"
#include "sql_states_read.h"
#include "stored_topic.h"

enum { ROWS_MAX = 4, COLUMNS_MAX = 16 };

static void put_value(struct input *in, PGresult *result, int row, int column)
{
    unsigned how = input_byte(in);
    char number[8];
    if (how < 32) {
        MUST(PQsetvalue(result, row, column, NULL, -1) == 1);
    } else if (how < 160) {
        pq_put_number(number, how < 64 ? (int64_t)(how - 33) : how < 96 ? INT64_MAX - how % 4 : INT64_MIN + how % 4);
        MUST(PQsetvalue(result, row, column, number, sizeof number) == 1);
    } else {
        size_t size = how % 32;
        uint8_t *bytes = input_copy(in, &size);
        MUST(PQsetvalue(result, row, column, (char *)bytes, (int)size) == 1);
        free(bytes);
    }
}

static PGresult *make_result(struct input *in)
{
    static char name[] = "x";
    PGresAttDesc columns[COLUMNS_MAX] = {{.name = NULL}};
    int count = (int)(input_byte(in) % (COLUMNS_MAX + 1)), rows = (int)(input_byte(in) % (ROWS_MAX + 1));
    PGresult *result = PQmakeEmptyPGresult(NULL, PGRES_TUPLES_OK);
    for (int i = 0; i < count; i++) columns[i] = (PGresAttDesc){.name = name, .typid = input_byte(in), .format = 1};
    MUST(result != NULL && (count == 0 || PQsetResultAttrs(result, count, columns) == 1));
    for (int row = 0; row < rows && count > 0; row++)
        for (int i = 0; i < count; i++) put_value(in, result, row, i);
    return result;
}

static void read_columns(struct sql_row *row)
{
    for (int at = 0; at <= COLUMNS_MAX; at++) {
        size_t size = 0;
        (void)sql_int(row, at);
        const uint8_t *bytes = sql_bytes(row, at, &size);
        const char *text = sql_text(row, at);
        unsigned sum = 0;
        MUST(bytes != NULL || size == 0);
        for (size_t i = 0; i < size; i++) sum += bytes[i];
        MUST(sum < UINT32_MAX);
        if (text != NULL) MUST(strlen(text) == size);
    }
}

static void read_row(struct sql_row *row)
{
    struct wf_store_job job;
    struct wf_store_state state;
    const char *queue;
    int64_t id;
    read_columns(row);
    if (sql_job_read(row, &job, &queue)) MUST(wf_store_topic_ok(queue));
    if (sql_state_read(row, &state, &id)) MUST(wf_store_topic_ok(state.key) && state.last + 1 >= state.first);
}

/* The rows as records: one in a row, or blocks. */
static void read_records(struct sql_row *row, bool sizes_only)
{
    struct sql_records records = {.row = row, .epoch = 1, .from = 1, .sizes_only = sizes_only};
    struct wf_store_record r;
    bool fine;
    unsigned sum = 0;
    int rc;
    while ((rc = sql_records_next(&records, &r, &fine)) == SQL_ROW) {
        if (!fine) continue;
        MUST(r.size <= WF_STORE_RECORD_MAX || sizes_only);
        for (size_t i = 0; r.data != NULL && i < r.size; i++) sum += ((const uint8_t *)r.data)[i];
    }
    MUST(rc == SQL_DONE && sum < UINT32_MAX);
    sql_reset(row);
}

static struct sql_row *begin_row(struct pq_connection *c, struct input *in)
{
    struct pq_row *row = &c->row[SQL_JOB];
    *row = (struct pq_row){.base = {&pq_driver}, .of = c, .which = SQL_JOB, .at = -1, .result = make_result(in)};
    return &row->base;
}

/* Errors that a server may name. */
static void read_error(struct input *in)
{
    static const ExecStatusType kinds[] = {PGRES_FATAL_ERROR,     PGRES_NONFATAL_ERROR, PGRES_BAD_RESPONSE,
                                           PGRES_EMPTY_QUERY,     PGRES_COPY_OUT,       PGRES_COMMAND_OK,
                                           PGRES_PIPELINE_ABORTED};
    PGresult *result = PQmakeEmptyPGresult(NULL, kinds[input_byte(in) % (sizeof kinds / sizeof *kinds)]);
    MUST(result != NULL);
    int rc = pq_error(result);
    MUST(rc <= 0 && rc > -200);
    MUST(rc < 0 || PQresultStatus(result) == PGRES_COMMAND_OK);
    (void)pq_number(result, 0, 0);
    PQclear(result);
}

int fuzz_one_input(const uint8_t *data, size_t size)
{
    struct input in = {data, data + size};
    static struct pq_connection c;
    c = (struct pq_connection){.base = {.driver = &pq_driver}};
    read_error(&in);
    struct sql_row *row = begin_row(&c, &in);
    int rows = PQntuples(c.row[SQL_JOB].result);
    read_row(row); /* before the first row */
    for (int i = 0; i < rows; i++) {
        MUST(sql_step(row) == SQL_ROW);
        read_row(row);
    }
    MUST(sql_step(row) == SQL_DONE);
    read_row(row);
    sql_reset(row);
    const bool sizes_only = (input_byte(&in) & 1) != 0;
    read_records(begin_row(&c, &in), sizes_only);
    return 0;
}
