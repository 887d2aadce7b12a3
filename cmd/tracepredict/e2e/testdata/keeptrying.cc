// A thread holds a lock and tries another one again and again until it has it, and a second thread nests the two the other
// way round, as in keeptrying.c, with the locks of C++. In this run they do not meet. The argument selects how the first
// thread tries: "mutex" a static std::mutex, "sleeps" one in the heap, "unique" one in the heap by a std::unique_lock, "shared" a std::shared_mutex for reading,
// "flag" a spin lock of its own. The rest is innocent: "limited" gives up after a time, and "both" is std::lock, which lets
// go of what it has.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <shared_mutex>
#include <thread>

struct Account {
	std::mutex lock;
	std::shared_mutex books;
	std::atomic_flag busy = ATOMIC_FLAG_INIT;
	int value = 0;
};

static Account other;

static void pause_for(int ms)
{
	std::this_thread::sleep_for(std::chrono::milliseconds(ms));
}

static void mutex(Account &, Account &)
{
	while (!other.lock.try_lock())
		std::this_thread::yield();
	other.value++;
	other.lock.unlock();
}

static void sleeps(Account &, Account &to)
{
	while (!to.lock.try_lock())
		pause_for(1);
	to.value++;
	to.lock.unlock();
}

static void unique(Account &, Account &to)
{
	std::unique_lock<std::mutex> second(to.lock, std::defer_lock);
	while (!second.try_lock())
		std::this_thread::yield();
	to.value++;
}

static void shared(Account &, Account &to)
{
	while (!to.books.try_lock_shared())
		std::this_thread::yield();
	to.books.unlock_shared();
}

static void flag(Account &, Account &to)
{
	while (to.busy.test_and_set(std::memory_order_acquire))
		std::this_thread::yield();
	to.value++;
	to.busy.clear(std::memory_order_release);
}

static void limited(Account &, Account &to)
{
	auto end = std::chrono::steady_clock::now() + std::chrono::seconds(1);
	while (!to.lock.try_lock())
		if (std::chrono::steady_clock::now() > end)
			return;
	to.value++;
	to.lock.unlock();
}

static void both(Account &from, Account &to)
{
	from.lock.unlock();
	std::lock(from.lock, to.lock);
	to.value++;
	to.lock.unlock();
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "mutex";
	Account &from = *new Account, &to = std::strcmp(how, "mutex") ? *new Account : other;
	auto is = [how](const char *name) { return !std::strcmp(how, name); };
	auto tries = is("unique") ? unique : is("sleeps") ? sleeps : is("shared") ? shared : is("flag") ? flag : is("limited") ? limited : is("both") ? both : mutex;
	std::thread first([tries, &from, &to] {
		from.lock.lock();
		tries(from, to);
		from.lock.unlock();
	});
	std::thread second([is, &from, &to] {
		pause_for(60);
		if (is("shared"))
			to.books.lock();
		else if (is("flag"))
			while (to.busy.test_and_set(std::memory_order_acquire))
				std::this_thread::yield();
		else
			to.lock.lock();
		from.lock.lock();
		from.value++;
		from.lock.unlock();
		if (is("shared"))
			to.books.unlock();
		else if (is("flag"))
			to.busy.clear(std::memory_order_release);
		else
			to.lock.unlock();
	});
	first.join();
	second.join();
	std::printf("%s: %d %d\n", how, from.value, to.value);
}
