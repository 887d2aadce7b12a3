// A valve is opened after the pump was started only because the thread that opens it is slow:
// nothing makes it wait for the pump. property_valve.tps says that the valve is open only while the
// pump runs.
//
// expect: property
// args: --spec scripts/compare/verdicts/defective/property_valve.tps
#include <pthread.h>
#include <stdio.h>

#include "fortune.h"

int pump, valve;

static void *start(void *unused) {
	chance();
	pump = 1;
	return unused;
}

static void *open_valve(void *unused) {
	later(1);
	valve = 1;
	return unused;
}

int main(void) {
	pthread_t t, u;
	pthread_create(&t, 0, start, 0);
	pthread_create(&u, 0, open_valve, 0);
	pthread_join(t, 0);
	pthread_join(u, 0);
	printf("%d %d\n", pump, valve);
	return 0;
}
