/* The rights of a role, and the names for which a certificate is valid. */
#include "identity.h"
#include "../../../suite.h"
#include "roles.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static uint32_t rights_of(const char *role)
{
    return wf_role_rights(wf_role_find(role, strlen(role)));
}

START_TEST(a_role_grants_its_rights)
{
    ck_assert_uint_eq(rights_of("node"), WF_RIGHT_ALL & ~(unsigned)WF_RIGHT_ADMIN);
    ck_assert_uint_eq(rights_of("guest"), WF_RIGHT_JOIN | WF_RIGHT_TALK);
    ck_assert_uint_eq(rights_of("observe"), WF_RIGHT_OBSERVE);
    ck_assert_uint_eq(rights_of("admin"), WF_RIGHT_ALL & ~(unsigned)WF_RIGHT_JOIN);
    ck_assert_uint_eq(rights_of("nod"), 0);
    ck_assert_uint_eq(rights_of("nodes"), 0);
    ck_assert_uint_eq(rights_of(""), 0);
    ck_assert_uint_eq(wf_role_rights(0xFFFFFFF0u), 0);
}
END_TEST

START_TEST(roles_have_names)
{
    char text[WF_ROLE_TEXT];
    for (unsigned i = 0; i < WF_ROLES; i++)
        ck_assert_uint_eq(wf_role_find(wf_role_name(i), strlen(wf_role_name(i))), 1u << i);
    ck_assert_ptr_null(wf_role_name(WF_ROLES));
    ck_assert_str_eq(wf_roles_text(0, text), "none");
    ck_assert_str_eq(wf_roles_text(9, text), "node, admin");
    ck_assert_str_eq(wf_roles_text(15, text), "node, guest, observe, admin");
}
END_TEST

START_TEST(tools_may_add_to_the_name)
{
    struct wf_identity a = {.name = "a.b"};
    ck_assert(wf_identity_may_be(&a, "a.b", false));
    ck_assert(wf_identity_may_be(&a, "a.b", true));
    ck_assert(wf_identity_may_be(&a, "a.b-7f", true));
    ck_assert(!wf_identity_may_be(&a, "a.b-7f", false));
    ck_assert(!wf_identity_may_be(&a, "a.bc", true));
    ck_assert(!wf_identity_may_be(&a, "a.", true));
    ck_assert(!wf_identity_may_be(&a, "", true));
    ck_assert(!wf_identity_may_be(&a, "A.b", false));
}
END_TEST

int main(void)
{
    Suite *s = suite_create("roles");
    TCase *t = tcase_create("roles");
    tcase_add_test(t, a_role_grants_its_rights);
    tcase_add_test(t, roles_have_names);
    tcase_add_test(t, tools_may_add_to_the_name);
    suite_add_tcase(s, t);
    return run_suite(s);
}
