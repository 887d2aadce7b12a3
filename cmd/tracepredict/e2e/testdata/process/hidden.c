// A library with a variable that is reached through a pointer alone.
static long hidden;
long *hidden_at = &hidden;

long hidden_value(void) { return hidden; }
