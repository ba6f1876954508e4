/* runtime/platform/posix/handle.h -- makes handles that do not block and that no child inherits. Linux and the BSDs
 * do it in one call (handle_atomic.c). macOS has no such calls: a child that another thread starts at the wrong
 * moment may inherit a handle (handle_after.c). The functions return -1 and set errno on errors. */
#ifndef PF_POSIX_HANDLE_H
#define PF_POSIX_HANDLE_H

int pf_handle_socket(int family, int type);
int pf_handle_accept(int listener);

#endif
