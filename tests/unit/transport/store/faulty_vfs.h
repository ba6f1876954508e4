/* tests/unit/transport/store/faulty_vfs.h -- a disk in memory for SQLite, which fails as a seed determines.
 *
 * Each file has two contents: that which programs read, and that on the disk. A write changes the first, a sync
 * copies it to the second. At a crash each write that was not synced is on the disk, or not, or in part, in any
 * combination. After a failed sync it is unknown what is on the disk, and a later sync does not write it again, as on
 * Linux. */
#ifndef WF_FAULTY_VFS_H
#define WF_FAULTY_VFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An empty disk. Its VFS is called "faulty" and is SQLite's default one from then on. */
void faulty_begin(uint64_t seed);
void faulty_end(void);
/* Its time: ns since 1970. NULL, as after faulty_begin: it stands still. */
void faulty_clock(int64_t (*clock)(void));
uint64_t faulty_random(uint64_t below); /* the next number of the seed, from 0 to below - 1 */

void faulty_space(size_t bytes);       /* what fits on the disk; SIZE_MAX: everything */
void faulty_fail_sync(uint64_t after); /* the sync after so many others fails; UINT64_MAX: none does */
void faulty_read_only(bool read_only); /* files can be opened only for reading */
/* The power is cut after so many further writes, truncations and syncs: from then on everything fails. UINT64_MAX: it
 * is not. */
void faulty_cut_power(uint64_t after);
bool faulty_is_off(void);
/* The machine is on again, and its files have what was on the disk. Each connection has to be closed first; closing
 * it changes nothing if the power is off. */
void faulty_power_on(void);

/* The same for the files of one machine only, whose names begin so: it does not run, and then runs again. Without `power`
 * its processes are killed, which loses nothing of what they have written. */
void faulty_volume_off(const char *volume, bool power);
void faulty_volume_on(const char *volume, bool power);

/* What is opened from now on belongs to this process of the machine; 0 at first. */
void faulty_process(int number);
/* The process is killed: what it has written stays, its locks go. It can do nothing more but close what it has open. */
void faulty_kill(int number);
void faulty_kill_at_failed_sync(
    int number); /* it is killed while the next sync that fails is under way; -1: it is not */

bool faulty_flip_bit(const char *name); /* a random one, of a file that nobody has open; false: it is empty */
uint8_t *faulty_bytes(const char *name, size_t *size); /* of the disk; NULL: no such file */

#endif
