// Two halves that must not meet: both change `data` under no lock, and they nest two locks in
// opposite orders. A program that includes this orders `early` before `late`.
#ifndef HALVES_H
#define HALVES_H

#include "turns.h"

static long data;
static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER, two = PTHREAD_MUTEX_INITIALIZER;

static inline void early(void) {
	data = 41;
	nest(&one, &two);
}

static inline void late(void) {
	data++;
	nest(&two, &one);
}

#endif
