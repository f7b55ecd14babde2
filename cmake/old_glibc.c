// What glibc has only since 2.29, for wheels that run with 2.28 (PORTACL_LINK_ROOT in
// cmake/old_glibc.cmake): such names are not in the C library that those are linked with, so one
// that is missing here is an error of the linker. Hidden: nobody else finds them.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>

#define HIDDEN __attribute__((visibility("hidden")))

// Since 2.32. Read by libstdc++, which counts without atomics where it is true: never, here.
HIDDEN char __libc_single_threaded = 0;

// Since 2.33; before, the header made these of functions with the number of the structure's layout.
#ifdef __x86_64__
enum { kStatLayout = 1 };
#else
enum { kStatLayout = 0 };
#endif
extern int __xstat(int layout, const char* path, struct stat* out);
extern int __lxstat(int layout, const char* path, struct stat* out);
extern int __fxstat(int layout, int file, struct stat* out);
extern int __fxstatat(int layout, int folder, const char* path, struct stat* out, int flags);
HIDDEN int stat(const char* path, struct stat* out) { return __xstat(kStatLayout, path, out); }
HIDDEN int lstat(const char* path, struct stat* out) { return __lxstat(kStatLayout, path, out); }
HIDDEN int fstat(int file, struct stat* out) { return __fxstat(kStatLayout, file, out); }
HIDDEN int fstatat(int folder, const char* path, struct stat* out, int flags) {
  return __fxstatat(kStatLayout, folder, path, out, flags);
}
// The same layout on machines of 64 bits.
_Static_assert(sizeof(struct stat) == sizeof(struct stat64), "stat64 has a layout of its own");
HIDDEN int stat64(const char* path, struct stat64* out) { return stat(path, (struct stat*)out); }
HIDDEN int lstat64(const char* path, struct stat64* out) { return lstat(path, (struct stat*)out); }
HIDDEN int fstat64(int file, struct stat64* out) { return fstat(file, (struct stat*)out); }

// Since 2.36. libstdc++ makes a std::random_device of it.
HIDDEN uint32_t arc4random(void) {
  uint32_t word = 0;
  while (getrandom(&word, sizeof(word), 0) != (ssize_t)sizeof(word)) {
    if (errno != EINTR) abort();
  }
  return word;
}

static long long Nanoseconds(const struct timespec* time) {
  return time->tv_sec * 1000000000LL + time->tv_nsec;
}

// Since 2.30. The condition's own clock is the wall clock: it is asked to wait for what is left of
// the time. If that clock is set meanwhile, the wait may end early, which callers take for a
// spurious wake-up.
HIDDEN int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                                  clockid_t clock, const struct timespec* until) {
  if (clock == CLOCK_REALTIME) return pthread_cond_timedwait(condition, mutex, until);
  struct timespec now, wall;
  if (clock_gettime(clock, &now) != 0) return errno;
  clock_gettime(CLOCK_REALTIME, &wall);
  long long left = Nanoseconds(until) - Nanoseconds(&now);
  if (left < 0) left = 0;
  const long long end = Nanoseconds(&wall) + left;
  wall.tv_sec = end / 1000000000LL;
  wall.tv_nsec = end % 1000000000LL;
  const int status = pthread_cond_timedwait(condition, mutex, &wall);
  if (status != ETIMEDOUT) return status;
  clock_gettime(clock, &now);
  return Nanoseconds(&now) < Nanoseconds(until) ? 0 : ETIMEDOUT;
}
