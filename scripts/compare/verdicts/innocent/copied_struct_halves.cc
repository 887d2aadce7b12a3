// Two threads assign the two halves of one array of settings, each by rep movs and under no lock: the bytes do not overlap.
// build: -mmemcpy-strategy=rep_8byte:-1:noalign
#include "turns.h"
#include <thread>

struct Settings {
	long values[40];
};

static Settings live[2];

int main() {
	Settings *made = new Settings[2]();
	made[0].values[39] = 1;
	made[1].values[0] = 2;
	std::thread first([=] { live[0] = made[0]; });
	std::thread second([=] {
		rest(200);
		live[1] = made[1];
	});
	first.join();
	second.join();
	bool bad = live[0].values[39] + live[1].values[0] != 3;
	delete[] made;
	return bad;
}
