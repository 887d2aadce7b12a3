/* leftout_own SECONDS: a program that takes locks of its own all the time, in
 * each of two threads. */
#include "leftout_lib.c"

#include <stdlib.h>
#include <time.h>

static double seconds;

static void *work(void *arg) {
  struct timespec begin, now;

  clock_gettime(CLOCK_MONOTONIC, &begin);
  do {
    for (unsigned i = 0; i < 256; i++)
      direct(i);
    clock_gettime(CLOCK_MONOTONIC, &now);
  } while (now.tv_sec - begin.tv_sec + (now.tv_nsec - begin.tv_nsec) / 1e9 <
           seconds);
  return arg;
}

int main(int argc, char **argv) {
  pthread_t t;

  seconds = argc > 1 ? atof(argv[1]) : 2;
  pthread_create(&t, NULL, work, NULL);
  work(NULL);
  return pthread_join(t, NULL);
}
