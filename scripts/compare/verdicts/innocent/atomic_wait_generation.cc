// A gate is opened and closed again by a number that only grows: who slept at the old number is woken by any change.
#include "turns.h"
#include <atomic>
#include <thread>

static std::atomic<int> generation;

int main() {
	int before = generation.load();
	std::thread passes([=] { generation.wait(before); });
	rest(200);
	generation.fetch_add(1);
	generation.notify_all();
	rest(100);
	generation.fetch_add(1);
	generation.notify_all();
	passes.join();
}
