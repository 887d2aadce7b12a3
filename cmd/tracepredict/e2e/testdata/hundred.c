#include "say.h"

/* A hundred threads, one after the other: glibc and musl give them the same
 * pthread_t, and with an argument the kernel the same thread id too. */

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

static volatile int tid;

/* Makes the kernel give the next thread the id that the last one had. */
static void same_id_again(void)
{
	FILE *f = fopen("/proc/sys/kernel/ns_last_pid", "w");

	MUST(f && fprintf(f, "%d", tid - 1) > 0 && fclose(f) == 0);
}

static void *body(void *name)
{
	i_am(name);
	tid = syscall(SYS_gettid);
	MUST(pthread_mutex_lock(&m) == 0);
	say("acquire m");
	say("release m");
	MUST(pthread_mutex_unlock(&m) == 0);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t first = 0;
	int same = 0;

	name_is(&m, "m");
	for (int i = 0; i < 100; i++) {
		char name[20];
		pthread_t t;

		sprintf(name, "T%d", i + 1);
		MUST(pthread_create(&t, NULL, body, name) == 0);
		say("fork %s", name);
		if (i == 0)
			first = t;
		same += t == first;
		join(t, name);
		if (argc > 1)
			same_id_again();
	}
	MUST(same > 50);
	return 0;
}
