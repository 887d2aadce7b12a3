// As board, but both readers read every notice. The writer waits for the first of them alone: only the speed of the second one
// makes it read each notice before the next comes.
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#define NOTICES 4

static pthread_mutex_t board_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t begun, open_board, next_notice;
static int notice;
static int sum[2];

// As if these were in a library: the compiler does not look into them where they are called.
#define KEEP __attribute__((noipa))

KEEP void board_write(int n) { notice = n; }

KEEP int board_read(void) { return notice; }

static void *writer(void *arg)
{
	pthread_barrier_wait(&begun);
	for (int n = 1; n <= NOTICES; n++) {
		pthread_mutex_lock(&board_lock);
		board_write(n);
		pthread_mutex_unlock(&board_lock);
		pthread_barrier_wait(&next_notice); // the readers may read
		pthread_barrier_wait(&next_notice); // the first one has read
		usleep(300000);
	}
	return arg;
}

static void *first_reader(void *arg)
{
	pthread_barrier_wait(&begun);
	for (int n = 1; n <= NOTICES; n++) {
		pthread_barrier_wait(&next_notice);
		pthread_mutex_lock(&board_lock);
		pthread_barrier_wait(&open_board); // the other reader may read
		sum[0] += board_read();
		pthread_mutex_unlock(&board_lock);
		pthread_barrier_wait(&next_notice);
	}
	return arg;
}

static void *second_reader(void *arg)
{
	pthread_barrier_wait(&begun);
	for (int n = 1; n <= NOTICES; n++) {
		pthread_barrier_wait(&open_board);
		sum[1] += board_read();
	}
	return arg;
}

int main(void)
{
	void *(*const work[])(void *) = { writer, first_reader, second_reader };
	pthread_t threads[3];

	pthread_barrier_init(&begun, NULL, 3);
	pthread_barrier_init(&open_board, NULL, 2);
	pthread_barrier_init(&next_notice, NULL, 2);
	for (int i = 0; i < 3; i++)
		if (pthread_create(&threads[i], NULL, work[i], NULL))
			return 1;
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	printf("read %d and %d\n", sum[0], sum[1]);
	return 0;
}
