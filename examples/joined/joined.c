// Three threads take three locks in a cycle, each joined before the next one
// starts: a tool that looks at the order of locks alone reports a deadlock,
// but no schedule has two of them alive.
#include <pthread.h>
#include <stdio.h>

pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER, c = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t *const pairs[3][2] = {{&a, &b}, {&b, &c}, {&c, &a}};

static void *nest(void *arg) {
	pthread_mutex_t *const *pair = arg;
	pthread_mutex_lock(pair[0]);
	pthread_mutex_lock(pair[1]);
	pthread_mutex_unlock(pair[1]);
	pthread_mutex_unlock(pair[0]);
	return NULL;
}

int main(void) {
	for (int i = 0; i < 3; i++) {
		pthread_t t;
		if (pthread_create(&t, NULL, nest, (void *)pairs[i]))
			return 1;
		pthread_join(t, NULL);
	}
	puts("done");
	return 0;
}
