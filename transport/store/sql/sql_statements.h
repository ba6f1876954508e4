/* transport/store/sql/sql_statements.h -- the statements, in the SQL that both databases understand. */
#ifndef WF_STORE_SQL_STATEMENTS_H
#define WF_STORE_SQL_STATEMENTS_H

#include "sql.h"

struct sql_text {
    const char *text; /* ?1, ?2, ... are its parameters */
    bool many;        /* it may give many rows, of which a reader takes one after the other */
};

extern const struct sql_text sql_text_of[SQL_STATEMENTS];

#endif
