// A part of the server of the README's commands.
static int hits;

void look_up(void) { hits++; }
