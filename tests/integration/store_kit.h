/* tests/integration/store_kit.h -- one node or two, and a folder for the files of two stores. */
#ifndef STORE_KIT_H
#define STORE_KIT_H

#include <weft/store.h>

#include "../temporary.h"
#include "transport_harness.h"

static char folder[64], file[2][96], url[2][112];
static weft_node *a, *b;

static void setup(void)
{
    forget_all();
    snprintf(folder, sizeof folder, "/tmp/weft-store-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    for (int i = 0; i < 2; i++) {
        snprintf(file[i], sizeof file[i], "%s/%d.db", folder, i);
        snprintf(url[i], sizeof url[i], "sqlite:%s", file[i]);
    }
    a = node_up("a", "tcp://127.0.0.1:0", NULL, WEFT_MS(200));
    b = NULL;
}

static void teardown(void)
{
    if (b != NULL) node_down(b);
    if (a != NULL) node_down(a);
    static const char *const more[] = {"", "-wal", "-shm", "-owner", "-owner-journal"};
    for (int i = 0; i < 2; i++)
        for (size_t k = 0; k < sizeof more / sizeof *more; k++) {
            char path[256];
            snprintf(path, sizeof path, "%s%s", file[i], more[k]);
            (void)unlink(path);
        }
    ck_assert_int_eq(rmdir(folder), 0);
}

__attribute__((unused)) static void second_node(void)
{
    b = node_up("b", NULL, weft_node_url(a, 0), WEFT_MS(200));
}

/* ---- In actors ------------------------------------------------------------------------------------------------- */

__attribute__((unused)) static void end_store(weft_pid pid)
{
    ck_assert_int_eq(weft_stop(pid), WEFT_OK);
    weft_wait on = weft_on_end(pid);
    ck_assert_int_eq(weft_wait_any(&on, 1, patience()), 0);
}

__attribute__((unused)) static void await_store(void)
{
    weft_pid pid;
    ck_assert_int_eq(weft_await_name(WEFT_STORE_NAME, &pid, patience()), WEFT_OK);
}

#endif
