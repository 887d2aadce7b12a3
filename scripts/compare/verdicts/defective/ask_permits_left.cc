// Two threads change a price under no lock, the second one only if a semaphore has a permit (sem_getvalue): there are
// more to begin with than the first one takes, so that it always has.
//
// expect: race price
#include <semaphore.h>
#include <thread>

#include "fortune.h"

static long price = 10;
static sem_t seats;

int main() {
	sem_init(&seats, 0, 3);
	std::thread first([] {
		sem_wait(&seats);
		chance();
		price += 2;
		sem_post(&seats);
	});
	std::thread second([] {
		int free = 0;
		later(5);
		sem_getvalue(&seats, &free);
		if (free > 0)
			price *= 2;
	});
	first.join();
	second.join();
	return price < 12;
}
