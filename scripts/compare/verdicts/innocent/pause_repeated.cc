// main pauses until a handler has set the flag, and the other thread sends the signal again and again until main has said that it is awake.
#include "turns.h"
#include <atomic>
#include <csignal>
#include <thread>
#include <unistd.h>

static std::atomic<bool> stopped, awake;

int main() {
	std::signal(SIGUSR2, [](int) { stopped = true; });
	pthread_t self = pthread_self();
	std::thread stops([self] {
		while (!awake) {
			rest(20);
			pthread_kill(self, SIGUSR2);
		}
	});
	while (!stopped)
		pause();
	awake = true;
	stops.join();
}
