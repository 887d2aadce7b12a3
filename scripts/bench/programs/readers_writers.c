// Readers and as many writers, as in section 4.1 of Soueidi, El-Hokayem and Falcone (FASE 2023): between two acquires of
// service, one writer writes, or all readers read, each cwidth times. The first reader takes the lock for all.
//
//	readers_writers READERS CWIDTH WRITES READS
#include "scopes.h"

enum { READER = 1, WRITER };
enum { READ = 1, WRITE = 2 };

static pthread_mutex_t service = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t entered, left;
static volatile int resource;
static int readers, cwidth, writes, rounds;

KEEP void resource_write(int n)
{
	sees(WRITE);
	resource = n;
}

KEEP int resource_read(void)
{
	sees(READ);
	return resource;
}

KEEP void service_acquire(void)
{
	pthread_mutex_lock(&service);
	synchronises();
}

#if defined GLOBAL || defined HELD || defined LOCAL
static bool region_holds(void)
{
	int reads = count(READER, READ), written = count(WRITER, WRITE);
	return region == 0 || ((reads > 0) != (written > 0) && written <= 1 && (reads == 0 || reads == size(READER)));
}
#endif

static void *writer(void *arg)
{
	joins_in(WRITER);
	for (int i = number_of(arg); i < writes; i += readers) {
		service_acquire();
		resource_write(i);
		pthread_mutex_unlock(&service);
	}
	ends();
	return NULL;
}

static void *reader(void *arg)
{
	int number = number_of(arg);
	joins_in(READER);
	for (int i = 0; i < rounds; i++) {
		if (number == 0)
			service_acquire();
		pthread_barrier_wait(&entered);
		for (int j = 0; j < cwidth; j++)
			if (!broken || number == 0 || i % 2 == 0)
				resource_read();
		pthread_barrier_wait(&left);
		if (number == 0)
			pthread_mutex_unlock(&service);
	}
	pthread_barrier_wait(&left); // all readers count until all have read
	ends();
	return NULL;
}

int main(int argc, char **argv)
{
	readers = argument(argc, argv, 1, 3);
	cwidth = argument(argc, argv, 2, 2);
	writes = argument(argc, argv, 3, 12);
	rounds = argument(argc, argv, 4, 48) / (readers * cwidth);
	if (rounds == 0)
		rounds = 1;
	pthread_barrier_init(&entered, NULL, readers);
	pthread_barrier_init(&left, NULL, readers);
	run((struct routine[]){ { reader, readers }, { writer, readers } }, 2, writes + (unsigned long)rounds * readers * cwidth + writes + rounds,
	    writes + rounds + 1);
	return 0;
}
