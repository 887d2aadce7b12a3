// Two threads change a total under no lock, the second one only if its stream is at its end (feof): each has a stream
// of its own, and the second one's was read to the end before the threads began.
//
// expect: race total
#include <cstdio>
#include <thread>

#include "fortune.h"

static long total = 1;

int main() {
	FILE *theirs = fopen("/dev/null", "r"), *own = fopen("/dev/null", "r");
	getc(own);
	std::thread first([&] {
		chance();
		total += 3;
		getc(theirs);
	});
	std::thread second([&] {
		later(5);
		if (feof(own))
			total *= 2;
	});
	first.join();
	second.join();
	fclose(theirs);
	fclose(own);
	return total < 5;
}
