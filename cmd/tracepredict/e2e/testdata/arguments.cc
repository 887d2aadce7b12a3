// One thread adds plain memory to an atomic counter, whose function compilers say the load is a part of; another thread
// changes that memory. The argument says which memory, and how:
//
//	heap, named   on the heap, or a static variable: a race
//	stored        a static variable is stored to an atomic one: a race
//	locked        on the heap, under one lock: none
//	bits          there is only an atomic word, of which a loop of the compiler's own sets bits: none
#include <atomic>
#include <cstring>
#include <mutex>
#include <thread>
#include <unistd.h>

struct config {
	int level;
	int size;
};

static std::atomic<config *> current{nullptr};
static std::atomic<int> seen{0}, last{0};
static std::mutex lock;
static int level = 1;
static const char *way;

static bool is(const char *name) { return !std::strcmp(way, name); }

__attribute__((noipa)) static void add_heap() {
	if (config *c = current.load())
		seen += c->level;
}
__attribute__((noipa)) static void add_named() { seen += level; }
__attribute__((noipa)) static void store_named() { last = level; }
__attribute__((noipa)) static int set(int bit) { return seen.fetch_or(bit); }

static void first() {
	if (is("heap"))
		add_heap();
	if (is("named"))
		add_named();
	if (is("stored"))
		store_named();
	if (is("bits"))
		last = set(2);
	if (is("locked")) {
		std::lock_guard held(lock);
		add_heap();
	}
}

static void second() {
	usleep(100000);
	if (is("heap"))
		current.load()->level = 2;
	if (is("named") || is("stored"))
		level = 2;
	if (is("bits"))
		last = set(4);
	if (is("locked")) {
		std::lock_guard held(lock);
		current.load()->level = 2;
	}
}

int main(int argc, char **argv) {
	way = argc > 1 ? argv[1] : "heap";
	current = new config{1, 1};
	std::thread a(first), b(second);
	a.join();
	b.join();
	return seen + last < 1;
}
