#include "say.h"

static sem_t s, full;

static void *poster(void *arg)
{
	i_am("T1");
	for (int i = 0; i < 5; i++) {
		say("sem-post s1");
		MUST(sem_post(&s) == 0);
	}
	return arg;
}

static void failures(void)
{
	struct timespec soon = from_now(CLOCK_REALTIME, 5);

	MUST(sem_trywait(&s) == -1 && errno == EAGAIN);
	say("sem-failed s1 try");
	MUST(sem_timedwait(&s, &soon) == -1 && errno == ETIMEDOUT);
	say("sem-failed s1 timed");
#ifdef __GLIBC__
	soon = from_now(CLOCK_MONOTONIC, 5);
	MUST(sem_clockwait(&s, CLOCK_MONOTONIC, &soon) == -1 && errno == ETIMEDOUT);
	say("sem-failed s1 timed");
#endif
}

int main(void)
{
	struct timespec late = from_now(CLOCK_REALTIME, 100000);
	pthread_t t;

	name_is(&s, "s1");
	say("init s1 1");
	MUST(sem_init(&s, 0, 1) == 0);
	MUST(sem_wait(&s) == 0);
	say("sem-wait s1");
	failures();
	t = start(poster, "T1", NULL);
	for (int i = 0; i < 3; i++) {
		MUST(sem_wait(&s) == 0); /* may block */
		say("sem-wait s1");
	}
	join(t, "T1");
	MUST(sem_trywait(&s) == 0);
	say("sem-wait s1 try");
	MUST(sem_timedwait(&s, &late) == 0);
	say("sem-wait s1 timed");
#ifdef __GLIBC__
	say("sem-post s1");
	MUST(sem_post(&s) == 0);
	late = from_now(CLOCK_MONOTONIC, 100000);
	MUST(sem_clockwait(&s, CLOCK_MONOTONIC, &late) == 0);
	say("sem-wait s1 timed");
#endif
	say("destroy s1");
	MUST(sem_destroy(&s) == 0);
	name_is(&s, "s2");
	say("init s2 7");
	MUST(sem_init(&s, 0, 7) == 0);
	MUST(sem_trywait(&s) == 0);
	say("sem-wait s2 try");
	say("destroy s2");
	MUST(sem_destroy(&s) == 0);
	return 0;
}
