// Two System V semaphores serve as locks, and two threads take them in opposite orders, one by one; semctl gives them their values.
//
// expect: deadlock
#include <sys/ipc.h>
#include <sys/sem.h>
#include <thread>

#include "fortune.h"

class Pair {
	int set_ = semget(IPC_PRIVATE, 2, 0600);

	void change(unsigned short which, short by) {
		sembuf operation{which, by, 0};
		semop(set_, &operation, 1);
	}

public:
	Pair() {
		semctl(set_, 0, SETVAL, 1);
		semctl(set_, 1, SETVAL, 1);
	}
	~Pair() { semctl(set_, 0, IPC_RMID); }
	void nest(unsigned short outer, unsigned short inner) {
		change(outer, -1);
		chance();
		change(inner, -1);
		change(inner, 1);
		change(outer, 1);
	}
};

int main() {
	Pair pair;
	std::thread forth([&] { pair.nest(0, 1); });
	std::thread back([&] {
		later(5);
		pair.nest(1, 0);
	});
	forth.join();
	back.join();
}
