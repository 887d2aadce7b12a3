// hangs KIND: comes to a stop, for certain, and says "ready PID" before.
#include <barrier>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <shared_mutex>
#include <string_view>
#include <thread>
#include <unistd.h>

namespace shop {
struct Desk {
	long sold = 0;
	std::mutex mu;
};
struct Table {
	long rows = 0;
	std::shared_mutex mu;
};
std::barrier<> met(2);

void swap(Desk &from, Desk &to) {
	std::lock_guard first(from.mu);
	met.arrive_and_wait();
	std::lock_guard second(to.mu);
	from.sold++, to.sold--;
}
void rewrite(Table &table, Desk &desk) {
	std::unique_lock writer(table.mu);
	met.arrive_and_wait();
	std::lock_guard second(desk.mu);
	table.rows++;
}
void look(Table &table, Desk &desk) {
	std::lock_guard first(desk.mu);
	met.arrive_and_wait();
	std::shared_lock reader(table.mu);
	desk.sold = table.rows;
}
} // namespace shop

int main(int argc, char **argv) {
	std::string_view kind = argc > 1 ? argv[1] : "";
	alarm(120);
	auto *left = new shop::Desk, *right = new shop::Desk;
	auto *table = new shop::Table;
	std::thread one, two;
	if (kind == "shared") {
		one = std::thread([=] { shop::rewrite(*table, *left); });
		two = std::thread([=] { shop::look(*table, *left); });
	} else {
		one = std::thread([=] { shop::swap(*left, *right); });
		two = std::thread([=] { shop::swap(*right, *left); });
	}
	std::printf("ready %d\n", getpid());
	std::fflush(stdout);
	one.join();
	two.join();
}
