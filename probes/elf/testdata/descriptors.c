#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

static void *work(void *name)
{
	int fd = open(name, O_RDONLY);
#ifdef CLOSES
	close(fd);
#endif
	return fd < 0 ? NULL : name;
}

int main(int argc, char **argv)
{
#ifdef STARTS
	pthread_t t;
	pthread_create(&t, NULL, work, argv[argc - 1]);
	return pthread_join(t, NULL);
#else
	return work(argv[argc - 1]) == NULL;
#endif
}
