// WebLech's queue of downloads, an example of PRETEX (Joshi and Sen 2008): a spider asks whether there is an address, and
// takes one. But two spiders may ask for the last address before either takes it; here the second one only comes too late
// for that.
#include <cstdio>
#include <mutex>
#include <thread>
#include <unistd.h>
#include <vector>

class DownloadQueue {
public:
	void queue(const char *url);
	size_t size();
	const char *next();

private:
	std::mutex mu;
	std::vector<const char *> urls;
};

// As if these were in a library: the compiler does not look into them where they are called.
#define KEEP __attribute__((noipa))

KEEP void DownloadQueue::queue(const char *url)
{
	std::lock_guard<std::mutex> hold(mu);
	urls.push_back(url);
}

KEEP size_t DownloadQueue::size() { return urls.size(); } // without the lock, as in the paper

KEEP const char *DownloadQueue::next()
{
	std::lock_guard<std::mutex> hold(mu);
	if (urls.empty())
		return nullptr;
	const char *url = urls.back();
	urls.pop_back();
	return url;
}

static void spider(DownloadQueue *queue, int late)
{
	usleep(late);
	if (queue->size() > 0)
		queue->next();
}

int main()
{
	DownloadQueue queue;
	queue.queue("http://a.example/");
	queue.queue("http://b.example/");
	std::thread first(spider, &queue, 0), second(spider, &queue, 200000);
	first.join();
	second.join();
	std::puts("all downloaded");
	return 0;
}
