/*
 * The fields of struct mail have plain types; only built-in functions say that some are atomic.
 *
 * acquire     two threads hand a letter over by a release store and a waiting loop of acquire loads
 * sequential  the same with a sequentially consistent store, which is an atomic instruction
 * late        as sequential, but the letter is changed after it was handed over
 * divided     a counter is increased by an atomic instruction in one thread, by a plain one in the other
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct mail { int letter, sent, count; };

static const char *way;

__attribute__((noinline)) static void wait_for(struct mail *m)
{
	while (!__atomic_load_n(&m->sent, __ATOMIC_ACQUIRE))
		usleep(200000); /* so that main has changed the letter again, in its way "late" */
}

static void *reader(void *p)
{
	struct mail *m = p;

	if (!strcmp(way, "divided")) {
		__atomic_fetch_add(&m->count, 1, __ATOMIC_SEQ_CST);
		return 0;
	}
	wait_for(m);
	m->letter += 3;
	return 0;
}

int main(int argc, char **argv)
{
	struct mail *m = calloc(1, sizeof *m);
	pthread_t t;

	way = argc > 1 ? argv[1] : "acquire";
	pthread_create(&t, 0, reader, m);
	usleep(20000);
	if (!strcmp(way, "divided")) {
		m->count++;
	} else if (!strcmp(way, "acquire")) {
		m->letter = 7;
		__atomic_store_n(&m->sent, 1, __ATOMIC_RELEASE);
	} else {
		m->letter = 7;
		__atomic_store_n(&m->sent, 1, __ATOMIC_SEQ_CST);
	}
	if (!strcmp(way, "late"))
		m->letter = 8;
	pthread_join(t, 0);
	free(m);
}
