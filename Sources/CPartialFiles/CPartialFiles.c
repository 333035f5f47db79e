#include "CPartialFiles.h"

#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#ifndef PATH_MAX
#define PATH_MAX 4096
#endif

enum { most = 64 };
enum state { FREE = 0, TAKEN, NOTED };

// In place and never freed: a signal may come between any two instructions. Pages of no path are never touched.
static char paths[most][PATH_MAX];
static atomic_int states[most];

int keyferry_partial_note(const char *path) {
  size_t length = strlen(path);
  if (length >= PATH_MAX) return -1;
  for (int number = 0; number < most; number += 1) {
    int expected = FREE;
    if (!atomic_compare_exchange_strong(&states[number], &expected, TAKEN)) continue;
    memcpy(paths[number], path, length + 1);
    atomic_store(&states[number], NOTED);
    return number;
  }
  return -1;
}

void keyferry_partial_forget(int number) {
  if (number >= 0 && number < most) atomic_store(&states[number], FREE);
}

// Calls only what POSIX allows in a handler.
static void end(int number) {
  for (int place = 0; place < most; place += 1) {
    if (atomic_load(&states[place]) == NOTED) unlink(paths[place]);
  }
  // SA_RESETHAND has put the default back; it acts when the handler returns.
  raise(number);
}

void keyferry_partial_watch(void) {
  const int signals[] = {SIGHUP, SIGINT, SIGTERM};
  for (size_t place = 0; place < sizeof signals / sizeof *signals; place += 1) {
    struct sigaction present;
    if (sigaction(signals[place], NULL, &present) != 0 || present.sa_handler != SIG_DFL) continue;
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = end;
    action.sa_flags = SA_RESETHAND | SA_RESTART;
    sigfillset(&action.sa_mask);
    sigaction(signals[place], &action, NULL);
  }
}

// Where no memory is to be had the runtime of Swift traps, and says a word that only its authors understand, or none.
static const char words[] =
    "keyferry: the program has stopped: it could not have the memory that it needs, which is limited here (ulimit -v, LimitAS); nothing "
    "that it has printed is a result\n";
static char stack[1 << 14];

// Calls only what POSIX allows in a handler.
static _Noreturn void stop(const char *text, size_t length) {
  for (int place = 0; place < most; place += 1) {
    if (atomic_load(&states[place]) == NOTED) unlink(paths[place]);
  }
  ssize_t written = write(2, text, length);
  (void)written;
  _exit(2);
}

static void starve(int number) {
  (void)number;
  stop(words, sizeof words - 1);
}

static int is_memory_limited(void) {
  const int limits[] = {RLIMIT_AS, RLIMIT_DATA};
  for (size_t place = 0; place < sizeof limits / sizeof *limits; place += 1) {
    struct rlimit limit;
    if (getrlimit(limits[place], &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) return 1;
  }
  return 0;
}

// The queues of the system (libdispatch) wait with this function, a second each time and without an end, for a thread or for memory
// that they do not get; nobody else here waits so. What is not there after some seconds would not be there for whoever waits for us.
// In a process that has not asked for it, it is the usual one.
static atomic_int is_watching;

unsigned sleep(unsigned seconds) {
  static const char others[] =
      "keyferry: the program has stopped: the system gives it no further thread, or no memory (ulimit -u, TasksMax, MemoryMax); nothing "
      "that it has printed is a result\n";
  static _Thread_local struct timespec end;
  static _Thread_local unsigned waited;
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  // Who waits again at once still waits for the same.
  long pause = (now.tv_sec - end.tv_sec) * 1000 + (now.tv_nsec - end.tv_nsec) / 1000000;
  if (pause > 500) waited = 0;
  if (waited >= 3 && atomic_load(&is_watching)) {
    if (is_memory_limited()) stop(words, sizeof words - 1);
    stop(others, sizeof others - 1);
  }
  waited += seconds;
  struct timespec rest = {.tv_sec = seconds};
  int left = nanosleep(&rest, &rest) == 0 ? 0 : (int)rest.tv_sec;
  clock_gettime(CLOCK_MONOTONIC, &end);
  return (unsigned)left;
}

void keyferry_partial_watch_memory(void) {
  atomic_store(&is_watching, 1);
  // Elsewhere a trap is a fault of the program, and its core says more.
  if (!is_memory_limited()) return;
#ifdef M_ARENA_MAX
  // Each thread would have an arena of its own, for which the system is asked for 128 MiB of addresses. Where it says no, it is asked
  // again for every few bytes that the thread wants, which takes longer than all the rest.
  mallopt(M_ARENA_MAX, 1);
#endif
  stack_t own = {.ss_sp = stack, .ss_size = sizeof stack};
  int flags = sigaltstack(&own, NULL) == 0 ? SA_ONSTACK : 0;
  const int signals[] = {SIGILL, SIGTRAP, SIGABRT, SIGSEGV, SIGBUS};
  for (size_t place = 0; place < sizeof signals / sizeof *signals; place += 1) {
    // A backtrace needs more memory, and is for who wrote the program.
    struct sigaction present;
    if (sigaction(signals[place], NULL, &present) != 0 || present.sa_handler == SIG_IGN) continue;
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = starve;
    action.sa_flags = SA_RESETHAND | flags;
    sigfillset(&action.sa_mask);
    sigaction(signals[place], &action, NULL);
  }
}
