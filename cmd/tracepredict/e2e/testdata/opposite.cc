// Four ways to lock in opposite orders: in tasks, of which the main thread waits for the first by an atomic variable; with a
// lock that is a member of an object on the stack, beside one that has a name; with a time limit of an hour; by functions
// that have locked two others before, for which a third lock keeps the threads apart.
#include <chrono>
#include <cstring>
#include <functional>
#include <future>
#include <mutex>
#include <thread>

static std::mutex left, right;
static std::timed_mutex timed;
static int entries;

static void later() { std::this_thread::sleep_for(std::chrono::milliseconds(50)); }

static void tasks() {
	auto one = std::async(std::launch::async, [] {
		std::lock_guard outer(left);
		std::lock_guard inner(right);
		++entries;
	});
	auto two = std::async(std::launch::async, [] {
		later();
		std::lock_guard outer(right);
		std::lock_guard inner(left);
		++entries;
	});
	one.get();
	two.get();
}

struct View {
	std::mutex lock;
	int shown = 0;
	void show() {
		std::lock_guard outer(left);
		std::lock_guard inner(lock);
		++shown;
	}
	void close() {
		std::lock_guard outer(lock);
		std::lock_guard inner(left);
		--shown;
	}
};

static void member() {
	View view;
	std::thread one([&] { view.show(); });
	std::thread two([&] {
		later();
		view.close();
	});
	one.join();
	two.join();
}

static void limited() {
	std::thread one([] {
		std::lock_guard outer(left);
		if (timed.try_lock_for(std::chrono::hours(1)))
			timed.unlock();
	});
	std::thread two([] {
		later();
		std::lock_guard outer(timed);
		std::lock_guard inner(left);
	});
	one.join();
	two.join();
}

__attribute__((noipa)) static void nest(std::mutex &outer, std::mutex &inner) {
	std::lock_guard first(outer);
	std::lock_guard second(inner);
	++entries;
}

__attribute__((noipa)) static void turned(std::mutex &inner, std::mutex &outer) {
	std::lock_guard first(outer);
	std::lock_guard second(inner);
	++entries;
}

static void again() {
	static std::mutex gate, early, late;
	std::thread one([] {
		{
			std::lock_guard in(gate);
			nest(early, late);
		}
		nest(left, right);
	});
	std::thread two([] {
		later();
		{
			std::lock_guard in(gate);
			turned(early, late);
		}
		turned(left, right);
	});
	one.join();
	two.join();
}

int main(int argc, char **argv) {
	const char *way = argc > 1 ? argv[1] : "";
	if (!strcmp(way, "tasks"))
		tasks();
	else if (!strcmp(way, "member"))
		member();
	else if (!strcmp(way, "again"))
		again();
	else
		limited();
}
