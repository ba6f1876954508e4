/* transport/store/postgres/postgres_driver.h -- statements and their rows, as sql.h wants them. */
#ifndef WF_STORE_POSTGRES_DRIVER_H
#define WF_STORE_POSTGRES_DRIVER_H

#include "sql.h"

extern const struct sql_driver pq_driver;

#endif
