#include <fcntl.h>
#include <thread>
#include <unistd.h>

int main()
{
	std::thread t([] { close(dup(1)); });
	t.join();
}
