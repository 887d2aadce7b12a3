// A thread waits in turn for flags that four others set after 200 ms: it reads all of them, again and again.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

static atomic_int flags[2], more, last;

static void *set(void *flag)
{
	nanosleep(&(struct timespec){.tv_nsec = 200000000}, NULL);
	atomic_store((atomic_int *)flag, 1);
	return NULL;
}

static int ready(atomic_int *flag)
{
	return atomic_load(flag);
}

int main(void)
{
	atomic_int *all[] = {&flags[0], &flags[1], &more, &last};
	pthread_t t[4];
	int set_flags;

	for (int i = 0; i < 4; i++)
		if (pthread_create(&t[i], NULL, set, all[i]))
			return 1;
	do {
		set_flags = 0;
		for (int i = 0; i < 4; i++)
			set_flags += ready(all[i]);
	} while (set_flags < 4);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	printf("set %d\n", set_flags);
	return 0;
}
