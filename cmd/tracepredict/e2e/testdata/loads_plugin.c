/* A library that loads.c loads: it counts its calls in a variable, under no lock. */
static long calls;

long hidden_call(void) { return ++calls; }
