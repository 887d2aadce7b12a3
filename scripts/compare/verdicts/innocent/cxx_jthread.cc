// Nobody joins the thread in the text, but the destructor of std::jthread does, before the second half.
// watch: data
#include "halves.h"
#include <thread>

int main() {
	{
		std::jthread first([] {
			rest(10);
			early();
		});
	}
	late();
	return data != 42;
}
