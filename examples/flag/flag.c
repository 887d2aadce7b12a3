// A cook hands a meal over by an atomic flag, without a lock: whoever has seen
// the flag sees the meal. The tip is left after the flag was raised, and nothing
// orders that.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

static atomic_int served;
static int meal;
static int tip;

__attribute__((noinline)) static void cook(void) {
	meal = 42;
	atomic_store_explicit(&served, 1, memory_order_release);
	usleep(1000);
	tip = 3;
}

__attribute__((noinline)) static int eat(void) {
	while (!atomic_load_explicit(&served, memory_order_acquire))
		usleep(1000);
	int eaten = meal;
	meal = 0;
	return eaten;
}

__attribute__((noinline)) static int look(void) {
	usleep(200000);
	int found = tip;
	tip = 0;
	return found;
}

static void *kitchen(void *unused) {
	cook();
	return unused;
}

int main(void) {
	pthread_t t;
	if (pthread_create(&t, NULL, kitchen, NULL))
		return 1;
	int eaten = eat(), found = look();
	pthread_join(t, NULL);
	printf("meal %d, tip %d\n", eaten, found);
	return 0;
}
