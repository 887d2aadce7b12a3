// Two requests have their locks at one place of a buffer and nest them in opposite orders, but a pmr resource was released between, by a thread that has waited.
#include "turns.h"
#include <future>
#include <memory_resource>
#include <mutex>
#include <thread>

struct Request {
	std::mutex a, b;
};

alignas(64) static std::byte buffer[1024];
static std::pmr::monotonic_buffer_resource memory(buffer, sizeof buffer);

static Request *make() { return std::pmr::polymorphic_allocator<>(&memory).new_object<Request>(); }

int main() {
	std::promise<void> through;
	std::thread forth([&] {
		Request *r = make();
		{
			std::lock_guard<std::mutex> x(r->a);
			std::lock_guard<std::mutex> y(r->b);
		}
		r->~Request();
		through.set_value();
	});
	std::thread back([&] {
		through.get_future().wait();
		memory.release();
		Request *r = make();
		{
			std::lock_guard<std::mutex> x(r->b);
			std::lock_guard<std::mutex> y(r->a);
		}
		r->~Request();
	});
	forth.join();
	back.join();
}
