// main waits by pause for a flag that the handler of SIGALRM, raised by another thread, sets: the signal may come between
// the look and the pause.
//
// expect: deadlock
#include <atomic>
#include <csignal>
#include <thread>
#include <unistd.h>

#include "fortune.h"

static std::atomic<bool> stopped;

int main() {
	std::signal(SIGALRM, [](int) { stopped = true; });
	pthread_t self = pthread_self();
	std::thread stops([self] {
		later(5);
		pthread_kill(self, SIGALRM);
	});
	while (!stopped) {
		chance();
		pause();
	}
	stops.join();
}
