// Functions that release a mutex between the calls that lock two of them; see locks.c. What they do before and after
// the release counts.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/single_threaded.h>
#include <time.h>

pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
int shared, flag, table[8];
char text[64], other[64];

#define BOTH(before, after) pthread_mutex_lock(&a); before; pthread_mutex_unlock(&a); after; pthread_mutex_lock(&b); pthread_mutex_unlock(&b)
#define F __attribute__((noinline, noclone)) void

F yes_nothing(int n) { BOTH(, ); }
F no_branch_before(int n) { BOTH(if (flag) table[n] = 1, ); }
F no_branch_after(int n) { BOTH(, if (flag) table[n] = 1); }
F yes_writes_after(int n) { BOTH(, table[n] = 1); }
F yes_copies(int n) { BOTH(table[n] = flag, ); }
F no_length(int n) { BOTH(if (strlen(text) > 3) table[n] = 1, ); }
F no_compares(int n) { BOTH(if (!strcmp(text, other)) table[n] = 1, ); }
F no_moves(int n) { BOTH(memcpy(text, other, 32 + n), ); }
F no_parses(int n) { BOTH(if (strtok(text, " ")) table[n] = 1, ); }
F yes_single(int n) { BOTH(if (__libc_single_threaded) table[n] = 1, ); }
F no_frees(int n) { BOTH(char *p = malloc(n); free(p), ); }
F no_time(int n) { BOTH(struct timespec t; clock_gettime(CLOCK_REALTIME, &t); if (t.tv_sec > 5) table[n] = 1, ); }
F no_time_unused(int n) { BOTH(struct timespec t; clock_gettime(CLOCK_REALTIME, &t), ); }
F no_kept(int n) { BOTH(int x = flag, ); if (x) table[n] = 2; }

#define CALL(f) f(argc)
int main(int argc, char **argv) {
#include "calls.h"
	return 0;
}
