// Opposite orders: each thread looks at files between its two locks, which allocates memory, calls
// the system and orders nothing.
//
// expect: deadlock config paths
#include <filesystem>
#include <mutex>
#include <string>
#include <thread>

#include "fortune.h"

namespace fs = std::filesystem;

static std::mutex config, paths;
static std::string found, parent;

static void reload() {
	std::unique_lock outer(config);
	fs::path p = fs::temp_directory_path() / "settings";
	bool there = fs::exists(p);
	chance();
	std::unique_lock inner(paths);
	found = there ? p.string() : "";
}

static void normalise() {
	later(1);
	std::unique_lock outer(paths);
	fs::path p = fs::weakly_canonical("/tmp/../tmp");
	chance();
	std::unique_lock inner(config);
	parent = p.parent_path().string();
}

int main() {
	std::thread t(reload), u(normalise);
	t.join();
	u.join();
	return parent != "/";
}
