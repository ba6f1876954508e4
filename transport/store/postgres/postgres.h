/* transport/store/postgres/postgres.h -- the engine for PostgreSQL: "postgres:URL". Without libpq it says so. */
#ifndef WF_STORE_POSTGRES_H
#define WF_STORE_POSTGRES_H

#include "engine.h"

extern const struct wf_store_engine wf_store_postgres;

#endif
