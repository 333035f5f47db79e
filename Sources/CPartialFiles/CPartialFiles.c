#include "CPartialFiles.h"

#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
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
