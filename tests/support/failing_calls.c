/* Fails or kills at the n-th system call on a file below a folder, or at the n-th large allocation. For LD_PRELOAD; see failing_calls.py.

   FAULT_FOLDER names the folder, and nothing is counted outside it. FAULT_CALLS is a comma-separated list of the names in NAMES; empty: all but
   malloc. FAULT_AT is n, 1 for the first; 0 counts only. FAULT_HOW is ENOSPC, EIO, short (half of a write; EIO for other calls), kill (before the
   call) or torn (after half of a write). FAULT_TIMES is how many calls in a row fail; 0: all from then on. A process may choose all this later by fault_arm. */

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { WRITE, FSYNC, RENAME, UNLINK, TRUNCATE, MALLOC, CALLS };
static const char *const NAMES[CALLS] = {"write", "fsync", "rename", "unlink", "truncate", "malloc"};

enum { NO_SPACE, IO_ERROR, SHORT, KILL, TORN, WAYS };
static const char *const WAY_NAMES[WAYS] = {"ENOSPC", "EIO", "short", "kill", "torn"};

static char folder[PATH_MAX];
static _Atomic long seen, at, times;
static _Atomic int way;
static _Atomic unsigned chosen = (1u << MALLOC) - 1;

static unsigned choose(const char *calls) {
    unsigned found = 0;
    for (int call = 0; call < CALLS; call++)
        if (strstr(calls, NAMES[call])) found |= 1u << call;
    return found ? found : (1u << MALLOC) - 1;
}

void fault_arm(const char *calls, long first, const char *how, long count) {
    chosen = 0; /* another thread may be in a call */
    for (int each = 0; each < WAYS; each++)
        if (strcmp(how, WAY_NAMES[each]) == 0) way = each;
    seen = 0;
    at = first;
    times = count;
    chosen = choose(calls);
}

long fault_count(void) { return seen; }

__attribute__((constructor)) static void start(void) {
    const char *place = getenv("FAULT_FOLDER"), *calls = getenv("FAULT_CALLS"), *how = getenv("FAULT_HOW");
    const char *first = getenv("FAULT_AT"), *count = getenv("FAULT_TIMES");
    if (place && strlen(place) < sizeof folder) strcpy(folder, place);
    fault_arm(calls ? calls : "", first ? atol(first) : 0, how ? how : "EIO", count ? atol(count) : 1);
}

static int is_below(const char *path) {
    size_t length = strlen(folder);
    return length && strncmp(path, folder, length) == 0 && (path[length] == '/' || !path[length]);
}

static int is_open_below(int descriptor) {
    char link[64], path[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = syscall(SYS_readlinkat, AT_FDCWD, link, path, sizeof path - 1);
    path[length < 0 ? 0 : length] = 0;
    return is_below(path);
}

static int is_named_below(int base, const char *name) {
    char here[PATH_MAX];
    if (name[0] == '/') return is_below(name);
    if (base != AT_FDCWD) return is_open_below(base);
    return getcwd(here, sizeof here) && is_below(here);
}

/* Whether this call fails. */
static int counts(int call) {
    if (!(chosen & 1u << call)) return 0;
    long number = ++seen;
    if (!at || number < at || (times && number >= at + times)) return 0;
    if (way == KILL || (way == TORN && call != WRITE)) kill(getpid(), SIGKILL);
    return 1;
}

static int fail(void) {
    errno = way == NO_SPACE ? ENOSPC : EIO;
    return -1;
}

static ssize_t part_of(ssize_t written) {
    if (way == TORN) kill(getpid(), SIGKILL);
    return written;
}

ssize_t write(int descriptor, const void *bytes, size_t length) {
    if (folder[0] && is_open_below(descriptor) && counts(WRITE)) {
        if (way < SHORT || length < 2) return fail();
        return part_of(syscall(SYS_write, descriptor, bytes, length / 2));
    }
    return syscall(SYS_write, descriptor, bytes, length);
}

ssize_t pwrite64(int descriptor, const void *bytes, size_t length, off64_t offset) {
    if (folder[0] && is_open_below(descriptor) && counts(WRITE)) {
        if (way < SHORT || length < 2) return fail();
        return part_of(syscall(SYS_pwrite64, descriptor, bytes, length / 2, offset));
    }
    return syscall(SYS_pwrite64, descriptor, bytes, length, offset);
}

ssize_t pwrite(int descriptor, const void *bytes, size_t length, off_t offset) { return pwrite64(descriptor, bytes, length, offset); }

int fsync(int descriptor) { return is_open_below(descriptor) && counts(FSYNC) ? fail() : (int)syscall(SYS_fsync, descriptor); }

int fdatasync(int descriptor) { return is_open_below(descriptor) && counts(FSYNC) ? fail() : (int)syscall(SYS_fdatasync, descriptor); }

int ftruncate64(int descriptor, off64_t length) {
    return is_open_below(descriptor) && counts(TRUNCATE) ? fail() : (int)syscall(SYS_ftruncate, descriptor, length);
}

int ftruncate(int descriptor, off_t length) { return ftruncate64(descriptor, length); }

int renameat(int from_base, const char *from, int to_base, const char *to) {
    if ((is_named_below(from_base, from) || is_named_below(to_base, to)) && counts(RENAME)) return fail();
    return (int)syscall(SYS_renameat2, from_base, from, to_base, to, 0);
}

int rename(const char *from, const char *to) { return renameat(AT_FDCWD, from, AT_FDCWD, to); }

int unlinkat(int base, const char *name, int flags) {
    return is_named_below(base, name) && counts(UNLINK) ? fail() : (int)syscall(SYS_unlinkat, base, name, flags);
}

int unlink(const char *name) { return unlinkat(AT_FDCWD, name, 0); }

#ifdef __GLIBC__ /* it has other names for its own functions */
#define LEAST 1024 /* bytes: small ones are too many, and Python has its own way for them */

extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);

static int is_refused(size_t bytes) {
    if (bytes < LEAST || !counts(MALLOC)) return 0;
    errno = ENOMEM;
    return 1;
}

void *malloc(size_t bytes) { return is_refused(bytes) ? NULL : __libc_malloc(bytes); }

void *calloc(size_t count, size_t bytes) { return is_refused(count * bytes) ? NULL : __libc_calloc(count, bytes); }

void *realloc(void *former, size_t bytes) { return is_refused(bytes) ? NULL : __libc_realloc(former, bytes); }
#endif
