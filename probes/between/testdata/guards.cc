// As locks.c, with the guards of the C++ library.
#include <mutex>
#include <shared_mutex>
#include <vector>
#include <string>

std::mutex a, b;
int shared, flag, table[8];
#define F extern "C" __attribute__((noinline)) void
struct Account {
	std::mutex m;
	long balance;
	Account *next;
	__attribute__((noinline)) void enter() { m.lock(); }
	void move(Account &to, long n) {
		std::lock_guard<std::mutex> from(m);
		balance -= n;
		std::lock_guard<std::mutex> into(to.m);
		to.balance += n;
	}
	void moveChecked(Account &to, long n) {
		std::lock_guard<std::mutex> from(m);
		if (balance < n)
			return;
		std::lock_guard<std::mutex> into(to.m);
		to.balance += n;
	}
};

F yes_guards(Account *p, int n) { std::lock_guard<std::mutex> x(a); std::lock_guard<std::mutex> y(b); shared++; }
F yes_guards_count(Account *p, int n) { std::lock_guard<std::mutex> x(a); shared += n; std::lock_guard<std::mutex> y(b); flag++; }
F no_guards_branch(Account *p, int n) { std::lock_guard<std::mutex> x(a); if (flag) shared++; std::lock_guard<std::mutex> y(b); flag++; }
F yes_unique(Account *p, int n) { std::unique_lock<std::mutex> x(a); std::unique_lock<std::mutex> y(b); shared++; }
F yes_unique_members(Account *p, int n) { std::unique_lock<std::mutex> x(p->m); std::unique_lock<std::mutex> y(p[1].m); shared++; }
F no_unique_of_next(Account *p, int n) { std::unique_lock<std::mutex> x(p->m); std::unique_lock<std::mutex> y(p->next->m); shared++; }
F yes_scoped_nested(Account *p, int n) { std::scoped_lock x(a); std::scoped_lock y(b); shared++; }
F yes_members(Account *p, int n) { p->move(p[1], n); }
F no_members_checked(Account *p, int n) { p->moveChecked(p[1], n); }
F yes_method(Account *p, int n) { p->enter(); p[1].enter(); p->balance = n; p[1].m.unlock(); p->m.unlock(); }
F yes_deferred(Account *p, int n) {
	std::unique_lock<std::mutex> x(a, std::defer_lock), y(b, std::defer_lock);
	x.lock();
	if (n > 3) shared++;
	y.lock();
	shared++;
}
std::unique_lock<std::mutex> *held;
F no_guard_on_heap(Account *p, int n) {
	held = new std::unique_lock<std::mutex>(b, std::defer_lock);
	std::unique_lock<std::mutex> x(a);
	held->lock();
	shared++;
	held->unlock();
}
F yes_lambda(Account *p, int n) {
	auto both = [&] { std::lock_guard<std::mutex> x(a); std::lock_guard<std::mutex> y(b); p->balance += n; };
	both();
}
F no_vector(Account *p, int n) {
	static std::vector<int> all;
	std::lock_guard<std::mutex> x(a);
	all.push_back(n);
	std::lock_guard<std::mutex> y(b);
	shared++;
}
F no_catches(Account *p, int n) {
	try { std::lock_guard<std::mutex> x(a); if (n) throw n; std::lock_guard<std::mutex> y(b); shared++; } catch (int) { flag++; }
}

#define CALL(f) f(&accounts[argc], argc)
Account accounts[4];
int main(int argc, char **argv) {
#include "calls.h"
	return 0;
}
