// Two objects are locked in both orders, but the second way only if a socket already has a port (getsockname), which the first thread binds when it is through.
#include "turns.h"
#include <mutex>
#include <netinet/in.h>
#include <sys/socket.h>
#include <thread>

class Service {
	std::mutex routes_, clients_;
	int routed_ = 0;
	int socket_ = socket(AF_INET, SOCK_DGRAM, 0);

public:
	void open() {
		{
			std::lock_guard r(routes_);
			std::lock_guard c(clients_);
			routed_++;
		}
		sockaddr_in any{};
		any.sin_family = AF_INET;
		any.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		need(!bind(socket_, reinterpret_cast<sockaddr *>(&any), sizeof any), "bind");
	}
	void greet() {
		sockaddr_in own{};
		socklen_t size = sizeof own;
		need(!getsockname(socket_, reinterpret_cast<sockaddr *>(&own), &size), "getsockname");
		if (!own.sin_port)
			return;
		std::lock_guard c(clients_);
		std::lock_guard r(routes_);
		routed_++;
	}
};

int main() {
	Service service;
	std::thread opens([&] { service.open(); });
	std::thread greets([&] {
		rest(200);
		service.greet();
	});
	opens.join();
	greets.join();
}
