// Templates, namespaces, methods inlined into others, a lambda, and the static
// of a function.
#include <cstdio>
#include <vector>

namespace bank {
template <class T> struct Account {
	T balance{};
	__attribute__((always_inline)) void add(T v) { balance += v; last = v; }
	__attribute__((noinline)) T twice(T v)
	{
		add(v);
		add(v + 1);
		return balance;
	}
	T last{};
};
namespace {
Account<long> table;
__attribute__((noinline)) int quiet(int n)
{
	static int seen = 5;
	auto more = [&](int k) __attribute__((noinline)) { return seen += k; };
	return more(n) + more(n + 1);
}
} // namespace
} // namespace bank

int main(int argc, char **argv)
{
	std::vector<int> v(argv ? argc : 0, 3);
	long sum = bank::table.twice(argc);
	for (int x : v) sum += bank::quiet(x);
	std::printf("%ld\n", sum);
	return 0;
}
