// Two threads take their own texts apart by strtok_r, each with its own place to keep where it was; and afterwards main does so by strtok.
#include "turns.h"
#include <cstring>
#include <thread>

static int words[2];

static void split(int which, char *text) {
	char *rest_of_it = nullptr;
	rest(100 * which);
	for (char *word = strtok_r(text, " ", &rest_of_it); word; word = strtok_r(nullptr, " ", &rest_of_it))
		words[which]++;
}

int main() {
	char one[] = "a few words", two[] = "and some more words", three[] = "the end";
	std::thread t(split, 0, one), u(split, 1, two);
	t.join();
	u.join();
	for (char *word = strtok(three, " "); word; word = strtok(nullptr, " "))
		words[0]++;
	return words[0] + words[1] != 9;
}
