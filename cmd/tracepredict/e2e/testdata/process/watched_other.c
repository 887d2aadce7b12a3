#include "watched.h"

static int twin = 4;

int other(void) { return twin++; }
