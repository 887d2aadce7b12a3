// Lines of a function that exceptions leave: caught behind them, caught in a caller, with clean-up on the way, and caught
// inside of them, which leaves nothing. The program counts entries and departures itself.
#include <cstdio>
#include <stdexcept>

static long entries, departures;

struct Cleans {
	int *n;
	~Cleans() { ++*n; }
};

__attribute__((noinline)) static int thrower(int n)
{
	if (n % 3 == 0)
		throw std::runtime_error("three");
	return n;
}

__attribute__((noinline)) static int behind(int n)
{
	int sum = 0, cleaned = 0;

	try {
		Cleans c{&cleaned};
		entries++;
		sum += thrower(n); // behind: first
		departures++; // behind: last
		sum++;
	} catch (const std::exception &) {
		departures++;
		sum--;
	}
	return sum + cleaned;
}

__attribute__((noinline)) static int beyond(int n)
{
	int sum = 0;

	entries++;
	sum += thrower(n); // beyond: first
	sum++; // beyond: last
	departures++;
	return sum;
}

__attribute__((noinline)) static int cleaning(int n)
{
	static int cleaned;
	Cleans c{&cleaned};

	return beyond(n) + 1;
}

__attribute__((noinline)) static int within(int n)
{
	int sum = 0;

	entries++;
	try { // within: first
		sum += thrower(n);
	} catch (const std::exception &) {
		sum = -1;
	}
	sum++; // within: last
	departures++;
	return sum;
}

int main()
{
	long s = 0;

	for (int n = 0; n < 12; n++) {
		s += behind(n) + within(n);
		try {
			s += cleaning(n);
		} catch (const std::exception &) {
			departures++;
		}
	}
	printf("counts %ld %ld\nsum %ld\n", entries, departures, s);
	return 0;
}
