// sem_wait and sem_post are called with numbers instead of semaphores, and waits without a post, but they are the program's own and move a signal arm.
#include "turns.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int position;

__attribute__((noinline)) static void sem_wait(int degrees) {
	pthread_mutex_lock(&lock);
	position -= degrees;
	pthread_mutex_unlock(&lock);
}

__attribute__((noinline)) static void sem_post(int degrees) {
	pthread_mutex_lock(&lock);
	position += degrees;
	pthread_mutex_unlock(&lock);
}

static void *moves(void *unused) {
	for (int i = 0; i < 3; i++) {
		sem_wait(45);
		sem_wait(90);
		sem_post(90);
		rest(2);
		sem_post(45);
	}
	return unused;
}

int main(void) {
	both(moves, moves);
	return position;
}
