// Mutexes that inherit priority are nested in opposite orders and guard plain data, but only inside a third one that is error-checking and inherits priority, with a condition in between.
// watch: data
#include "turns.h"
static long data;

static pthread_mutex_t outer, a, b;
static pthread_cond_t turn = PTHREAD_COND_INITIALIZER;
static int next;

static void *works(void *p) {
	int me = (int)(long)p;
	for (int i = 0; i < 3; i++) {
		pthread_mutex_lock(&outer);
		while (next != me)
			pthread_cond_wait(&turn, &outer);
		if (me)
			nest(&a, &b);
		else
			nest(&b, &a);
		data++;
		next = !me;
		pthread_cond_signal(&turn);
		pthread_mutex_unlock(&outer);
	}
	return NULL;
}

int main(void) {
	pthread_mutexattr_t t;
	pthread_mutexattr_init(&t);
	pthread_mutexattr_setprotocol(&t, PTHREAD_PRIO_INHERIT);
	pthread_mutex_init(&a, &t);
	pthread_mutex_init(&b, &t);
	pthread_mutexattr_settype(&t, PTHREAD_MUTEX_ERRORCHECK);
	pthread_mutex_init(&outer, &t);
	pthread_t x = start(works, (void *)0), y = start(works, (void *)1);
	pthread_join(x, NULL);
	pthread_join(y, NULL);
	return data != 6;
}
