// Threads read the table under no lock, but each has seen under the lock that it is filled, and nobody changes it afterwards.
// watch: shared
#include "turns.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int filled, table[4];

static void *uses(void *p) {
	pthread_mutex_lock(&lock);
	if (!filled) {
		for (int i = 0; i < 4; i++)
			table[i] = i + 1;
		filled = 1;
	}
	pthread_mutex_unlock(&lock);
	rest(5);
	int sum = 0;
	for (int i = 0; i < 4; i++)
		sum += table[i];
	need(sum == 10, "sum");
	return p;
}

int main(void) {
	both(uses, uses);
	return 0;
}
