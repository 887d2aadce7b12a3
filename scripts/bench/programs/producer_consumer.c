// Producers and as many consumers with a queue, a lock and two conditions, as in section 4.2 of Soueidi, El-Hokayem and
// Falcone (FASE 2023).
//
//	producer_consumer PRODUCERS ITEMS
#include "scopes.h"

#define CAPACITY 16

enum { PRODUCER = 1, CONSUMER };
enum { PRODUCE = 1, CONSUME = 2 };

static pthread_mutex_t queue_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t not_empty = PTHREAD_COND_INITIALIZER, not_full = PTHREAD_COND_INITIALIZER;
static sem_t may_produce;
static int queue[CAPACITY];
static unsigned produced, consumed;
static int producers, items;

KEEP void produce(int item)
{
	sees(PRODUCE);
	queue[produced++ % CAPACITY] = item;
}

KEEP int consume(void)
{
	sees(CONSUME);
	return queue[consumed++ % CAPACITY];
}

static void queue_acquire(void)
{
	pthread_mutex_lock(&queue_lock);
	synchronises();
}

#if defined GLOBAL || defined HELD || defined LOCAL
static bool region_holds(void)
{
	static bool once;
	once = once || count(PRODUCER, PRODUCE);
	return once || !count(CONSUMER, CONSUME);
}
#endif

static void *producer(void *arg)
{
	joins_in(PRODUCER);
	if (broken) {
		sem_wait(&may_produce);
		sem_post(&may_produce);
	}
	for (int i = number_of(arg); i < items; i += producers) {
		queue_acquire();
		while (produced - consumed == CAPACITY)
			pthread_cond_wait(&not_full, &queue_lock);
		produce(i);
		pthread_cond_signal(&not_empty);
		pthread_mutex_unlock(&queue_lock);
	}
	ends();
	return NULL;
}

static void *consumer(void *arg)
{
	joins_in(CONSUMER);
	if (broken && number_of(arg) == 0) { // does not look whether there is an item
		queue_acquire();
		consume();
		consumed--;
		pthread_mutex_unlock(&queue_lock);
		sem_post(&may_produce);
	}
	for (int i = number_of(arg); i < items; i += producers) {
		queue_acquire();
		while (produced == consumed)
			pthread_cond_wait(&not_empty, &queue_lock);
		consume();
		pthread_cond_signal(&not_full);
		pthread_mutex_unlock(&queue_lock);
	}
	ends();
	return NULL;
}

int main(int argc, char **argv)
{
	producers = argument(argc, argv, 1, 2);
	items = argument(argc, argv, 2, 20);
	sem_init(&may_produce, 0, 0);
	run((struct routine[]){ { producer, producers }, { consumer, producers } }, 2, 4ul * items, 2ul * items + 1);
	return 0;
}
