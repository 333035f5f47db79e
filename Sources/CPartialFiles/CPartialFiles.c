#include "CPartialFiles.h"

#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

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

static void starve(int number) {
  (void)number;
  for (int place = 0; place < most; place += 1) {
    if (atomic_load(&states[place]) == NOTED) unlink(paths[place]);
  }
  ssize_t written = write(2, words, sizeof words - 1);
  (void)written;
  _exit(2);
}

void keyferry_partial_watch_memory(void) {
  const int limits[] = {RLIMIT_AS, RLIMIT_DATA};
  int is_limited = 0;
  for (size_t place = 0; place < sizeof limits / sizeof *limits; place += 1) {
    struct rlimit limit;
    if (getrlimit(limits[place], &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) is_limited = 1;
  }
  // Elsewhere a trap is a fault of the program, and its core says more.
  if (!is_limited) return;
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
