/* What cmake/old_glibc.c puts in place of newer functions of glibc, linked with a link root:
 * script/check wheel. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

extern uint32_t arc4random(void);
extern char __libc_single_threaded;

static int failed;
#define EXPECT(what) \
  if (!(what)) failed = printf("line %d: not so: %s\n", __LINE__, #what)

static int constructed;
__attribute__((constructor)) static void Construct(void) { ++constructed; }

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;

static int WaitFor(clockid_t clock, long long nanoseconds) {
  struct timespec until;
  clock_gettime(clock, &until);
  const long long end = until.tv_sec * 1000000000LL + until.tv_nsec + nanoseconds;
  until.tv_sec = end / 1000000000LL;
  until.tv_nsec = end % 1000000000LL;
  pthread_mutex_lock(&mutex);
  const int status = pthread_cond_clockwait(&condition, &mutex, clock, &until);
  pthread_mutex_unlock(&mutex);
  return status;
}

static double Seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void* Wake(void* unused) {
  for (int i = 0; i < 200; ++i) {
    usleep(1000);
    pthread_mutex_lock(&mutex);
    pthread_cond_broadcast(&condition);
    pthread_mutex_unlock(&mutex);
  }
  return unused;
}

int main(int argc, char** argv) {
  (void)argc;
  EXPECT(constructed == 1);
  char link[] = "/tmp/old_glibc_XXXXXX";
  struct stat plain, through;
  struct stat64 large;
  const int made = mkstemp(link);
  EXPECT(made >= 0 && write(made, "12345", 5) == 5);
  EXPECT(fstat(made, &plain) == 0 && plain.st_size == 5 && S_ISREG(plain.st_mode));
  EXPECT(fstat64(made, &large) == 0 && large.st_size == 5);
  EXPECT(stat(link, &through) == 0 && through.st_ino == plain.st_ino);
  EXPECT(fstatat(AT_FDCWD, link, &through, 0) == 0 && through.st_size == 5);
  unlink(link);
  EXPECT(stat(link, &through) == -1 && errno == ENOENT);
  EXPECT(symlink(argv[0], link) == 0 && lstat(link, &plain) == 0 && S_ISLNK(plain.st_mode));
  EXPECT(lstat64(link, &large) == 0 && S_ISLNK(large.st_mode));
  EXPECT(stat64(link, &large) == 0 && S_ISREG(large.st_mode) && large.st_size > 1000);
  unlink(link);

  uint32_t numbers[4], same = 0;
  for (int i = 0; i < 4; ++i) numbers[i] = arc4random();
  for (int i = 1; i < 4; ++i) same += numbers[i] == numbers[0];
  EXPECT(same < 3);
  EXPECT(!__libc_single_threaded);

  const clockid_t clocks[] = {CLOCK_MONOTONIC, CLOCK_REALTIME};
  for (int i = 0; i < 2; ++i) {
    const double began = Seconds();
    EXPECT(WaitFor(clocks[i], 30000000) == ETIMEDOUT);
    EXPECT(Seconds() - began >= 0.029);
    EXPECT(WaitFor(clocks[i], -1000000) == ETIMEDOUT);
  }
  pthread_t thread;
  EXPECT(pthread_create(&thread, NULL, &Wake, NULL) == 0);
  EXPECT(WaitFor(CLOCK_MONOTONIC, 60000000000LL) == 0);
  pthread_join(thread, NULL);
  if (!failed) printf("the old C library's stand-ins work\n");
  return failed != 0;
}
