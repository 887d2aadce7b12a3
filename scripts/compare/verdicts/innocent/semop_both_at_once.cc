// Two System V semaphores serve as locks; the threads name them in opposite orders, but each takes both by one semop, which takes both or waits with none.
#include "turns.h"
#include <sys/ipc.h>
#include <sys/sem.h>
#include <thread>

static long moved;

static void change(int set, unsigned short outer, unsigned short inner, short by) {
	sembuf operations[2] = {{outer, by, 0}, {inner, by, 0}};
	need(!semop(set, operations, 2), "semop");
}

int main() {
	int set = semget(IPC_PRIVATE, 2, 0600);
	change(set, 0, 1, 1);
	auto moves = [set](unsigned short outer, unsigned short inner) {
		rest(200 * outer);
		change(set, outer, inner, -1);
		moved++;
		change(set, outer, inner, 1);
	};
	std::thread forth(moves, 0, 1), back(moves, 1, 0);
	forth.join();
	back.join();
	semctl(set, 0, IPC_RMID);
	return moved != 2;
}
