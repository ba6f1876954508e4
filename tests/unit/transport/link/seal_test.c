/* The cipher is the one of the paper, and only the key that sealed a number can open it. */
#include "seal.h"
#include "suite.h"

/* Speck64/128 in appendix C of the paper. */
START_TEST(the_cipher_is_that_of_the_paper)
{
    static const uint32_t key[WF_SEAL_KEY] = {0x03020100, 0x0b0a0908, 0x13121110, 0x1b1a1918};
    struct wf_seal s;
    wf_seal_init(&s, key);
    ck_assert_uint_eq(wf_seal(&s, UINT64_C(0x3b7265747475432d)), UINT64_C(0x8c6fa548454e028b));
    ck_assert_uint_eq(wf_unseal(&s, UINT64_C(0x8c6fa548454e028b)), UINT64_C(0x3b7265747475432d));
}
END_TEST

START_TEST(a_number_comes_back_by_its_own_key_alone)
{
    static const uint32_t keys[2][WF_SEAL_KEY] = {{1, 2, 3, 4}, {1, 2, 3, 5}};
    struct wf_seal mine, other;
    wf_seal_init(&mine, keys[0]);
    wf_seal_init(&other, keys[1]);
    for (uint64_t n = 0; n < 100000; n++) {
        uint64_t number = n % 2 == 0 ? n : n << 40, sealed = wf_seal(&mine, number);
        ck_assert_uint_eq(wf_unseal(&mine, sealed), number);
        ck_assert_uint_ne(wf_unseal(&other, sealed), number);
        ck_assert_uint_ne(sealed, number);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("seal");
    TCase *t = tcase_create("seal");
    tcase_add_test(t, the_cipher_is_that_of_the_paper);
    tcase_add_test(t, a_number_comes_back_by_its_own_key_alone);
    suite_add_tcase(s, t);
    return run_suite(s);
}
