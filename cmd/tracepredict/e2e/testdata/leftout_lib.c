/* A library that takes its own locks all the time, in several ways. */
#include <pthread.h>

enum { locks = 16 };
static pthread_mutex_t own[locks] = {[0 ... locks - 1] =
                                         PTHREAD_MUTEX_INITIALIZER};
static long counts[locks];

/* Where the code shows that a section ends in the function in which it begins.
 */
void direct(unsigned i) {
  pthread_mutex_lock(&own[i % locks]);
  counts[i % locks]++;
  pthread_mutex_unlock(&own[i % locks]);
}

static __attribute__((noinline)) int take(pthread_mutex_t *m) {
  return pthread_mutex_lock(m) + 1;
}
static __attribute__((noinline)) int give(pthread_mutex_t *m) {
  return pthread_mutex_unlock(m) + 1;
}

/* The same by functions of its own. */
void wrapped(unsigned i) {
  int sum = take(&own[i % locks]);
  counts[i % locks] += sum;
  counts[i % locks] -= give(&own[i % locks]);
}

/* Locks for the library's users. */
void lock(unsigned i) { take(&own[i % locks]); }
void unlock(unsigned i) { give(&own[i % locks]); }

/* Code of the user in a section of the library. */
void call(unsigned i, void (*f)(void)) {
  pthread_mutex_lock(&own[0]);
  f();
  pthread_mutex_unlock(&own[0]);
  (void)i;
}
