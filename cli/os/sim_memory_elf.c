/* cli/os/sim_memory_elf.c -- see sim_memory.h. */
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <execinfo.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sim_memory.h"
#include "sim_run.h"

enum { TABLE_FIRST = 1 << 11, WAY = 12, GROUPS = 64, LARGE = 2 << 20, LARGE_TOGETHER = 512 << 20 };

typedef void any_function(void);

/* The allocator itself: in a program that is watched the names below mean the functions of this file. */
static struct {
    void *(*malloc)(size_t size);
    void *(*calloc)(size_t count, size_t size);
    void *(*realloc)(void *block, size_t size);
    void *(*aligned_alloc)(size_t align, size_t size);
    char *(*strdup)(const char *text);
    void (*free)(void *block);
    void *(*mmap)(void *at, size_t size, int protection, int flags, int fd, off_t offset);
} real;

/* ---- What is there --------------------------------------------------------------------------------------------- */

struct way {
    int count;
    void *place[WAY];
};

struct block {
    void *at; /* NULL: a free place of the table */
    size_t size;
    void *from;
    struct way *way; /* NULL: not asked for */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards everything below */
static struct block *table;                              /* linear probing, at most half full */
static size_t capacity, count, bytes, most;
static bool counting, exact;

static size_t place_of(const void *at)
{
    return (size_t)((uintptr_t)at * UINT64_C(0x9E3779B97F4A7C15) >> 32) & (capacity - 1);
}

static struct block *find(const void *at)
{
    size_t i = place_of(at);
    while (table[i].at != NULL && table[i].at != at) i = (i + 1) & (capacity - 1);
    return &table[i];
}

static bool grow(size_t wanted)
{
    struct block *old = table;
    size_t before = capacity;
    struct block *larger = real.calloc(wanted, sizeof *larger);
    if (larger == NULL) return false;
    table = larger;
    capacity = wanted;
    for (size_t i = 0; i < before; i++)
        if (old[i].at != NULL) *find(old[i].at) = old[i];
    real.free(old);
    return true;
}

static struct way *way_here(void)
{
    struct way *w = real.malloc(sizeof *w);
    if (w != NULL) w->count = backtrace(w->place, WAY);
    return w;
}

static void *added(void *at, size_t size, void *from)
{
    if (at == NULL || !counting) return at;
    (void)pthread_mutex_lock(&lock);
    if (2 * (count + 1) > capacity && !grow(2 * capacity)) abort();
    *find(at) = (struct block){at, size, from, exact ? way_here() : NULL};
    count++;
    bytes += size;
    if (bytes > most) most = bytes;
    (void)pthread_mutex_unlock(&lock);
    return at;
}

/* Moves the following entries up, so that each is still found. */
static void close_gap(size_t gap)
{
    for (size_t i = (gap + 1) & (capacity - 1); table[i].at != NULL; i = (i + 1) & (capacity - 1)) {
        size_t wanted = place_of(table[i].at);
        if (((i - wanted) & (capacity - 1)) < ((i - gap) & (capacity - 1))) continue;
        table[gap] = table[i];
        gap = i;
    }
    table[gap].at = NULL;
}

/* False: it was not allocated here. */
static bool removed(void *at, struct block *out)
{
    if (at == NULL || !counting) return false;
    (void)pthread_mutex_lock(&lock);
    struct block *b = find(at);
    bool known = b->at != NULL;
    if (known) {
        *out = *b;
        count--;
        bytes -= b->size;
        close_gap((size_t)(b - table));
    }
    (void)pthread_mutex_unlock(&lock);
    return known;
}

static bool refused(void)
{
    if (!wf_sim_is_scarce()) return false;
    errno = ENOMEM;
    return true;
}

/* ---- In the place of the allocator ----------------------------------------------------------------------------- */

#define CALLER __builtin_return_address(0)

static void *sim_malloc(size_t size)
{
    return refused() ? NULL : added(real.malloc(size), size, CALLER);
}

static void *sim_calloc(size_t number, size_t size)
{
    return refused() ? NULL : added(real.calloc(number, size), number * size, CALLER);
}

/* Nodes have large tables that they hardly touch, and to unmap these takes a quarter of the time of a short run,
 * whose process ends soon. */
static bool is_left_to_exit(size_t size)
{
    static atomic_size_t together;
    return size >= LARGE && atomic_fetch_add_explicit(&together, size, memory_order_relaxed) < LARGE_TOGETHER;
}

static void sim_free(void *at)
{
    struct block b;
    if (removed(at, &b)) real.free(b.way);
    else b.size = 0;
    if (!is_left_to_exit(b.size)) real.free(at);
}

/* Forgotten first: another thread may be given the block as soon as it is free. */
static void *sim_realloc(void *at, size_t size)
{
    struct block b;
    if (refused()) return NULL;
    bool known = removed(at, &b);
    void *moved = real.realloc(at, size);
    if (moved == NULL && known && size > 0) (void)added(at, b.size, b.from);
    if (known) real.free(b.way);
    return added(moved, size, CALLER);
}

static void *sim_aligned_alloc(size_t align, size_t size)
{
    return refused() ? NULL : added(real.aligned_alloc(align, size), size, CALLER);
}

static char *sim_strdup(const char *text)
{
    return refused() ? NULL : added(real.strdup(text), strlen(text) + 1, CALLER);
}

static void *sim_mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset)
{
    return refused() ? MAP_FAILED : real.mmap(at, size, protection, flags, fd, offset);
}

