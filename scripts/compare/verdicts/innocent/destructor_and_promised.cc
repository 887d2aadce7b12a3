// A detached thread adds to a static list; main returns only when the thread has promised that it will not touch it any more, and then the list is destroyed.
#include "turns.h"
#include <future>
#include <thread>
#include <vector>

static std::vector<int> samples;

int main() {
	std::promise<void> over;
	auto done = over.get_future();
	std::thread([over = std::move(over)]() mutable {
		for (int i = 0; i < 5; i++)
			samples.push_back(i);
		rest(50);
		over.set_value_at_thread_exit();
	}).detach();
	done.wait();
}
