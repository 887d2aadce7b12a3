// Idioms of modern C++ around one deadlock. The first argument names an idiom, the second is "guilty" or
// "innocent". Two halves nest two mutexes in opposite orders. Guilty: the idiom is used, and orders nothing
// between the halves; a pause keeps them apart. Innocent: the idiom is what keeps them apart.
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <future>
#include <latch>
#include <map>
#include <memory>
#include <mutex>
#include <semaphore>
#include <stop_token>
#include <string>
#include <thread>

std::mutex one, two;

static void keep_apart() { std::this_thread::sleep_for(std::chrono::milliseconds(60)); }

__attribute__((noinline)) static void first_half()
{
	std::lock_guard a(one);
	std::lock_guard b(two);
}

__attribute__((noinline)) static void second_half()
{
	std::lock_guard b(two);
	std::lock_guard a(one);
}

// both runs the halves in two threads; kept, if it is set, keeps them apart.
template <class Before, class After> static void both(Before done, After wait)
{
	std::thread t([&] { first_half(); done(); });
	std::thread u([&] { wait(); second_half(); });
	t.join();
	u.join();
}

struct settings { int size = 7; std::atomic<int> uses{0}; };

static void shared_pointer(bool guilty)
{
	auto s = std::make_shared<settings>();
	if (guilty) {
		both([copy = s] { auto mine = copy; if (mine->size != 7) std::puts("?"); }, [copy = s] { keep_apart(); auto mine = copy; if (mine->size != 7) std::puts("?"); });
		return;
	}
	// The last owner does what the first half must come before.
	struct last { std::promise<void> *p; ~last() { p->set_value(); } };
	std::promise<void> gone;
	auto ready = gone.get_future();
	auto owner = std::make_shared<last>(&gone);
	std::thread t([o = std::move(owner)]() mutable { first_half(); o.reset(); });
	std::thread u([&] { ready.wait(); second_half(); });
	t.join();
	u.join();
}

static void async(bool guilty)
{
	auto first = std::async(std::launch::async, [] { first_half(); return 1; });
	if (!guilty)
		first.get();
	auto second = std::async(std::launch::async, [guilty] { if (guilty) keep_apart(); second_half(); return 2; });
	second.get();
	if (guilty)
		first.get();
}

static void joining_thread(bool guilty)
{
	if (guilty) {
		std::jthread t([] { first_half(); });
		std::jthread u([] { keep_apart(); second_half(); });
		return;
	}
	{
		std::jthread t([] { first_half(); });
	}
	std::jthread u([] { second_half(); });
}

static void stopping(bool guilty)
{
	std::stop_source source;
	if (guilty) {
		both([token = source.get_token()] { if (token.stop_requested()) std::puts("?"); }, [token = source.get_token()] { keep_apart(); if (token.stop_requested()) std::puts("?"); });
		return;
	}
	both([&] { source.request_stop(); }, [token = source.get_token()] { while (!token.stop_requested()) std::this_thread::yield(); });
}

static void promise(bool guilty)
{
	std::promise<int> p;
	auto f = p.get_future();
	if (guilty)
		both([&] { p.set_value(3); }, [] { keep_apart(); });
	else
		both([&] { p.set_value(3); }, [&] { f.get(); });
}

static void heap_atomic(bool guilty)
{
	auto s = std::make_unique<settings>();
	if (guilty)
		both([&] { s->uses++; }, [&] { keep_apart(); s->uses++; });
	else
		both([&] { s->uses = 1; }, [&] { while (!s->uses) std::this_thread::yield(); });
}

static void stack_atomic(bool guilty)
{
	std::atomic<int> uses{0};
	if (guilty)
		both([&] { uses++; }, [&] { keep_apart(); uses++; });
	else
		both([&] { uses = 1; }, [&] { while (!uses) std::this_thread::yield(); });
}

static std::atomic<int> counter;

static void static_counter(bool guilty)
{
	if (guilty)
		both([] { counter++; }, [] { keep_apart(); counter++; });
	else
		both([] { counter++; }, [] { while (counter.load() == 0) std::this_thread::yield(); });
}

static void file_system(bool guilty)
{
	namespace fs = std::filesystem;
	auto there = [] { return fs::exists("/proc/self/status") && !fs::path("a/b").parent_path().empty(); };
	if (guilty) {
		both([&] { there(); }, [&] { keep_apart(); there(); });
		return;
	}
	std::promise<bool> p;
	auto f = p.get_future();
	both([&] { p.set_value(there()); }, [&] { f.get(); there(); });
}

static void latch(bool guilty)
{
	std::latch l(guilty ? 3 : 1);
	if (guilty)
		both([&] { l.count_down(); }, [&] { keep_apart(); l.count_down(); });
	else
		both([&] { l.count_down(); }, [&] { l.wait(); });
}

static void barrier(bool guilty)
{
	std::barrier b(2);
	if (guilty) {
		std::thread t([&] { b.arrive_and_wait(); first_half(); });
		std::thread u([&] { b.arrive_and_wait(); keep_apart(); second_half(); });
		t.join();
		u.join();
		return;
	}
	both([&] { b.arrive_and_wait(); }, [&] { b.arrive_and_wait(); });
}

static void counting_semaphore(bool guilty)
{
	std::counting_semaphore<4> s(guilty ? 1 : 0);
	if (guilty)
		both([&] { s.release(); }, [&] { keep_apart(); s.acquire(); });
	else
		both([&] { s.release(); }, [&] { s.acquire(); });
}

static void atomic_wait(bool guilty)
{
	std::atomic<int> ready{0};
	if (guilty)
		both([&] { ready = 1; ready.notify_all(); }, [&] { keep_apart(); });
	else
		both([&] { ready = 1; ready.notify_all(); }, [&] { ready.wait(0); });
}

static std::once_flag flag;

static void once(bool guilty)
{
	if (guilty) {
		both([] { std::call_once(flag, [] { counter = 5; }); }, [] { keep_apart(); });
		return;
	}
	std::atomic<bool> begun{false};
	std::thread t([&] { std::call_once(flag, [&] { begun = true; keep_apart(); first_half(); }); });
	std::thread u([&] { while (!begun) std::this_thread::yield(); std::call_once(flag, [] {}); second_half(); });
	t.join();
	u.join();
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	std::map<std::string, void (*)(bool)> idioms = {
		{"shared_ptr", shared_pointer}, {"async", async}, {"jthread", joining_thread}, {"stop_token", stopping},
		{"promise", promise}, {"heap_atomic", heap_atomic}, {"stack_atomic", stack_atomic},
		{"static_counter", static_counter}, {"filesystem", file_system}, {"latch", latch}, {"barrier", barrier},
		{"semaphore", counting_semaphore}, {"atomic_wait", atomic_wait}, {"once", once},
	};
	auto i = idioms.find(argv[1]);
	if (i == idioms.end())
		return 2;
	i->second(!std::strcmp(argv[2], "guilty"));
	return 0;
}
