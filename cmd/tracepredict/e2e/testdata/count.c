#include "say.h"

/* Every lock counts, from the very first in a constructor. */

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER, early = PTHREAD_MUTEX_INITIALIZER;

#ifdef WITH_LIBRARY
extern pthread_mutex_t library_lock;
#endif

__attribute__((constructor)) static void first(void)
{
	pthread_mutex_lock(&early);
	pthread_mutex_unlock(&early);
}

__attribute__((destructor)) static void last(void)
{
	pthread_mutex_lock(&early);
	pthread_mutex_unlock(&early);
}

static void *body(void *arg)
{
	for (int i = 0; i < 2000; i++) {
		pthread_mutex_lock(&m);
		pthread_mutex_unlock(&m);
	}
	return arg;
}

int main(void)
{
	pthread_t t, u;

	name_is(&m, "m");
	name_is(&early, "early");
#ifdef WITH_LIBRARY
	name_is(&library_lock, "library");
#endif
	pthread_mutex_lock(&m);
	pthread_mutex_unlock(&m);
	MUST(pthread_create(&t, NULL, body, NULL) == 0);
	MUST(pthread_create(&u, NULL, body, NULL) == 0);
	MUST(pthread_join(t, NULL) == 0);
	MUST(pthread_join(u, NULL) == 0);
	return 0;
}
