// A static vector is filled through references by one thread after another, and read by its name: what main reads was
// written before the future that it waited for was ready.
#include <future>
#include <functional>
#include <numeric>
#include <vector>

static std::vector<int> results;

static void collect(std::vector<int> &into, int from) {
	for (int i = 0; i < 8; i++)
		into.push_back(from + i);
}

int main() {
	results.reserve(4);
	std::async(std::launch::async, collect, std::ref(results), 0).get();
	size_t first = results.size();
	auto second = std::async(std::launch::async, collect, std::ref(results), 8);
	second.wait();
	return first != 8 || results.size() != 16 || std::accumulate(results.begin(), results.end(), 0) != 120;
}
