// Two threads access memory that C++ code has allocated, the second one later. The first argument says what:
//
//	object    an object of a class, made by new
//	array     an element of an array, made by new
//	vector    an element of a vector, which a function of the library has allocated for fill
//	thrown    as object, after new has thrown an exception in the same function
//
// With a second argument, both threads hold a lock.
#include <cstdio>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

struct Account {
	long number = 1;
	long balance = 0;
};

static std::mutex lock;

[[gnu::noinline]] static Account *open(std::size_t many)
{
	if (many > 1)
		return new Account[many];
	return new Account;
}

[[gnu::noinline]] static long *fill(std::vector<long> &v)
{
	v.reserve(100);
	v.resize(100);
	return &v[40];
}

[[gnu::noinline]] static bool refused(std::size_t many)
{
	try {
		delete[] open(many);
	} catch (const std::bad_alloc &) {
		return true;
	}
	return false;
}

int main(int argc, char **argv)
{
	const std::string way = argv[1];
	const bool locked = argc > 2;
	std::vector<long> v;
	long *what;

	if (way == "thrown" && !refused(std::size_t(1) << 58))
		return 1;
	if (way == "vector")
		what = fill(v);
	else if (way == "array")
		what = &open(10)[3].balance;
	else
		what = &open(1)->balance;
	auto add = [=](useconds_t wait) {
		usleep(wait);
		std::unique_lock<std::mutex> l(lock, std::defer_lock);
		if (locked)
			l.lock();
		++*what;
	};
	std::thread a(add, 0), b(add, 50000); // the first thread comes first
	a.join();
	b.join();
	std::puts("done");
	return 0;
}
