// Two threads that take turns by busy waiting, as in section 4.2 of Soueidi, El-Hokayem and Falcone (FASE 2023).
//
//	ping_pong TURNS
#include "scopes.h"

enum { PINGER = 1, PONGER };
enum { PING = 1, PONG = 2 };

static _Atomic int turn;
static volatile int pings, pongs;
static int turns;

KEEP void ping(void)
{
	sees(PING);
	pings++;
}

KEEP void pong(void)
{
	sees(PONG);
	pongs++;
}

static void pass(int to)
{
	synchronises();
	turn = to;
}

static void await(int whose)
{
	for (int n = 0; turn != whose; n++)
		if (n % 100 == 99)
			sched_yield(); // as many threads as cores
}

#if defined GLOBAL || defined HELD || defined LOCAL
static bool region_holds(void)
{
	static bool pinged, ponged;
	bool before_ping = pinged, before_pong = ponged;
	pinged = count(PINGER, PING) > 0;
	ponged = count(PONGER, PONG) > 0;
	return (!before_ping || ponged) && (!before_pong || pinged);
}
#endif

static void *pinger(void *arg)
{
	joins_in(PINGER);
	for (int i = 0; i < turns; i++) {
		await(0);
		ping();
		if (broken && i == turns / 2) {
			pass(0);
			ping();
		}
		pass(1);
	}
	ends();
	return arg;
}

static void *ponger(void *arg)
{
	joins_in(PONGER);
	for (int i = 0; i < turns; i++) {
		await(1);
		pong();
		pass(0);
	}
	ends();
	return arg;
}

int main(int argc, char **argv)
{
	turns = argument(argc, argv, 1, 20);
	run((struct routine[]){ { pinger, 1 }, { ponger, 1 } }, 2, 4ul * turns, 2ul * turns + 1);
	return 0;
}
