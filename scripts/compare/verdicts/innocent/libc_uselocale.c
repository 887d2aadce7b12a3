// Each thread makes a locale of its own (newlocale), uses it for itself alone (uselocale), and formats a number by it.
#define _GNU_SOURCE
#include "turns.h"
#include <locale.h>

static char texts[2][32];

static void *formats(void *which) {
	long i = (long)which;
	locale_t own = newlocale(LC_ALL_MASK, i ? "C" : "C.UTF-8", (locale_t)0);
	need(own != 0, "newlocale");
	rest(200 * i);
	uselocale(own);
	snprintf(texts[i], sizeof texts[i], "%.2f", 2.5);
	uselocale(LC_GLOBAL_LOCALE);
	freelocale(own);
	return NULL;
}

int main(void) {
	pthread_t s = start(formats, (void *)0), t = start(formats, (void *)1);
	pthread_join(s, NULL);
	pthread_join(t, NULL);
	return !texts[1][0];
}
