// Variables that cannot be watched, each for its reason; and two of one name.
#include "watched.h"

struct pair { int a, b; };
struct pair both;
__thread int mine;
static int twin;
static int folded;

int main(void) {
	both.a = 1;
	mine = 2;
	twin = other();
	folded = 3;
	register int only = twin + folded;
	return only + both.a + mine == 0;
}
