/* A library that loads.c loads: its constructor prepares what its function reads. */
static long table;

__attribute__((constructor)) static void prepare(void) { table = 7; }

long hidden_call(void) { return table; }
