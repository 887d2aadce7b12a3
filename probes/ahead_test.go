package probes

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/variable"
)

const busyProgram = `
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
struct node { struct node *next; int n; char text[32]; } *list;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
atomic_int turns;
int hits, ready, table[64];
void *work(void *arg)
{
	struct node *n = arg;
	while (!*(volatile int *)&ready)
		;
	pthread_mutex_lock(&lock);
	for (int i = 0; i < 64; i++)
		table[i] += n->n + i;
	hits++;
	n->next = list;
	list = n;
	pthread_mutex_unlock(&lock);
	atomic_fetch_add(&turns, 1);
	return NULL;
}
int main(void)
{
	pthread_t t;
	struct node *n = calloc(1, sizeof *n);
	pthread_create(&t, NULL, work, n);
	*(volatile int *)&ready = 1;
	pthread_join(t, NULL);
	free(n);
	return hits;
}
`

// samePlan compares plans but for the reasons of their sites.
func samePlan(a, b *Plan, more ...cmp.Option) string {
	return cmp.Diff(a, b, append(more, cmpopts.IgnoreFields(Plan{}, "File"), cmpopts.IgnoreUnexported(Plan{}), cmpopts.IgnoreFields(Site{}, "Why"),
		cmp.Comparer(func(a, b *elf.File) bool { return a.Name() == b.Name() }), cmpopts.IgnoreUnexported(variable.Variable{}))...)
}

// TestPlanIsTheSame checks that what is searched at the same time makes no difference to a plan, and that
// one without reasons is the same but for these.
func TestPlanIsTheSame(t *testing.T) {
	f := build(t, "gcc", busyProgram, "-O1", "-g", "-pthread")
	opts := Options{Table: table(t), Shared: true, Pointers: true, Atomics: true, Lives: true}
	first := plan(t, f, opts)
	if !slices.ContainsFunc(first.Sites, func(s Site) bool { return s.Program == ProgramPointer }) || !slices.ContainsFunc(first.Sites, func(s Site) bool { return s.Polled }) {
		t.Fatal("the plan has no access through a pointer, or no loop that waits")
	}
	for range 8 {
		if diff := samePlan(first, plan(t, open(t, f.Name()), opts)); diff != "" {
			t.Fatalf("the same plan again: %s", diff)
		}
	}
	opts.Terse = true
	terse, err := NewPlanner(opts).Plan(open(t, f.Name()))
	if err != nil {
		t.Fatal(err)
	}
	if diff := samePlan(first, terse); diff != "" {
		t.Errorf("without reasons: %s", diff)
	}
	reasons := func(p *Plan) (n int) {
		for _, s := range p.Sites {
			if s.Why != "" {
				n++
			}
		}
		return n
	}
	if all, few := reasons(first), reasons(terse); all != len(first.Sites) || few > all/2 {
		t.Errorf("%d of %d sites have a reason, and without reasons %d", all, len(first.Sites), few)
	}
}
