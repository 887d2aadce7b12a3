// A thread leaves its section by longjmp, when what it reads is wrong, and ends: nothing unlocks
// the mutex.
//
// expect: misuse input
#include <pthread.h>
#include <setjmp.h>

#include "fortune.h"

static pthread_mutex_t input = PTHREAD_MUTEX_INITIALIZER;
static int lines;

static void parse(jmp_buf failed) {
	pthread_mutex_lock(&input);
	lines++;
	if (lines % 2)
		longjmp(failed, 1);
	pthread_mutex_unlock(&input);
}

static void *read_all(void *unused) {
	jmp_buf failed;
	if (!setjmp(failed))
		parse(failed);
	return unused;
}

int main(void) {
	pthread_t t;
	pthread_create(&t, 0, read_all, 0);
	pthread_join(t, 0);
	return 0;
}
