// Two accounts whose guards lock one mutex after the other, and count in between.
#include <cstdio>
#include <mutex>
#include <thread>

struct Account {
	std::mutex guard;
	long balance = 100;
};
static Account left, right;
static long transfers;

static void move(Account &from, Account &to, long amount) {
	std::lock_guard<std::mutex> one(from.guard);
	transfers++;
	from.balance -= amount;
	std::unique_lock<std::mutex> other(to.guard);
	to.balance += amount;
}

int main() {
	std::thread(move, std::ref(left), std::ref(right), 10).join();
	std::thread(move, std::ref(right), std::ref(left), 5).join();
	std::printf("%ld %ld\n", left.balance, right.balance);
}
