// call_once runs its function in every thread that calls it, and all change one variable, but it is the program's own, once per thread, and takes a lock.
// watch: started
#include "turns.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int started;

__attribute__((noinline)) static void call_once(int *flag, void (*f)(void)) {
	pthread_mutex_lock(&lock);
	if (!*flag)
		f();
	*flag = 1;
	pthread_mutex_unlock(&lock);
}

static void begins(void) { started++; }

static void *works(void *unused) {
	int flag = 0;
	call_once(&flag, begins);
	call_once(&flag, begins);
	return unused;
}

int main(void) {
	both(works, works);
	return started != 2;
}
