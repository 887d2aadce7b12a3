// Templates, exceptions (functions with landing pads and cold parts) and a
// class, for the tests of package binary.
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

namespace bank {
template <class T> struct Account {
	std::mutex lock;
	T balance{};
	void add(T v) {
		std::lock_guard<std::mutex> g(lock);
		if (v < 0) throw std::runtime_error("negative: " + std::to_string(v));
		balance += v;
	}
};
static Account<long> shared;
}

int main(int argc, char **argv) {
	std::vector<std::string> names(argv, argv + argc);
	try {
		for (auto &n : names) bank::shared.add(static_cast<long>(n.size()) - 3);
	} catch (const std::exception &e) {
		return 2;
	}
	return bank::shared.balance > 100;
}
