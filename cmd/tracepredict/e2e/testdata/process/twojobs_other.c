#include <stdlib.h>

struct Job {
	char name[32];
	long state;
};

void *other_job(void) { return calloc(1, sizeof(struct Job)); }
void other_set(struct Job *job, long state) { job->state = state; }
