// The same shared_ptr variable is read and written by two threads, but by std::atomic_load and atomic_store, which lock inside the library.
// watch: size of struct Table
#include "turns.h"
#include <memory>
#include <thread>

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

struct Table { long size; };

static std::shared_ptr<Table> table = std::make_shared<Table>(1);

int main() {
	std::thread writer([] {
		for (long i = 2; i < 8; i++, rest(2))
			std::atomic_store(&table, std::make_shared<Table>(i));
	});
	std::thread reader([] {
		for (int i = 0; i < 10; i++, rest(1))
			need(std::atomic_load(&table)->size > 0, "size");
	});
	writer.join();
	reader.join();
}
