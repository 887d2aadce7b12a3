// A shop's queue of orders, a class: two clerks put orders into it, a third takes
// them out. Its lock is right, so there is no finding; the calls of its methods,
// with what they are passed and return, are events: --on 'call shop::Queue::put'.
#include <cstdio>
#include <deque>
#include <mutex>
#include <thread>

namespace shop {

class Queue {
public:
	[[gnu::noinline]] void put(int order) {
		std::lock_guard held(lock);
		orders.push_back(order);
	}

	// take gives 0 if there is no order.
	[[gnu::noinline]] int take() {
		std::lock_guard held(lock);
		if (orders.empty())
			return 0;
		int order = orders.front();
		orders.pop_front();
		return order;
	}

private:
	std::mutex lock;
	std::deque<int> orders;
};

} // namespace shop

static void clerk(shop::Queue &queue, int first) {
	for (int i = 0; i < 5; i++)
		queue.put(first + i);
}

int main() {
	shop::Queue queue;
	std::thread one(clerk, std::ref(queue), 100), two(clerk, std::ref(queue), 200);
	one.join();
	two.join();
	int sum = 0, order = 0;
	while ((order = queue.take()))
		sum += order;
	std::printf("sum %d\n", sum);
	return sum != 1520;
}
