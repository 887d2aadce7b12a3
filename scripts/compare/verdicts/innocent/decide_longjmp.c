// A helper leaves by longjmp, past the second half, unless the flag that it reads under a lock says that the first half is over.
// watch: data
#include "halves.h"
#include <setjmp.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int over;

static void publish(void) { over = 1; }

static void *first(void *unused) {
	early();
	pthread_mutex_lock(&lock);
	publish();
	pthread_mutex_unlock(&lock);
	return unused;
}

static jmp_buf not_yet;

__attribute__((noinline)) static void check(void) {
	pthread_mutex_lock(&lock);
	int o = over;
	pthread_mutex_unlock(&lock);
	if (!o)
		longjmp(not_yet, 1);
}

static void *second(void *unused) {
	rest(20);
	if (setjmp(not_yet))
		return unused;
	check();
	late();
	return unused;
}

int main(void) {
	both(first, second);
	return 0;
}
