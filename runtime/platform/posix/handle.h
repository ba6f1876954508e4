/* runtime/platform/posix/handle.h -- handles that do not block and that no child inherits. Linux and the BSDs make
 * them so (handle_atomic.c); macOS has no such calls, and a child that another thread starts in between may inherit
 * one (handle_after.c). On errors -1 and errno. */
#ifndef PF_POSIX_HANDLE_H
#define PF_POSIX_HANDLE_H

int pf_handle_socket(int family, int type);
int pf_handle_accept(int listener);

#endif
