// Two threads take their own texts apart by strtok, which keeps where it was for all threads together.
//
// expect: race
#include <cstring>
#include <thread>

#include "fortune.h"

static int words[2];

static void split(int which, char *text) {
	later(2 + 3 * which);
	for (char *word = strtok(text, " "); word; word = strtok(nullptr, " ")) {
		chance();
		words[which]++;
	}
}

int main() {
	char one[] = "a few words", two[] = "and some more words";
	std::thread t(split, 0, one), u(split, 1, two);
	t.join();
	u.join();
	return words[0] + words[1] == 0;
}
