// main reads what a task wrote under no lock in a thread that is still alive, but the task's future was awaited.
// watch: data
#include "halves.h"
#include <future>
#include <semaphore>
#include <thread>

int main() {
	std::binary_semaphore leave(0);
	std::packaged_task<void()> task(early);
	std::future<void> done = task.get_future();
	std::thread worker([&] {
		task();
		leave.acquire();
	});
	done.wait();
	late();
	leave.release();
	worker.join();
	return data != 42;
}
