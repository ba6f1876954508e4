/* actors/call/msgpack.c without memory: each allocation of a growing message fails, alone and with all later ones. */
#include <string.h>

#include <weft/error.h>
#include <weft/msgpack.h>

#include "../../alloc_faults.h"
#include "../../../suite.h"

/* WEFT_OK, or the error that packing some 5,000 bytes ends with. */
static int pack(void)
{
    static const char body[100];
    weft_msg_packer p;
    weft_msg *m;
    weft_msg_packer_init(&p, 1, 0);
    for (int i = 0; i < 50; i++) msgpack_pack_bin_with_body(&p.packer, body, sizeof body);
    int rc = weft_msg_packer_done(&p, &m);
    bool right = rc == 0 ? m != NULL && weft_size(m) == 50 * 102 : m == NULL;
    weft_msg_free(m);
    return right ? rc : WEFT_EINVAL;
}

START_TEST(a_message_that_cannot_grow_is_freed)
{
    long n = 0, live;
    int rc;
    do {
        live = faults.live; /* of a thread of no node nothing is pooled */
        faults_arm(n++, true);
        rc = pack(); /* without an assertion: Check allocates, too */
        long failed = faults_disarm(), left = faults.live;
        ck_assert_int_eq(left, live);
        ck_assert_int_eq(failed > 0, rc == WEFT_ENOMEM);
    } while (rc == WEFT_ENOMEM);
    ck_assert_int_eq(rc, 0);
    ck_assert_int_gt(n, 4); /* it has grown some times */
}
END_TEST

int main(void)
{
    Suite *s = suite_create("msgpack_oom");
    TCase *t = tcase_create("msgpack_oom");
    tcase_add_test(t, a_message_that_cannot_grow_is_freed);
    suite_add_tcase(s, t);
    return run_suite(s);
}
