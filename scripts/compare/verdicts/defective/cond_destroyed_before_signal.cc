// A thread sets the flag under the lock, but signals after it has let go of it; who finds the flag set destroys the
// condition, perhaps before the signal.
//
// expect: misuse
// expect: race
#include <pthread.h>
#include <thread>

#include "fortune.h"

struct Call {
	pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	pthread_cond_t answered;
	bool done = false;
	Call() { pthread_cond_init(&answered, nullptr); }
	~Call() { pthread_cond_destroy(&answered); }
};

int main() {
	std::thread answers;
	{
		static Call *call;
		call = new Call;
		answers = std::thread([] {
			pthread_mutex_lock(&call->lock);
			call->done = true;
			pthread_mutex_unlock(&call->lock);
			chance();
			pthread_cond_signal(&call->answered);
		});
		later(5);
		pthread_mutex_lock(&call->lock);
		while (!call->done)
			pthread_cond_wait(&call->answered, &call->lock);
		pthread_mutex_unlock(&call->lock);
		call->~Call();
	}
	answers.join();
}
