// A server keeps its counters in a structure, and a door for each desk in an
// array of structures. Two workers count requests without a lock, and both turn
// the handle of the last door. They work at different times of the run.
#include <pthread.h>
#include <stdio.h>
#include <time.h>

enum state { IDLE, OPEN, CLOSED };

struct {
	const char *name;
	pthread_mutex_t lock;
	struct {
		long hits;
		long errors;
	} stats;
} server = {.name = "front", .lock = PTHREAD_MUTEX_INITIALIZER};

struct door {
	enum state state;
	unsigned locked : 1;
	unsigned used : 7;
} doors[4];

static void milliseconds(long n) {
	struct timespec t = {n / 1000, n % 1000 * 1000000};
	nanosleep(&t, NULL);
}

__attribute__((noinline)) static void count(void) {
	server.stats.hits++; // no lock
	pthread_mutex_lock(&server.lock);
	server.stats.errors++;
	pthread_mutex_unlock(&server.lock);
}

__attribute__((noinline)) static void open_door(void) {
	doors[3].state = OPEN;
	doors[3].used = 5;
}

__attribute__((noinline)) static void close_door(void) {
	doors[3].state = CLOSED;
}

static void *early(void *unused) {
	count();
	open_door();
	milliseconds(200);
	return unused;
}

static void *late(void *unused) {
	milliseconds(100);
	count();
	close_door();
	return unused;
}

int main(void) {
	pthread_t first, second;
	if (pthread_create(&first, NULL, early, NULL) || pthread_create(&second, NULL, late, NULL))
		return 1;
	pthread_join(first, NULL);
	pthread_join(second, NULL);
	printf("%s: %ld hits, %ld errors, door %d used %d times\n", server.name, server.stats.hits, server.stats.errors, doors[3].state, doors[3].used);
	return 0;
}