static const struct {
    const char *name;
    any_function *instead;
} turned[] = {{"malloc", (any_function *)sim_malloc},   {"calloc", (any_function *)sim_calloc},
              {"realloc", (any_function *)sim_realloc}, {"aligned_alloc", (any_function *)sim_aligned_alloc},
              {"strdup", (any_function *)sim_strdup},   {"free", (any_function *)sim_free},
              {"mmap", (any_function *)sim_mmap},       {"mmap64", (any_function *)sim_mmap}};

/* ---- Tables of addresses --------------------------------------------------------------------------------------- */

/* The loader has made the table read-only. */
static bool set(any_function **entry, any_function *to)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), at = (uintptr_t)entry & ~(page - 1);
    if (mprotect((void *)at, page, PROT_READ | PROT_WRITE) < 0) return false;
    *entry = to;
    return true;
}

static bool turn_entries(ElfW(Addr) base, const ElfW(Rela) * rela, size_t size, const ElfW(Sym) * symbols,
                         const char *names)
{
    for (size_t i = 0; rela != NULL && i < size / sizeof *rela; i++) {
        const char *name = names + symbols[ELF64_R_SYM(rela[i].r_info)].st_name;
        for (size_t k = 0; k < sizeof turned / sizeof turned[0]; k++)
            if (strcmp(name, turned[k].name) == 0 &&
                !set((any_function **)(base + rela[i].r_offset), turned[k].instead))
                return false;
    }
    return true;
}

static bool find_allocator(void)
{
    const struct {
        const char *name;
        void *into;
    } wanted[] = {{"malloc", &real.malloc},   {"calloc", &real.calloc},
                  {"realloc", &real.realloc}, {"aligned_alloc", &real.aligned_alloc},
                  {"strdup", &real.strdup},   {"free", &real.free},
                  {"mmap", &real.mmap}};
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        void *found = dlsym(RTLD_DEFAULT, wanted[i].name);
        if (found == NULL) return false;
        memcpy(wanted[i].into, &found, sizeof found);
    }
    return true;
}

