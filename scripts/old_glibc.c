// What the compiler's own libraries ask of a C library and one of 2018 lacks. Each part is compiled for itself, hidden, and
// linked in where it is missing (old_glibc.py); the names of parts begin with SHIM_.
#define _GNU_SOURCE

#ifdef SHIM_START
// Programs of today leave their constructors to the C library's start; an old one calls what it is given.
typedef void (*Constructor)(int, char**, char**);
extern Constructor __preinit_array_start[] __attribute__((weak, visibility("hidden")));
extern Constructor __preinit_array_end[] __attribute__((weak, visibility("hidden")));
extern Constructor __init_array_start[] __attribute__((weak, visibility("hidden")));
extern Constructor __init_array_end[] __attribute__((weak, visibility("hidden")));
extern void _init(void);
typedef int (*Main)(int, char**, char**);
#if defined(__x86_64__)
#define FIRST_VERSION "GLIBC_2.2.5"
#else
#define FIRST_VERSION "GLIBC_2.17"
#endif
int start_of_library(Main, int, char**, Constructor, void (*)(void), void (*)(void), void*) __attribute__((visibility("default")));
__asm__(".symver start_of_library, __libc_start_main@" FIRST_VERSION);

static void construct(int count, char** arguments, char** environment)
{
    for (Constructor* each = __preinit_array_start; each < __preinit_array_end; ++each) (*each)(count, arguments, environment);
    _init();
    for (Constructor* each = __init_array_start; each < __init_array_end; ++each) (*each)(count, arguments, environment);
}

int __libc_start_main(Main entry, int count, char** arguments, Constructor first, void (*last)(void), void (*loader)(void), void* stack)
{
    return start_of_library(entry, count, arguments, first ? first : construct, last, loader, stack);
}
#endif

#ifdef SHIM_STAT
// Up to 2.33 these were inline: a call of the versioned function behind them.
#include <sys/stat.h>
#if defined(__x86_64__)
#define STAT_VERSION 1
#else
#define STAT_VERSION 0
#endif
int __xstat(int, const char*, struct stat*);
int __lxstat(int, const char*, struct stat*);
int __fxstat(int, int, struct stat*);
int __fxstatat(int, int, const char*, struct stat*, int);
int stat(const char* path, struct stat* result) { return __xstat(STAT_VERSION, path, result); }
int lstat(const char* path, struct stat* result) { return __lxstat(STAT_VERSION, path, result); }
int fstat(int file, struct stat* result) { return __fxstat(STAT_VERSION, file, result); }
int fstatat(int folder, const char* path, struct stat* result, int flags) { return __fxstatat(STAT_VERSION, folder, path, result, flags); }
// The same records on systems of 64 bits.
int stat64(const char*, struct stat64*) __attribute__((alias("stat")));
int lstat64(const char*, struct stat64*) __attribute__((alias("lstat")));
int fstat64(int, struct stat64*) __attribute__((alias("fstat")));
int fstatat64(int, const char*, struct stat64*, int) __attribute__((alias("fstatat")));
#endif

#ifdef SHIM_THREADS
// 0: there may be more threads than one, so counters of shared pointers are changed as a whole.
char __libc_single_threaded = 0;
#endif

#ifdef SHIM_RANDOM
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>
// Of std::random_device.
uint32_t arc4random(void)
{
    uint32_t value;
    if (getentropy(&value, sizeof value)) abort();
    return value;
}
#endif

#ifdef SHIM_CLOCKS
#include <pthread.h>
#include <time.h>
// Waits by another clock than that of the day: of std::condition_variable, std::timed_mutex and std::shared_timed_mutex.
static struct timespec of_the_day(clockid_t clock, const struct timespec* until)
{
    struct timespec now, day;
    clock_gettime(clock, &now);
    clock_gettime(CLOCK_REALTIME, &day);
    struct timespec result = {day.tv_sec + until->tv_sec - now.tv_sec, day.tv_nsec + until->tv_nsec - now.tv_nsec};
    if (result.tv_nsec >= 1000000000) { ++result.tv_sec; result.tv_nsec -= 1000000000; }
    if (result.tv_nsec < 0) { --result.tv_sec; result.tv_nsec += 1000000000; }
    return result;
}

int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock, const struct timespec* until)
{
    const struct timespec day = of_the_day(clock, until);
    return pthread_cond_timedwait(condition, mutex, &day);
}

int pthread_mutex_clocklock(pthread_mutex_t* mutex, clockid_t clock, const struct timespec* until)
{
    const struct timespec day = of_the_day(clock, until);
    return pthread_mutex_timedlock(mutex, &day);
}

int pthread_rwlock_clockrdlock(pthread_rwlock_t* lock, clockid_t clock, const struct timespec* until)
{
    const struct timespec day = of_the_day(clock, until);
    return pthread_rwlock_timedrdlock(lock, &day);
}

int pthread_rwlock_clockwrlock(pthread_rwlock_t* lock, clockid_t clock, const struct timespec* until)
{
    const struct timespec day = of_the_day(clock, until);
    return pthread_rwlock_timedwrlock(lock, &day);
}
#endif

#ifdef SHIM_UNWIND
#include <link.h>
#include <string.h>
// What the unwinder of an exception asks: the file that holds an address, and its table of frames.
struct search {
    uintptr_t address;
    struct dl_find_object* result;
};

static int holds(struct dl_phdr_info* file, size_t size, void* data)
{
    (void)size;
    struct search* search = data;
    const ElfW(Phdr)* frames = 0;
    uintptr_t first = UINTPTR_MAX, last = 0;
    int found = 0;
    for (int i = 0; i < file->dlpi_phnum; ++i) {
        const ElfW(Phdr)* part = &file->dlpi_phdr[i];
        if (part->p_type == PT_GNU_EH_FRAME) frames = part;
        if (part->p_type != PT_LOAD) continue;
        const uintptr_t begin = file->dlpi_addr + part->p_vaddr, end = begin + part->p_memsz;
        if (begin < first) first = begin;
        if (end > last) last = end;
        if (begin <= search->address && search->address < end) found = 1;
    }
    if (!found || !frames) return found ? -1 : 0;
    memset(search->result, 0, sizeof *search->result);
    search->result->dlfo_map_start = (void*)first;
    search->result->dlfo_map_end = (void*)last;
    search->result->dlfo_eh_frame = (void*)(file->dlpi_addr + frames->p_vaddr);
    return 1;
}

int _dl_find_object(void* address, struct dl_find_object* result)
{
    struct search search = {(uintptr_t)address, result};
    return dl_iterate_phdr(holds, &search) == 1 ? 0 : -1;
}
#endif
