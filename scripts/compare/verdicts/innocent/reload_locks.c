// Each reload makes the two locks anew and its workers nest them the other way round, but the workers of the reload before have been joined.
// watch: served
#include "turns.h"

static struct { pthread_mutex_t a, b; int generation; } server;
static long served;

static void *worker(void *unused) {
	if (server.generation % 2) {
		pthread_mutex_lock(&server.a);
		pthread_mutex_lock(&server.b);
	} else {
		pthread_mutex_lock(&server.b);
		pthread_mutex_lock(&server.a);
	}
	served++;
	pthread_mutex_unlock(&server.a);
	pthread_mutex_unlock(&server.b);
	return unused;
}

static void reload(void) {
	server.generation++;
	pthread_mutex_init(&server.a, NULL);
	pthread_mutex_init(&server.b, NULL);
	both(worker, worker);
	pthread_mutex_destroy(&server.a);
	pthread_mutex_destroy(&server.b);
}

int main(void) {
	for (int i = 0; i < 4; i++)
		reload();
	return served != 8;
}