bool sim_memory_watch(const void *address)
{
    const ElfW(Rela) *calls = NULL, *others = NULL;
    size_t calls_size = 0, others_size = 0;
    const ElfW(Sym) *symbols = NULL;
    const char *names = NULL;
    struct link_map *map;
    Dl_info info;
    if (!find_allocator() || dladdr1(address, &info, (void **)&map, RTLD_DL_LINKMAP) == 0) return false;
    for (const ElfW(Dyn) *d = map->l_ld; d->d_tag != DT_NULL; d++) {
        switch (d->d_tag) {
        case DT_JMPREL: calls = (const void *)d->d_un.d_ptr; break;
        case DT_PLTRELSZ: calls_size = d->d_un.d_val; break;
        case DT_RELA: others = (const void *)d->d_un.d_ptr; break;
        case DT_RELASZ: others_size = d->d_un.d_val; break;
        case DT_SYMTAB: symbols = (const void *)d->d_un.d_ptr; break;
        case DT_STRTAB: names = (const void *)d->d_un.d_ptr; break;
        default: break;
        }
    }
    return symbols != NULL && names != NULL && turn_entries(map->l_addr, calls, calls_size, symbols, names) &&
           turn_entries(map->l_addr, others, others_size, symbols, names);
}

/* ---- What is told ---------------------------------------------------------------------------------------------- */

void sim_memory_count(bool exactly)
{
    void *first[1];
    if (exactly) (void)backtrace(first, 1); /* the first call allocates memory, which must not be counted */
    /* If this thread had no alternate signal stack, weft would allocate one for the life of the thread. */
    static char signal_stack[64 * 1024];
    (void)sigaltstack(&(stack_t){.ss_sp = signal_stack, .ss_size = sizeof signal_stack}, NULL);
    real.free(table);
    table = NULL;
    capacity = count = bytes = most = 0;
    if (!grow(TABLE_FIRST)) abort();
    exact = exactly;
    counting = true;
}

size_t sim_memory_blocks(void)
{
    return count;
}

size_t sim_memory_bytes(void)
{
    return bytes;
}

size_t sim_memory_most(void)
{
    return most;
}

/* "libweft.so.0+0x1234" */
static void print_place(const void *from, char *out, size_t size)
{
    Dl_info info;
    if (dladdr(from, &info) == 0 || info.dli_fname == NULL) {
        snprintf(out, size, "%p", from);
        return;
    }
    const char *name = strrchr(info.dli_fname, '/');
    snprintf(out, size, "%s+%#tx", name == NULL ? info.dli_fname : name + 1,
             (const char *)from - (const char *)info.dli_fbase);
}

struct group {
    size_t size, count;
    const void *from;
};

/* Blocks of one size from one place, the most bytes first. Returns how many groups; others are left out. */
static size_t group_all(struct group all[GROUPS])
{
    size_t groups = 0;
    for (size_t i = 0; i < capacity; i++) {
        size_t k = 0;
        if (table[i].at == NULL) continue;
        while (k < groups && (all[k].size != table[i].size || all[k].from != table[i].from)) k++;
        if (k == GROUPS) continue;
        if (k == groups) all[groups++] = (struct group){table[i].size, 0, table[i].from};
        all[k].count++;
    }
    return groups;
}

static int by_bytes(const void *x, const void *y)
{
    const struct group *a = x, *b = y;
    size_t left = a->size * a->count, right = b->size * b->count;
    if (left != right) return left > right ? -1 : 1;
    return a->from < b->from ? -1 : a->from > b->from;
}

void sim_memory_describe(char *out, size_t size)
{
    struct group all[GROUPS];
    char place[96];
    size_t groups = group_all(all);
    qsort(all, groups, sizeof all[0], by_bytes);
    int n = snprintf(out, size, "%zu bytes:", bytes);
    for (size_t i = 0; i < groups && n > 0 && (size_t)n < size; i++) {
        print_place(all[i].from, place, sizeof place);
        n += snprintf(out + n, size - (size_t)n, "%s %zu of %zu bytes from %s", i == 0 ? "" : ",", all[i].count,
                      all[i].size, place);
    }
}

void sim_memory_show(void)
{
    char place[96];
    for (size_t i = 0; i < capacity; i++) {
        if (table[i].at == NULL || table[i].way == NULL) continue;
        fprintf(stderr, "not freed: %zu bytes, from", table[i].size);
        for (int k = 2; k < table[i].way->count; k++) { /* not this file's own functions */
            print_place(table[i].way->place[k], place, sizeof place);
            fprintf(stderr, " %s", place);
        }
        fputc('\n', stderr);
    }
}
