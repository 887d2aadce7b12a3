// A thread sets the flag and signals within the lock, so that who finds the flag set, under the lock too, may destroy the condition: the signal is over.
#include "turns.h"
#include <thread>

struct Call {
	pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	pthread_cond_t answered;
	bool done = false;
	Call() { pthread_cond_init(&answered, nullptr); }
	~Call() { pthread_cond_destroy(&answered); }
};

int main() {
	auto *call = new Call;
	std::thread answers([call] {
		pthread_mutex_lock(&call->lock);
		call->done = true;
		pthread_cond_signal(&call->answered);
		pthread_mutex_unlock(&call->lock);
	});
	rest(200);
	pthread_mutex_lock(&call->lock);
	while (!call->done)
		pthread_cond_wait(&call->answered, &call->lock);
	pthread_mutex_unlock(&call->lock);
	pthread_cond_destroy(&call->answered);
	answers.join();
	::operator delete(call);
}
