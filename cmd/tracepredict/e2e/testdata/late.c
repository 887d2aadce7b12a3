/* The reservoir of JMPaX 2.0 beside blocks that threads hand over under a lock: what the first thread did to a block
 * is recorded once another has it. */
#include <pthread.h>
#include <stdlib.h>

int water = 20;
int opening = 40;

struct block {
	int level, seen;
};

static struct block *handed;
static int turn;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static void wait_for(int wanted)
{
	pthread_mutex_lock(&lock);
	while (turn < wanted)
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
}

static void step(void)
{
	pthread_mutex_lock(&lock);
	turn++;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}

static void *level_reader(void *unused)
{
	static const int volumes[] = {24, 27, 31};

	for (int i = 0; i < 3; i++) {
		struct block *b = malloc(sizeof(*b));
		b->level = volumes[i];
		b->seen = 0;
		wait_for(2 * i);
		water = volumes[i];
		b->level += i;
		pthread_mutex_lock(&lock);
		handed = b;
		pthread_mutex_unlock(&lock);
		step();
	}
	return unused;
}

static void *valve_controller(void *unused)
{
	for (int i = 0; i < 3; i++) {
		wait_for(2 * i + 1);
		pthread_mutex_lock(&lock);
		struct block *b = handed;
		b->seen = b->level;
		pthread_mutex_unlock(&lock);
		opening += b->seen > 18 ? 10 : -10;
		free(b);
		step();
	}
	return unused;
}

int main(void)
{
	pthread_t reader, controller;

	pthread_create(&controller, NULL, valve_controller, NULL);
	pthread_create(&reader, NULL, level_reader, NULL);
	pthread_join(controller, NULL);
	pthread_join(reader, NULL);
	return 0;
}
