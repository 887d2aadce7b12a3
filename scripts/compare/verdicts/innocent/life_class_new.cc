// Objects of two threads nest their locks in opposite orders at one address, but the class's own operator new gave the memory out again after delete.
#include "turns.h"
#include <mutex>
#include <thread>

static std::mutex pool;

class Session {
	static inline void *unused_memory = nullptr;

public:
	std::mutex a, b;
	static void *operator new(std::size_t size) {
		std::lock_guard<std::mutex> l(pool);
		if (void *p = unused_memory) {
			unused_memory = nullptr;
			return p;
		}
		return ::operator new(size);
	}
	static void operator delete(void *p) {
		std::lock_guard<std::mutex> l(pool);
		if (unused_memory)
			::operator delete(p);
		else
			unused_memory = p;
	}
};

int main() {
	std::thread forth([] {
		auto *s = new Session;
		{
			std::lock_guard<std::mutex> x(s->a);
			std::lock_guard<std::mutex> y(s->b);
		}
		delete s;
	});
	std::thread back([] {
		rest(20);
		auto *s = new Session;
		{
			std::lock_guard<std::mutex> x(s->b);
			std::lock_guard<std::mutex> y(s->a);
		}
		delete s;
	});
	forth.join();
	back.join();
}
