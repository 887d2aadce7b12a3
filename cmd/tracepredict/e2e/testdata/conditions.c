// In each of four regions, which main's turns begin and end, one thread puts and another one gets. With "guilty" the third
// region has no heavy put, and a get in the second one finds nothing. The arguments are such that their widths and signs matter.
#include <pthread.h>
#include <string.h>

#define KEEP __attribute__((noipa))

pthread_mutex_t turn_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t both;
static int guilty;

enum { TURNS = 4 };

KEEP int put(int n, long weight)
{
	return n * 2 + (int)weight;
}

KEEP int get(unsigned char slot)
{
	return slot == 7 ? -1 : slot;
}

static void *producer(void *unused)
{
	for (int turn = 0; turn < TURNS; turn++) {
		pthread_barrier_wait(&both);
		put(turn == 2 && guilty ? -3 : 5, 1000000000000L);
		put(1, -1);
		pthread_barrier_wait(&both);
	}
	return unused;
}

static void *consumer(void *unused)
{
	for (int turn = 0; turn < TURNS; turn++) {
		pthread_barrier_wait(&both);
		get(turn == 1 && guilty ? 7 : (unsigned char)264);
		get(3);
		pthread_barrier_wait(&both);
	}
	return unused;
}

static void take_turn(void)
{
	pthread_mutex_lock(&turn_lock);
	pthread_mutex_unlock(&turn_lock);
}

int main(int argc, char **argv)
{
	pthread_t first, second;

	guilty = argc > 1 && !strcmp(argv[1], "guilty");
	pthread_barrier_init(&both, NULL, 3);
	pthread_create(&first, NULL, producer, NULL);
	pthread_create(&second, NULL, consumer, NULL);
	for (int turn = 0; turn < TURNS; turn++) {
		take_turn();
		pthread_barrier_wait(&both);
		pthread_barrier_wait(&both);
	}
	pthread_join(first, NULL);
	pthread_join(second, NULL);
	take_turn();
	return 0;
}
