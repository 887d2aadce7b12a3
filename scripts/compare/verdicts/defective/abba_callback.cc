// A subject calls its observers under its lock, and an observer locks itself; unsubscribing goes
// the other way round. What is called is reached by std::function, so no function shows both locks.
//
// expect: deadlock
#include <functional>
#include <list>
#include <mutex>
#include <thread>

#include "fortune.h"

static std::mutex subject_lock;
static std::list<std::function<void(int)>> observers;

static void publish(int news) {
	std::lock_guard held(subject_lock);
	chance();
	for (auto &tell : observers)
		tell(news);
}

struct View {
	std::mutex lock;
	int shown = 0;
	void subscribe() {
		std::lock_guard held(subject_lock);
		observers.push_back([this](int news) {
			std::lock_guard held(lock);
			shown = news;
		});
	}
	void close() {
		std::lock_guard held(lock);
		chance();
		std::lock_guard outer(subject_lock);
		observers.clear();
	}
};

int main() {
	View view;
	view.subscribe();
	std::thread t(publish, 5);
	std::thread u([&] {
		later(1);
		view.close();
	});
	t.join();
	u.join();
}
