// The reservoir of JMPaX 2.0 (Sen, Rosu, Agha: Example 1): one thread reads the
// water level, another opens the valve by it, and nothing but their pace keeps the
// two in step. In this run the valve is open wide enough before the water is high.
// valve.tps says what must hold, and the run of a slower valve that breaks it is
// predicted.
#include <pthread.h>
#include <stdio.h>
#include <time.h>

int water = 20;
int opening = 40;

static struct timespec began;

// at waits for a tenth of a second of the run: the program relies on its schedule.
static void at(int tenth) {
    struct timespec t = began;

    t.tv_nsec += tenth * 100000000L;
    t.tv_sec += t.tv_nsec / 1000000000;
    t.tv_nsec %= 1000000000;
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, 0);
}

static void *level_reader(void *arg) {
    static const int volumes[] = {24, 27, 31};

    for (int i = 0; i < 3; i++) {
        at(2 * i + 1);
        water = volumes[i];
    }
    return arg;
}

static void *valve_controller(void *arg) {
    int turn = 0;

    at(2);
    while (turn < 3) {
        int delta = water > 18 ? 10 : -10;
        for (int i = 0; i < 2 && turn < 3; i++) {
            opening += delta;
            turn++;
            at(2 * turn + 2);
        }
    }
    return arg;
}

int main(void) {
    pthread_t reader, controller;

    clock_gettime(CLOCK_MONOTONIC, &began);
    pthread_create(&controller, 0, valve_controller, 0);
    pthread_create(&reader, 0, level_reader, 0);
    pthread_join(controller, 0);
    pthread_join(reader, 0);
    printf("the reservoir holds %d, the valve is open by %d per cent\n", water, opening);
}
