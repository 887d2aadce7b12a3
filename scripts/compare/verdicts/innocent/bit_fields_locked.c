// Two threads change different bit fields, which lie in one word and so are one location, but both hold the lock of the structure.
// watch: flags.open, flags.dirty
#include "turns.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct { unsigned open : 3, dirty : 5; } flags;

static void *opens(void *unused) {
	for (int i = 0; i < 3; i++, rest(1)) {
		pthread_mutex_lock(&lock);
		flags.open++;
		pthread_mutex_unlock(&lock);
	}
	return unused;
}

static void *dirties(void *unused) {
	for (int i = 0; i < 3; i++, rest(1)) {
		pthread_mutex_lock(&lock);
		flags.dirty++;
		pthread_mutex_unlock(&lock);
	}
	return unused;
}

int main(void) {
	both(opens, dirties);
	return flags.open + flags.dirty != 6;
}
