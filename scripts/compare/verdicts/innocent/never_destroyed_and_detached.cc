// A registry that a detached thread may look into for ever is made by new and never destroyed, and it does not change.
#include "turns.h"
#include <map>
#include <string>
#include <thread>

struct Registry {
	std::map<std::string, int> ports{{"web", 80}, {"mail", 25}};
	~Registry() { ports.clear(); }
};

static const Registry &registry = *new Registry;

int main() {
	std::thread([] {
		for (int i = 0; i < 3; i++)
			if (registry.ports.find("mail") == registry.ports.end())
				std::terminate();
	}).detach();
	rest(200);
}
