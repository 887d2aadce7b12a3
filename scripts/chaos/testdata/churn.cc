// churn SOCKET: a service whose threads come and go. Each connection has a thread of its own, which answers lines with
// a number by twice the number plus 1, and ends after some requests. The threads share a cache, a count and a queue
// of what they did, which another thread empties. SIGTERM ends it.
#include <atomic>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <sys/socket.h>
#include <sys/un.h>
#include <thread>
#include <unistd.h>

namespace {

constexpr int requestsPerThread = 50;

struct Cache {
	std::mutex lock;
	std::map<long, std::shared_ptr<std::string>> answers;

	std::shared_ptr<std::string> find(long n)
	{
		std::lock_guard<std::mutex> hold(lock);
		auto &slot = answers[n % 512];
		std::string text = std::to_string(2 * n + 1) + "\n";
		if (!slot || *slot != text)
			slot = std::make_shared<std::string>(text);
		return slot;
	}
};

struct Log {
	std::mutex lock;
	std::condition_variable filled;
	std::deque<long> entries;
	long sum = 0;

	void add(long n)
	{
		{
			std::lock_guard<std::mutex> hold(lock);
			entries.push_back(n);
		}
		filled.notify_one();
	}

	void empty()
	{
		for (;;) {
			std::unique_lock<std::mutex> hold(lock);
			filled.wait(hold, [this] { return !entries.empty(); });
			sum += entries.front();
			entries.pop_front();
		}
	}
};

Cache cache;
Log entries;
std::atomic<long> served;

void serve(int fd)
{
	FILE *in = fdopen(fd, "r+");
	char line[64];
	for (int i = 0; i < requestsPerThread && fgets(line, sizeof line, in); i++) {
		long n = atol(line);
		auto answer = cache.find(n);
		entries.add(n);
		served++;
		if (write(fd, answer->data(), answer->size()) < 0)
			break;
	}
	fclose(in);
}

} // namespace

int main(int, char **argv)
{
	signal(SIGPIPE, SIG_IGN);
	int listening = socket(AF_UNIX, SOCK_STREAM, 0);
	sockaddr_un at = {};
	at.sun_family = AF_UNIX;
	strncpy(at.sun_path, argv[1], sizeof at.sun_path - 1);
	if (bind(listening, reinterpret_cast<sockaddr *>(&at), sizeof at) != 0 || listen(listening, 64) != 0) {
		perror(argv[1]);
		return 1;
	}
	std::thread([] { entries.empty(); }).detach();
	for (;;) {
		int fd = accept(listening, nullptr, nullptr);
		if (fd >= 0)
			std::thread(serve, fd).detach();
	}
}
