// main returns while a static guard holds a mutex that another thread used, but the guard's destructor unlocks it before the process ends.
#include <mutex>
#include <optional>
#include <thread>

static std::mutex lock;
static std::optional<std::lock_guard<std::mutex>> guard;
static long total;

int main() {
	std::thread([] {
		std::lock_guard g(lock);
		total++;
	}).join();
	guard.emplace(lock);
	return total != 1;
}
