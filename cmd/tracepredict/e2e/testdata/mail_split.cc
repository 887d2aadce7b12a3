/* A letter is handed over by an atomic state, at which each side looks once a turn. */
#include <atomic>
#include <thread>
#include <unistd.h>

struct mailbox {
	long letter = 0;
	std::atomic<int> state{0};

	__attribute__((noinline)) bool put(long v)
	{
		if (state.load(std::memory_order_acquire) != 0)
			return false;
		letter = v;
		state.store(1, std::memory_order_release);
		return true;
	}
	__attribute__((noinline)) bool take(long &sum)
	{
		if (state.load(std::memory_order_acquire) != 1)
			return false;
		sum += letter;
		state.store(0, std::memory_order_release);
		return true;
	}
};

int main()
{
	mailbox *m = new mailbox;
	long sum = 0;
	std::thread a([&] {
		for (long i = 1; i <= 25;)
			if (m->put(i))
				i++;
			else
				usleep(700);
	});
	std::thread b([&] {
		for (int n = 0; n < 25;)
			if (m->take(sum))
				n++;
			else
				usleep(500);
	});
	a.join();
	b.join();
	delete m;
	return sum != 325;
}
