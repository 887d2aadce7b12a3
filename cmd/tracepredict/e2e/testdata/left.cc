// A block that an exception or longjmp leaves: what its thread does later is no part of it.
#include <csetjmp>
#include <pthread.h>
#include <stdexcept>
#include <string>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int stock = 10;
static std::string how;
static jmp_buf back;

static int add(int n)
{
	pthread_mutex_lock(&lock);
	stock += n;
	int now = stock;
	pthread_mutex_unlock(&lock);
	return now;
}

extern "C" __attribute__((noipa)) void sell()
{
	add(-1);
	if (how == "split")
		add(-1);
	else if (how == "throw")
		throw std::runtime_error("sold out");
	else if (how == "jump")
		longjmp(back, 1);
	else if (how == "end")
		pthread_exit(nullptr);
}

static void *seller(void *)
{
	try {
		if (!setjmp(back))
			sell();
	} catch (const std::exception &) {
	}
	add(-1);
	return nullptr;
}

static void *keeper(void *)
{
	usleep(100000);
	add(5);
	return nullptr;
}

int main(int argc, char **argv)
{
	how = argc > 1 ? argv[1] : "";
	pthread_t a, b;
	pthread_create(&a, nullptr, seller, nullptr);
	pthread_create(&b, nullptr, keeper, nullptr);
	pthread_join(a, nullptr);
	pthread_join(b, nullptr);
	return stock == 0;
}
