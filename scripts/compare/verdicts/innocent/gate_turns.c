// Two threads nest mutexes in opposite orders many times, but a turn under a lock passes between them, so that they alternate.
// watch: sum
#include "turns.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, p = PTHREAD_MUTEX_INITIALIZER, q = PTHREAD_MUTEX_INITIALIZER;
static int turn;
static long sum;

static void *plays(void *me) {
	long own = (long)me;
	for (int done = 0; done < 4;) {
		pthread_mutex_lock(&lock);
		int my_turn = turn % 2 == own;
		pthread_mutex_unlock(&lock);
		if (!my_turn) {
			rest(1);
			continue;
		}
		nest(own ? &p : &q, own ? &q : &p);
		sum++;
		done++;
		pthread_mutex_lock(&lock);
		turn++;
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

int main(void) {
	pthread_t s = start(plays, (void *)0), t = start(plays, (void *)1);
	pthread_join(s, NULL);
	pthread_join(t, NULL);
	return sum != 8;
}
