// Locks of objects on the heap, taken by the holders of the C++ library.
#include <memory>
#include <mutex>
#include <sched.h>
#include <shared_mutex>
#include <thread>

namespace bank {
struct Base {
	virtual ~Base() {}
	std::mutex mu_;
};

template <class T> struct Queue {
	T item{};
	std::recursive_mutex lock_;
	__attribute__((noinline)) void put(T x) {
		std::lock_guard<std::recursive_mutex> g(lock_);
		item = x;
	}
	template <class F> __attribute__((noinline)) void with(F f) {
		std::unique_lock<std::recursive_mutex> g(lock_);
		f();
	}
};

class Account : public Base {
	long balance = 100;
	Queue<int> todo;
	std::shared_mutex rw;

public:
	__attribute__((noinline)) void deposit(long x) {
		std::lock_guard<std::mutex> g(mu_);
		balance += x;
		todo.put(1);
	}
	__attribute__((noinline)) void audit() {
		todo.with([this] {
			std::lock_guard<std::mutex> g(mu_);
			balance++;
		});
	}
	__attribute__((noinline)) void resize() {
		std::unique_lock<std::shared_mutex> w(rw);
		std::lock_guard<std::mutex> g(mu_);
	}
	__attribute__((noinline)) void look() {
		std::lock_guard<std::mutex> g(mu_);
		std::shared_lock<std::shared_mutex> r(rw);
	}
};
}

static volatile bool turn; // no order that anybody sees

int main() {
	auto a = std::make_unique<bank::Account>();
	std::thread back([&] {
		while (!turn)
			sched_yield();
		a->audit();
		a->look();
	});
	std::thread forth([&] {
		a->deposit(1);
		a->resize();
	});
	forth.join();
	turn = true;
	back.join();
}
