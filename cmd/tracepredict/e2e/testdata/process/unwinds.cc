// C++ exceptions and cancellation through calls that are observed: what is
// thrown arrives, what must be cleaned up is. Waits like ways.c.
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <stdexcept>
#include <pthread.h>
#include <thread>
#include <unistd.h>
#include <vector>

static int caught, cleaned;

static int init(bool fails) {
	static std::mutex m;
	std::scoped_lock l(m);
	if (fails)
		throw std::runtime_error("no");
	return 1;
}

static void exceptions() {
	std::mutex m, n;
	for (int i = 0; i < 1000; i++) {
		std::once_flag once; // pthread_once, through which it is thrown
		try {
			std::call_once(once, init, true);
		} catch (std::runtime_error &) {
			caught++;
		}
		std::call_once(once, init, false);
		try {
			std::scoped_lock l(m, n);
			init(true);
		} catch (std::runtime_error &) {
			caught++;
		}
		std::unique_lock l(m, std::try_to_lock);
		if (l.owns_lock())
			cleaned++;
	}
	std::printf("caught %d, unlocked %d\n", caught, cleaned);
}

// A static's guard is given up by each exception, until one does not throw.
static int guarded() {
	int tries = 0;
	for (int i = 0; i < 100; i++) {
		try {
			static int value = init(i < 99);
			return tries + value;
		} catch (std::runtime_error &) {
			tries++;
		}
	}
	return -1;
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER, in = PTHREAD_COND_INITIALIZER;
static int waiting, unlocked;

static void unlock(void *) {
	unlocked++;
	pthread_mutex_unlock(&lock);
}

static void *wait_for_ever(void *) {
	pthread_mutex_lock(&lock);
	pthread_cleanup_push(unlock, nullptr);
	waiting++;
	pthread_cond_signal(&in);
	for (;;)
		pthread_cond_wait(&never, &lock);
	pthread_cleanup_pop(1);
	return nullptr;
}

static void cancellation() {
	int cancelled = 0;
	for (int i = 0; i < 200; i++) {
		pthread_t t;
		void *result;
		int before = waiting;
		pthread_create(&t, nullptr, wait_for_ever, nullptr);
		pthread_mutex_lock(&lock);
		while (waiting == before)
			pthread_cond_wait(&in, &lock);
		pthread_mutex_unlock(&lock);
		pthread_cancel(t);
		pthread_join(t, &result);
		cancelled += result == PTHREAD_CANCELED;
	}
	std::printf("cancelled %d, unlocked %d\n", cancelled, unlocked);
}

int main() {
	char line[16];
	std::setvbuf(stdout, nullptr, _IOLBF, 0);
	std::printf("ready %d\n", getpid());
	if (!std::fgets(line, sizeof line, stdin))
		return 1;
	std::vector<std::thread> beside;
	for (int i = 0; i < 2; i++)
		beside.emplace_back(cancellation), beside.back().join();
	exceptions();
	std::printf("guard %d\n", guarded());
	std::puts("finished");
	while (std::getchar() != EOF)
		;
}
