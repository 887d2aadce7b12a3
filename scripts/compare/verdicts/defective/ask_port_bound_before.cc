// A service locks its routes and clients in both orders, the second way only if its socket has a port
// (getsockname): the socket was bound before the threads began, so the answer is always the same.
//
// expect: deadlock Service.clients Service.routes
#include <mutex>
#include <netinet/in.h>
#include <sys/socket.h>
#include <thread>

#include "fortune.h"

struct Service {
	std::mutex routes, clients;
	int routed = 0;
	int endpoint = socket(AF_INET, SOCK_DGRAM, 0);

	Service() {
		sockaddr_in any{};
		any.sin_family = AF_INET;
		any.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		if (bind(endpoint, reinterpret_cast<sockaddr *>(&any), sizeof any))
			endpoint = -1;
	}
	void open() {
		std::lock_guard r(routes);
		chance();
		std::lock_guard c(clients);
		routed++;
	}
	void greet() {
		sockaddr_in own{};
		socklen_t size = sizeof own;
		if (getsockname(endpoint, reinterpret_cast<sockaddr *>(&own), &size) || !own.sin_port)
			return;
		std::lock_guard c(clients);
		chance();
		std::lock_guard r(routes);
		routed++;
	}
};

int main() {
	Service service;
	std::thread opens([&] { service.open(); });
	std::thread greets([&] {
		later(5);
		service.greet();
	});
	opens.join();
	greets.join();
}
