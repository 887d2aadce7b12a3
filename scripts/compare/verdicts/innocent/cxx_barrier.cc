// Each phase writes what the next one reads in another thread under no lock, but a std::barrier with a completion function lies between them.
// watch: shared
#include "turns.h"
#include <barrier>
#include <thread>

static long left, right, sum;
static void adds() noexcept { sum += left + right; }
static std::barrier<void (*)() noexcept> phase(2, adds);

int main() {
	std::thread a([] {
		for (int i = 1; i < 5; i++) {
			left = i;
			phase.arrive_and_wait();
			right -= i;
			phase.arrive_and_wait();
		}
	});
	std::thread b([] {
		for (int i = 1; i < 5; i++) {
			right = 2 * i;
			phase.arrive_and_wait();
			left += i;
			phase.arrive_and_wait();
		}
	});
	a.join();
	b.join();
	return sum != 60;
}
