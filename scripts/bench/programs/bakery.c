// Lamport's bakery lock, of PROCESSES threads that each enter TURNS times: 2-bakery and n-bakery of section 4.2 of Soueidi,
// El-Hokayem and Falcone (FASE 2023). The count of entries, which is in the critical section, is the synchronising action.
//
//	bakery PROCESSES TURNS
#include "scopes.h"

#define MAX 16

enum { ASKED = 1 << MAX, ENTERED = 2 << MAX };

static _Atomic int choosing[MAX], number[MAX];
static _Atomic int entries, waiting, first_served;
static volatile int served;
static int processes, turns;

// bakery_wait waits until all have been served who have a smaller number.
KEEP void bakery_wait(int i)
{
	sees(ASKED);
	waiting++;
	for (int j = 0; j < processes; j++) {
		while (choosing[j])
			sched_yield();
		while (number[j] && (number[j] < number[i] || (number[j] == number[i] && j < i)))
			sched_yield();
	}
	waiting--;
}

static void take_number(int i)
{
	int most = 0;
	choosing[i] = 1;
	for (int j = 0; j < processes; j++)
		if (number[j] > most)
			most = number[j];
	number[i] = most + 1;
	choosing[i] = 0;
}

KEEP void critical_section(int i)
{
	sees(ENTERED);
	served = i;
}

static void enter(int i)
{
	synchronises();
	entries++;
	critical_section(i);
}

#if defined GLOBAL || defined HELD || defined LOCAL
static bool region_holds(void)
{
	static int left[MAX + 1]; // entries of others that are left to who waits, and 1; 0: does not wait
	bool held = true;
	for (int i = 1; i <= processes; i++) {
		bool was = left[i] > 0;
		if (count(i, ENTERED))
			left[i] = 0;
		else if (left[i] > 0)
			left[i]--;
		held = held && !(was && left[i] == 0 && !count(i, ENTERED));
		if (count(i, ASKED))
			left[i] = processes;
	}
	return held;
}
#endif

static void *process(void *arg)
{
	int i = number_of(arg);
	joins_in(i + 1);
	while (broken && i > 0 && !first_served)
		sched_yield();
	for (int n = 0; n < turns; n++) {
		take_number(i);
		bakery_wait(i);
		enter(i);
		first_served = 1;
		if (broken && i == 0 && n == 0) { // keeps its number, and is served again and again
			while (waiting < processes - 1)
				sched_yield();
			for (int again = 0; again < 2 * processes; again++)
				enter(i);
		}
		number[i] = 0;
	}
	ends();
	return NULL;
}

int main(int argc, char **argv)
{
	processes = argument(argc, argv, 1, 2);
	turns = argument(argc, argv, 2, 10);
	if (processes > MAX)
		return 2;
	run((struct routine[]){ { process, processes } }, 1, 3ul * processes * turns, (unsigned long)processes * turns + 1);
	return 0;
}
