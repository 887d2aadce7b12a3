/* leftout LIBRARY WAY SECONDS: two threads use a library that takes locks all
 * the time, a million times each, or for so many seconds. What they do with
 * their own locks is unordered. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER,
                       b = PTHREAD_MUTEX_INITIALIZER,
                       m = PTHREAD_MUTEX_INITIALIZER;
static int guarded, bare, called;
static void (*use)(unsigned), (*lock)(unsigned), (*unlock)(unsigned),
    (*call)(unsigned, void (*)(void));
static const char *way;
static double length;

static double now(void) {
  struct timespec t;

  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec + t.tv_nsec / 1e9;
}

static void bump(void) { called++; }

/* Uses the library until the time is over. */
static void work(void) {
  double end = now() + length;
  int calls = !strcmp(way, "call"), api = !strcmp(way, "api");
  void (*f)(unsigned) = use, (*begin)(unsigned) = lock,
       (*finish)(unsigned) = unlock;

  for (unsigned i = 0; i < 1000000 && (i % 256 || now() < end); i++) {
    if (calls)
      call(i, bump);
    else if (api) {
      begin(i);
      finish(i);
    } else
      f(i);
  }
}

static void both(pthread_mutex_t *outer, pthread_mutex_t *inner) {
  pthread_mutex_lock(outer);
  pthread_mutex_lock(inner);
  pthread_mutex_unlock(inner);
  pthread_mutex_unlock(outer);
}

static void add(int *to) {
  pthread_mutex_lock(&m);
  ++*to;
  pthread_mutex_unlock(&m);
}

static void *first(void *arg) {
  add(&guarded);
  work();
  both(&a, &b);
  add(&bare);
  if (!strcmp(way, "api")) {
    lock(0), lock(1);
    unlock(1), unlock(0);
  }
  return arg;
}

static void *second(void *arg) {
  work();
  both(&b, &a);
  add(&guarded);
  bare++;
  if (!strcmp(way, "api")) {
    lock(1), lock(0);
    unlock(0), unlock(1);
  }
  return arg;
}

static void *waiter(void *arg) {
  add(&guarded);
  return arg;
}

int main(int argc, char **argv) {
  void *library = argc > 3 ? dlopen(argv[1], RTLD_NOW) : NULL;
  pthread_t t[3];
  int waits;

  if (!library)
    return 1;
  way = argv[2];
  length = atof(argv[3]);
  waits = !strcmp(way, "waits");
  use = (void (*)(unsigned))dlsym(library, strcmp(way, "wrapped") ? "direct"
                                                                  : "wrapped");
  lock = (void (*)(unsigned))dlsym(library, "lock");
  unlock = (void (*)(unsigned))dlsym(library, "unlock");
  call = (void (*)(unsigned, void (*)(void)))dlsym(library, "call");
  if (waits) { /* a thread waits for a lock all the time */
    pthread_mutex_lock(&m);
    pthread_create(&t[2], NULL, waiter, NULL);
    work();
    guarded++;
    pthread_mutex_unlock(&m);
    pthread_join(t[2], NULL);
    return 0;
  }
  pthread_create(&t[0], NULL, first, NULL);
  pthread_create(&t[1], NULL, second, NULL);
  pthread_join(t[0], NULL);
  pthread_join(t[1], NULL);
  printf("%d %d\n", guarded, bare);
  return 0;
}
