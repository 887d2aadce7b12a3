/*
 * A lock is requested at many depths of the stack, above room that is not initialised: there are return addresses that
 * earlier calls have left, others each time.
 */
#include <alloca.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

enum { depths = 64, rounds = 3000 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile long n;

__attribute__((noinline)) static void leaf(void)
{
	pthread_mutex_lock(&lock);
	n++;
	pthread_mutex_unlock(&lock);
}

__attribute__((noinline)) static void at(int depth)
{
	volatile char *room = alloca(16 * depth + 512);

	room[0] = 1;
	leaf();
	room[1] = 1;
}

/* Leaves copies of its return address at other places each time. */
__attribute__((noinline)) static void leave(unsigned seed)
{
	void *volatile left[100];

	for (int i = 0; i < 100; i++)
		left[i] = seed >> i % 16 & 1 ? __builtin_return_address(0) : 0;
}

int main(void)
{
	unsigned seed = 1;

	for (int i = 0; i < depths; i++)
		at(i);
	usleep(500000); /* the call stacks are unwound meanwhile */
	for (int i = 0; i < rounds; i++) {
		seed = seed * 1664525 + 1013904223;
		leave(seed >> 8);
		at(seed >> 26);
	}
	return 0;
}
