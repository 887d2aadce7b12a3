// The configuration is read under no lock while another is put in its place, but readers copy the shared_ptr under the lock and nobody changes a configuration that was published.
// watch: limit of config
#include "turns.h"
#include <memory>
#include <mutex>
#include <thread>

struct config { long limit; long burst; };
static std::mutex guard;
static std::shared_ptr<const config> current = std::make_shared<const config>(config{10, 20});

static std::shared_ptr<const config> snapshot() {
	std::lock_guard<std::mutex> l(guard);
	return current;
}

static void reload(long n) {
	auto c = std::make_shared<config>();
	c->limit = n;
	c->burst = 2 * n;
	std::lock_guard<std::mutex> l(guard);
	current = std::move(c);
}

static void serves() {
	for (int i = 0; i < 6; i++) {
		auto c = snapshot();
		rest(1);
		need(c->burst == 2 * c->limit, "configuration");
	}
}

int main() {
	std::thread a(serves), b(serves), r([] {
		for (long i = 1; i < 5; i++) {
			reload(i);
			rest(1);
		}
	});
	a.join();
	b.join();
	r.join();
	return snapshot()->limit != 4;
}
