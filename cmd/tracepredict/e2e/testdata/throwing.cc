#include "say.h"

#include <stdexcept>

/* Exceptions that leave observed calls: pthread_once, by its initialiser, and a
 * lock function of the program's own. */

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static volatile int attempts;

static void initialise()
{
	if (attempts++ < 3)
		throw std::runtime_error("not yet");
}

struct Lock {
	volatile bool taken;

	__attribute__((noinline)) void lock(bool fail)
	{
		pthread_mutex_lock(&m);
		pthread_mutex_unlock(&m);
		if (fail)
			throw std::runtime_error("may not");
		taken = true;
	}

	__attribute__((noinline)) void unlock() { taken = false; }
};

static Lock lock;

static void inner()
{
	say("acquire m");
	say("release m");
}

/* As deep as somebody else's frames may make it. */
__attribute__((noinline)) static void lock_at(int depth, bool fail)
{
	volatile char room[100];

	room[depth] = depth;
	if (depth > 0) {
		lock_at(depth - 1, fail);
		room[0] = room[depth];
	} else {
		inner();
		lock.lock(fail);
	}
}

static void *body(void *)
{
	i_am("T1");
	for (int i = 0; i < 5; i++) {
		say("once-enter once");
		try {
			pthread_once(&once, initialise);
			say(i == 3 ? "once-done once" : "once-leave once");
		} catch (std::runtime_error &) {
			MUST(i < 3);
			say("once-done once inferred"); /* left, so that the next one begins after it */
		}
	}
	for (int i = 0; i < 20; i++) {
		try {
			lock_at(i * 7 % 10, i % 4 != 3);
			say("acquire lock");
			say("release lock");
			lock.unlock();
		} catch (std::runtime_error &) {
			MUST(i % 4 != 3);
		}
	}
	return nullptr;
}

int main()
{
	name_is(&once, "once");
	name_is(&m, "m");
	name_is(&lock, "lock");
	pthread_t t = start(body, "T1", nullptr);
	join(t, "T1");
	return 0;
}
