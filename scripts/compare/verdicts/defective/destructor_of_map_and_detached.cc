// A registry of static storage is destroyed at the end of main while a detached thread may still look into it: in the run
// it had looked before.
//
// expect: race
#include <map>
#include <string>
#include <thread>

#include "fortune.h"

struct Registry {
	std::map<std::string, int> ports{{"web", 80}, {"mail", 25}};
	int asked = 0;
	~Registry() {
		asked = -1;
		ports.clear();
	}
};

static Registry registry;

int main() {
	std::thread([] {
		chance();
		registry.asked++;
		if (registry.ports.find("mail") == registry.ports.end())
			std::terminate();
	}).detach();
	later(5);
}
