/* transport/store/sql/sql_block.h -- the rows of the table `records`. A row is one record, or a block: up to
 * SQL_BLOCK_RECORDS records of a log that follow each other and were stored by one commit. A block costs the database as
 * much as one record, and its pages have no gaps between records.
 *
 * The key of a block is that of its last record; so the first row whose key is not before that of a record is the row
 * that has it. Its column `tag` is minus the number of its records, `time` is that of the last one, and `sum` is a
 * CRC-32C over these and the size of its body. Its body has, for each record: the time (8 bytes), the tag, the size and the
 * record's own CRC-32C (4 each, all little-endian), and its bytes.
 *
 * If a size is damaged, the records behind it are found by their checksums, so only the record of that size is lost. More are
 * lost only where several records that follow each other are damaged, and another size behind them as well: then those
 * between may be lost, too. */
#ifndef WF_STORE_SQL_BLOCK_H
#define WF_STORE_SQL_BLOCK_H

#include "sql.h"

/* The records of a log, one after the other. */
struct sql_records {
    struct sql_row *row; /* SQL_READ_RECORDS, or SQL_RECORD_SIZES */
    uint64_t epoch;      /* of the log */
    uint64_t from;       /* a block may begin with records before this offset: they are skipped */
    bool sizes_only;     /* the rows are of SQL_RECORD_SIZES: records have no bytes, and are not checked */
    /* Of the block that is being read: */
    const uint8_t *at, *end;
    uint64_t last;
    size_t left;  /* records that were not read yet */
    bool is_torn; /* its sizes do not fit its bytes */
};

/* The next record. What it points to stays until the next call, or until the statement is reset. Returns SQL_ROW, SQL_DONE
 * or a WEFT_E*. `*fine` is false if it is not what was written under its offset. The records between the last one that was
 * returned and this one, if any, are damaged or missing. */
int sql_records_next(struct sql_records *r, struct wf_store_record *out, bool *fine);

/* The offset of the first record of this row of SQL_RECORD_SIZES. */
uint64_t sql_records_first(struct sql_row *row);

/* Writes the first records of the list in one row, as many as fit, and advances `*list` behind them. They belong to the
 * log of that number and epoch. */
int sql_records_write(struct sql_store *s, int64_t log, uint64_t epoch, const struct wf_store_append **list);

static inline int64_t sql_record_key(int64_t log, uint64_t offset)
{
    return log << SQL_OFFSET_BITS | (int64_t)offset;
}

#endif
