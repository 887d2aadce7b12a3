// The thread that drops the last std::shared_ptr deletes the object, and the atomic count of
// references orders the deletion after all uses.
//
// expect: nothing
// timed
#include <chrono>
#include <cstdio>
#include <memory>
#include <thread>

static int closed;

struct File {
	int lines = 0;
	~File() { closed = lines; }
};

int main() {
	auto file = std::make_shared<File>();
	std::thread writer([mine = file]() mutable {
		mine->lines = 3;
		mine.reset();
	});
	std::thread closer([mine = std::move(file)]() mutable {
		std::this_thread::sleep_for(std::chrono::milliseconds(150));
		mine.reset();
	});
	writer.join();
	closer.join();
	std::printf("%d\n", closed);
}
