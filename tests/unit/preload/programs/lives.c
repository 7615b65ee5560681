// Programs that begin, end and go on in every way that processes can.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "driver.h"

static CUdeviceptr device;
static char host[64 * KIB];

static void copy(int times) {
  for (int i = 0; i < times; ++i) MUST(cuMemcpyHtoD(device, host, 4096));
}

static void* copy_in_thread(void* times) {
  MUST(cuCtxSetCurrent(primary));
  copy((int)(long)times);
  return NULL;
}

/// The first calls of a process, of which the library learns where the driver is, by all at once.
static pthread_barrier_t all_there;
static void* begin_in_thread(void* unused) {
  MUST(cuCtxSetCurrent(primary));
  pthread_barrier_wait(&all_there);
  CUdeviceptr own = 0;
  MUST(cuMemAlloc(&own, 4096));
  MUST(cuMemcpyHtoD(own, host, 4096));
  return unused;
}
static void rush(void) {
  enum { THREADS = 32 };
  pthread_t threads[THREADS];
  begin();
  pthread_barrier_init(&all_there, NULL, THREADS);
  for (int i = 0; i < THREADS; ++i) pthread_create(&threads[i], NULL, begin_in_thread, NULL);
  for (int i = 0; i < THREADS; ++i) pthread_join(threads[i], NULL);
}

/// So many at a time as the system allows in a test.
static void in_threads(int number, int times) {
  enum { MOST = 64 };
  pthread_t threads[MOST];
  for (int begun = 0; begun < number; begun += MOST) {
    int now = number - begun < MOST ? number - begun : MOST;
    for (int i = 0; i < now; ++i)
      if (pthread_create(&threads[i], NULL, copy_in_thread, (void*)(long)times) != 0) _exit(8);
    for (int i = 0; i < now; ++i) pthread_join(threads[i], NULL);
  }
}

static void in_handler(int signal) {
  (void)signal;
  copy(1);
}
static void interrupted(void) {
  struct sigaction action = {.sa_handler = in_handler};
  sigaction(SIGUSR1, &action, NULL);
  for (int i = 0; i < 100; ++i) {
    copy(1);
    raise(SIGUSR1);
  }
}

static void at_exit(void) { copy(4); }

static void forked(void) {
  copy(1);
  for (int i = 0; i < 2; ++i) {
    pid_t child = fork();
    if (child == 0) {
      // The driver refuses a child's calls, which are counted.
      cuMemcpyHtoD(device, host, 4096);
      _exit(0);
    }
    waitpid(child, NULL, 0);
  }
  copy(2);
}

/// While other threads copy, a child must not meet their locks.
static void forked_among_threads(void) {
  pthread_t threads[4];
  for (int i = 0; i < 4; ++i) pthread_create(&threads[i], NULL, copy_in_thread, (void*)2000l);
  for (int i = 0; i < 20; ++i) {
    pid_t child = fork();
    if (child == 0) _exit(0);
    waitpid(child, NULL, 0);
  }
  for (int i = 0; i < 4; ++i) pthread_join(threads[i], NULL);
}

static void again(char** argv) {
  copy(3);
  char* arguments[] = {argv[0], "plain", NULL};
  execv("/proc/self/exe", arguments);
}

static void closed(void) {
  copy(1);
  for (int i = 3; i < 1024; ++i) close(i);
  copy(5);
}

/// Before the first call.
static void forget(void) {
  clearenv();
  setenv("ISTHMUS_WATCH_FOLDER", "/nowhere", 1);
}

/// Files of this process may have no more bytes.
static void limit_files(void) {
  struct rlimit limit = {4 * MIB, 4 * MIB};
  setrlimit(RLIMIT_FSIZE, &limit);
}

int main(int argc, char** argv) {
  const char* life = argv[1];
  if (strcmp(life, "nothing") == 0) return 7;
  if (strcmp(life, "limited") == 0) limit_files();
  if (strcmp(life, "rush") == 0) rush();
  if (strcmp(life, "forgetful") == 0) forget();
  begin();
  device = device_memory(64 * KIB);
  if (strcmp(life, "threads") == 0) in_threads(8, 500);
  if (strcmp(life, "thousands") == 0) in_threads(2500, 2);
  if (strcmp(life, "interrupted") == 0) interrupted();
  if (strcmp(life, "at_exit") == 0) atexit(at_exit);
  if (strcmp(life, "forked") == 0) forked();
  if (strcmp(life, "forked_among_threads") == 0) forked_among_threads();
  if (strcmp(life, "again") == 0) again(argv);
  if (strcmp(life, "closed") == 0) closed();
  copy(1);
  if (strcmp(life, "killed") == 0) kill(getpid(), SIGKILL);
  if (strcmp(life, "aborted") == 0) abort();
  if (strcmp(life, "left") == 0) _exit(5);
  printf("done\n");
  return argc > 2 ? atoi(argv[2]) : 0;
}
