// Two objects in one static buffer nest their mutexes in opposite orders, but the second is made there by placement new when the first was destroyed.
#include "turns.h"
#include <atomic>
#include <mutex>
#include <new>
#include <thread>

struct Conn {
	std::mutex in, out;
	void use() {
		std::lock_guard<std::mutex> a(in);
		std::lock_guard<std::mutex> b(out);
	}
};

struct Job {
	std::mutex state, queue;
	void use() {
		std::lock_guard<std::mutex> a(queue);
		std::lock_guard<std::mutex> b(state);
	}
};

alignas(Conn) alignas(Job) static unsigned char buffer[sizeof(Conn) + sizeof(Job)];
static std::atomic<bool> unused_now;

int main() {
	std::thread a([] {
		Conn *c = new (buffer) Conn;
		c->use();
		c->~Conn();
		unused_now = true;
	});
	std::thread b([] {
		while (!unused_now)
			rest(2);
		Job *j = new (buffer) Job;
		j->use();
		j->~Job();
	});
	a.join();
	b.join();
}
