// Two threads build texts in one buffer under no lock, each in its own half: one by strcpy and strcat, the other by sprintf and sscanf, and none of their texts reaches the other half.
#include "turns.h"
#include <string.h>

static char text[64];
static const char *volatile word = "seven";

static void *low(void *unused) {
	strcpy(text, word);
	strcat(text, " and ");
	strncat(text, word, 12);
	return unused;
}

static void *high(void *unused) {
	rest(40);
	sprintf(text + 32, "%s of %s", word, word);
	need(sscanf(word, "%20s", text + 32) == 1, "sscanf");
	fprintf(stderr, "%.16s\n", text + 32);
	return unused;
}

int main(void) {
	both(low, high);
	return 0;
}
