// Two POSIX spin locks in opposite orders, at different times.
//
// expect: deadlock
#include "threads.h"

static pthread_spinlock_t a, b;

static void *forth(void *unused) {
	pthread_spin_lock(&a);
	pthread_spin_lock(&b);
	pthread_spin_unlock(&b);
	pthread_spin_unlock(&a);
	return unused;
}

static void *back(void *unused) {
	later(1);
	pthread_spin_lock(&b);
	pthread_spin_lock(&a);
	pthread_spin_unlock(&a);
	pthread_spin_unlock(&b);
	return unused;
}

int main(void) {
	if (pthread_spin_init(&a, PTHREAD_PROCESS_PRIVATE) || pthread_spin_init(&b, PTHREAD_PROCESS_PRIVATE))
		return 1;
	RUN(forth, back);
	return 0;
}
