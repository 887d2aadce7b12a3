// One mutex serves two conditions and signal wakes only one thread, but each condition has one kind of waiter, and each tests its own predicate again.
// watch: items
#include "turns.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER, emptied = PTHREAD_COND_INITIALIZER;
static int items;

static void *puts_in(void *unused) {
	for (int i = 0; i < 6; i++) {
		pthread_mutex_lock(&lock);
		while (items == 2)
			pthread_cond_wait(&emptied, &lock);
		items++;
		pthread_cond_signal(&filled);
		pthread_mutex_unlock(&lock);
	}
	return unused;
}

static void *takes_out(void *unused) {
	for (int i = 0; i < 6; i++) {
		pthread_mutex_lock(&lock);
		while (items == 0)
			pthread_cond_wait(&filled, &lock);
		items--;
		pthread_cond_signal(&emptied);
		pthread_mutex_unlock(&lock);
		rest(2);
	}
	return unused;
}

int main(void) {
	both(takes_out, puts_in);
	return items;
}
