// A C++ class counts visitors from two lambda threads; add takes the lock, and the
// one that leaves does not.
//
// expect: race visitors
// expect: race hall
// timed
#include <chrono>
#include <cstdio>
#include <mutex>
#include <thread>

class Hall {
public:
	void enter() {
		std::lock_guard<std::mutex> guard(lock);
		visitors++;
	}
	void leave() { visitors--; }
	int visitors = 0;

private:
	std::mutex lock;
};

static Hall hall;

int main() {
	std::thread in([] { hall.enter(); });
	std::thread out([] {
		std::this_thread::sleep_for(std::chrono::milliseconds(150));
		hall.leave();
	});
	in.join();
	out.join();
	std::printf("%d\n", hall.visitors);
}
