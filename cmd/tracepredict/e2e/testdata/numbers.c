/* Two threads keep what they know of their files in a table by descriptor, and make no channel. The kernel gives a
 * number again only after it was closed. With an argument they write there once more after they have closed it. */
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

int table[1024];
static int late;

static void *work(void *unused)
{
	for (int i = 0; i < 200; i++) {
		int fd = open("/dev/null", O_RDONLY);
		table[fd] = i;
		if (table[fd] != i)
			_exit(3);
		close(fd);
		if (late)
			table[fd] = -1;
	}
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t a, b;
	late = argc > 1;
	(void)argv;
	pthread_create(&a, NULL, work, NULL);
	pthread_create(&b, NULL, work, NULL);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	return 0;
}
