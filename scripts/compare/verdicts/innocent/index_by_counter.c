// Many threads write the elements of an array under no lock, but each takes its index from a counter under the lock, so that no two have the same.
// watch: shared
#include "turns.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int next;
static long squares[12];

static void *works(void *unused) {
	for (;;) {
		pthread_mutex_lock(&lock);
		int i = next++;
		pthread_mutex_unlock(&lock);
		if (i >= 12)
			return unused;
		squares[i] = (long)i * i;
		rest(1);
	}
}

int main(void) {
	both(works, works);
	return squares[11] != 121;
}
