/* The reservoir of JMPaX 2.0 (examples/valve), whose threads take their steps when the test says so: each waits for a
 * byte from a pipe of its own, 3 and 4, which no thread of the program writes, and reports each step. */
#include <pthread.h>
#include <unistd.h>

int water = 20;
int opening = 40;

static void wait_for_turn(int fd)
{
	char c;

	if (read(fd, &c, 1) != 1)
		_exit(3);
}

static void step_taken(void)
{
	if (write(1, "step\n", 5) != 5)
		_exit(3);
}

static void *level_reader(void *unused)
{
	static const int volumes[] = {24, 27, 31};

	for (int i = 0; i < 3; i++) {
		wait_for_turn(3);
		water = volumes[i];
		step_taken();
	}
	return unused;
}

static void *valve_controller(void *unused)
{
	int turn = 0;

	while (turn < 3) {
		wait_for_turn(4);
		int delta = water > 18 ? 10 : -10;
		for (int i = 0; i < 2 && turn < 3; i++) {
			if (i > 0)
				wait_for_turn(4);
			opening += delta;
			turn++;
			step_taken();
		}
	}
	return unused;
}

int main(void)
{
	pthread_t reader, controller;

	pthread_create(&controller, NULL, valve_controller, NULL);
	pthread_create(&reader, NULL, level_reader, NULL);
	pthread_join(controller, NULL);
	pthread_join(reader, NULL);
	return 0;
}
