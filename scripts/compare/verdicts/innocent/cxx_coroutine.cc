// A coroutine's locals are used by two threads under no lock, but it is resumed by the second only when the first has seen it suspended and ended.
// watch: data
#include "halves.h"
#include <coroutine>
#include <thread>

struct Task {
	struct promise_type {
		Task get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
		std::suspend_always initial_suspend() noexcept { return {}; }
		std::suspend_always final_suspend() noexcept { return {}; }
		void return_void() {}
		void unhandled_exception() {}
	};
	std::coroutine_handle<promise_type> handle;
};

static Task runs() {
	early();
	co_await std::suspend_always();
	late();
}

int main() {
	Task t = runs();
	std::thread a([&] { t.handle.resume(); });
	a.join();
	std::thread b([&] { t.handle.resume(); });
	b.join();
	t.handle.destroy();
	return data != 42;
}
