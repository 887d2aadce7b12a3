// A callback changes what another thread wrote under no lock, but it runs in the thread that requests the stop, after it has written, and is then unregistered.
// watch: data
#include "halves.h"
#include <stop_token>
#include <thread>

static std::stop_source source;

int main() {
	std::jthread other([token = source.get_token()] {
		std::stop_callback callback(token, late);
		while (!token.stop_requested())
			rest(1);
	});
	rest(10);
	early();
	source.request_stop();
	other.join();
	return data != 42;
}
