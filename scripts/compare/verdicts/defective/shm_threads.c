// A mutex in shared memory and one of the process itself are nested in opposite orders by two
// threads of a process that another one, which has the shared memory too, forked.
//
// expect: deadlock
// args: --follow
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fortune.h"

static pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER, *both;
static int uses;

static void *forth(void *unused) {
	pthread_mutex_lock(both);
	chance();
	pthread_mutex_lock(&own);
	uses++;
	pthread_mutex_unlock(&own);
	pthread_mutex_unlock(both);
	return unused;
}

static void *back(void *unused) {
	later(1);
	pthread_mutex_lock(&own);
	chance();
	pthread_mutex_lock(both);
	uses++;
	pthread_mutex_unlock(both);
	pthread_mutex_unlock(&own);
	return unused;
}

int main(void) {
	pthread_mutexattr_t shared;
	pthread_t t, u;
	both = mmap(0, sizeof *both, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pthread_mutexattr_init(&shared);
	pthread_mutexattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
	pthread_mutex_init(both, &shared);
	if (!fork()) {
		pthread_create(&t, 0, forth, 0);
		pthread_create(&u, 0, back, 0);
		pthread_join(t, 0);
		pthread_join(u, 0);
		_exit(0);
	}
	wait(0);
	return 0;
}
