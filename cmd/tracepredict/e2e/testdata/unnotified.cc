// A thread waits until an atomic variable changes, and another one changes it: in this run before the wait. The argument
// selects how: "silent" notifies nobody, so that a thread that waits already waits for ever. The rest is innocent: "told"
// notifies, "later" leaves it to the main thread, "joined" waits only once the other thread has ended, and "poll" looks at
// the variable again and again.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <thread>

static std::atomic<int> opened{0};

static void pause_for(int ms)
{
	std::this_thread::sleep_for(std::chrono::milliseconds(ms));
}

static void waits()
{
	opened.wait(0);
}

static void polls()
{
	while (!opened.load())
		pause_for(1);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "silent";
	bool tells = !std::strcmp(how, "told");
	std::thread store([tells] {
		opened.store(1);
		if (tells)
			opened.notify_all();
	});
	if (!std::strcmp(how, "joined"))
		store.join();
	std::thread wait([how] {
		pause_for(60);
		if (!std::strcmp(how, "poll"))
			polls();
		else
			waits();
	});
	if (!std::strcmp(how, "later")) {
		pause_for(30);
		opened.notify_one();
	}
	wait.join();
	if (store.joinable())
		store.join();
	std::puts("through");
}
