// Objects with a protocol: opened, used, closed. What this does with them its argument says. Whenever two threads use one
// object, the first comes long before the second, which is no order.
#include <cstdlib>
#include <cstring>
#include <pthread.h>
#include <unistd.h>

#define KEEP __attribute__((noipa))

struct box {
	long n;
};

static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;

extern "C" {
KEEP box *box_open(void)
{
	box *b = static_cast<box *>(malloc(sizeof(box)));
	b->n = 1;
	return b;
}
KEEP void box_use(box *b) { __asm__ volatile("" ::"r"(b)); }
KEEP void box_use_second(int n, box *b) { __asm__ volatile("" ::"r"(n), "r"(b)); }
KEEP void box_close(box *b) { __asm__ volatile("" ::"r"(b)); }
KEEP int handle_open(void)
{
	__asm__ volatile("");
	return 7;
}
KEEP void handle_use(int h) { __asm__ volatile("" ::"r"(h)); }
KEEP void handle_close(int h) { __asm__ volatile("" ::"r"(h)); }
}

namespace shop {
struct Till {
	KEEP Till() : n(0) { __asm__ volatile("" ::"r"(this)); }
	KEEP void sell() { ++n; }
	KEEP void shut() { n = -1; }
	long n;
};
} // namespace shop

static void later(void) { usleep(100000); }

static void *uses_box(void *b)
{
	box_use(static_cast<box *>(b));
	return nullptr;
}

static void *uses_box_locked(void *b)
{
	pthread_mutex_lock(&mu);
	box_use(static_cast<box *>(b));
	pthread_mutex_unlock(&mu);
	return nullptr;
}

static void *uses_second(void *b)
{
	box_use_second(1, static_cast<box *>(b));
	return nullptr;
}

static void *uses_handle(void *)
{
	handle_use(7);
	return nullptr;
}

static void *sells(void *t)
{
	static_cast<shop::Till *>(t)->sell();
	return nullptr;
}

static void *opens_and_closes(void *)
{
	box *b = box_open();
	box_use(b);
	box_close(b);
	free(b);
	return nullptr;
}

static pthread_t start(void *(*f)(void *), void *arg)
{
	pthread_t t;
	if (pthread_create(&t, nullptr, f, arg))
		abort();
	return t;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	pthread_t t;
	if (!strcmp(what, "after")) { // this run itself uses a box that is closed
		box *b = box_open();
		box_close(b);
		box_use(b);
		return 0;
	}
	if (!strcmp(what, "handle")) {
		int h = handle_open();
		t = start(uses_handle, nullptr);
		later();
		handle_close(h);
	} else if (!strcmp(what, "handle again")) { // another object of the same value
		int h = handle_open();
		handle_use(h);
		handle_close(h);
		h = handle_open();
		t = start(uses_handle, nullptr);
		pthread_join(t, nullptr);
		handle_close(h);
		return 0;
	} else if (!strcmp(what, "method")) {
		shop::Till *till = new shop::Till;
		t = start(sells, till);
		later();
		till->shut();
	} else if (!strcmp(what, "second")) {
		box *b = box_open();
		t = start(uses_second, b);
		later();
		box_close(b);
	} else if (!strcmp(what, "locked")) { // only sections in another order break it
		box *b = box_open();
		t = start(uses_box_locked, b);
		later();
		pthread_mutex_lock(&mu);
		box_close(b);
		pthread_mutex_unlock(&mu);
	} else if (!strcmp(what, "reuse")) { // the same memory, twice, by threads that nothing orders
		t = start(opens_and_closes, nullptr);
		later();
		opens_and_closes(nullptr);
	} else {
		box *b = box_open();
		t = start(uses_box, b);
		later();
		box_close(b);
	}
	pthread_join(t, nullptr);
	return 0;
}
