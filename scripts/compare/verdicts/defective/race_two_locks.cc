// Each of two threads guards the price with a lock, but each with another one.
//
// expect: race price
// watch: shared
#include <mutex>
#include <thread>

#include "fortune.h"

static std::mutex shop_lock, web_lock;
static int price = 5;

int main() {
	std::thread t([] {
		chance();
		std::lock_guard held(shop_lock);
		price += 1;
	});
	std::thread u([] {
		later(1);
		std::lock_guard held(web_lock);
		price *= 2;
	});
	t.join();
	u.join();
	return price != 12;
}
