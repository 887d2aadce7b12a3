// An object is written by one thread and destroyed by another under no lock, but the unique_ptr went through a promise; the next one has its address.
// watch: size of struct Message
#include "turns.h"
#include <future>
#include <memory>
#include <thread>

struct Message {
	long size;
	char text[1400];
};

int main() {
	for (int i = 0; i < 3; i++) {
		std::promise<std::unique_ptr<Message>> box;
		auto out = box.get_future();
		std::thread reader([&] {
			auto m = out.get();
			m->size++;
			need(m->size == i + 1, "size");
		});
		auto m = std::make_unique<Message>();
		m->size = i;
		box.set_value(std::move(m));
		reader.join();
	}
}
