package probes

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tracepredict/tracepredict/internal/plural"
)

// lockingProgram has a function that locks, one that it calls, one that calls it, and others before and behind
// them that nothing leads to from there.
const lockingProgram = `
#include <pthread.h>
struct node { struct node *next; int n, left; };
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
#define FAR __attribute__((noinline, noipa))
FAR void apart1(struct node *n) { n->n = 1; n->left = n->next->n; }
FAR void apart2(struct node *n) { n->n = 2; n->left = n->next->left; }
FAR void called(struct node *n) { n->left--; }
FAR void locks(struct node *n) { pthread_mutex_lock(&lock); n->n++; called(n); pthread_mutex_unlock(&lock); }
FAR void calls(struct node *n) { n->next->n = 4; locks(n); }
FAR void counts(struct node *n) { __atomic_fetch_add(&n->n, 1, __ATOMIC_SEQ_CST); }
FAR void apart3(struct node *n) { n->n = 3; }
void (*volatile all[])(struct node *) = {apart1, apart2, called, locks, calls, counts, apart3};
int main(void) { return 0; }
`

// TestFunctionsThatLockFirst checks which functions have sites where there is no room for all.
func TestFunctionsThatLockFirst(t *testing.T) {
	f := build(t, "gcc", lockingProgram, "-O1", "-g", "-pthread")
	for _, c := range []struct {
		room int
		want string
		note string
	}{
		{room: 100, want: "apart1 apart2 apart3 called calls counts locks"},
		{room: 8, want: "apart3 called calls counts locks", note: "accesses through pointers in 2 functions of "},
		{room: 6, want: "called calls counts locks", note: "accesses through pointers in 3 functions of "},
		{room: 3, want: "counts locks", note: "accesses through pointers in 5 functions of "},
	} {
		t.Run(fmt.Sprint(c.room), func(t *testing.T) {
			p := NewPlanner(Options{Table: table(t), Pointers: true})
			p.used.sites = p.maxShared() - c.room
			plan, err := p.Plan(f)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for i := range plan.Sites {
				if s := &plan.Sites[i]; s.Variable == Unnamed {
					got = append(got, s.Function)
				}
			}
			slices.Sort(got)
			if diff := cmp.Diff(c.want, strings.Join(slices.Compact(got), " ")); diff != "" {
				t.Error(diff)
			}
			noted := slices.ContainsFunc(plan.Notes, func(n plural.Note) bool { return strings.HasPrefix(n.Text, "accesses through pointers in ") })
			right := slices.ContainsFunc(plan.Notes, func(n plural.Note) bool { return strings.HasPrefix(n.Text, c.note) && c.note != "" })
			if noted != right || right != (c.note != "") {
				t.Errorf("notes %q, want one that begins with %q", plural.Texts(plan.Notes), c.note)
			}
		})
	}
}

// manyFunctions returns a program of so many functions with accesses of all kinds.
func manyFunctions(n int) string {
	var b strings.Builder
	b.WriteString("#include <pthread.h>\n#include <stdatomic.h>\n#include <string.h>\n" +
		"struct node { struct node *next; long a, b; int d[8]; atomic_int c; };\n" +
		"int table[64]; long total; atomic_int turns; pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;\n")
	for i := range n {
		fmt.Fprintf(&b, "static int own%d;\n__attribute__((noipa)) long work%d(struct node *p, struct node *q, int n) {\n", i, i)
		fmt.Fprintf(&b, "\tfor (int i = 0; i < n; i++) { p->a += q->b + %d; q->d[i & 7] = table[(i + %d) & 63]++; own%d += n; }\n", i, i, i)
		fmt.Fprintf(&b, "\tswitch (n) { case 1: p->a--; break; case 2: total += p->b; break; case 3: memcpy(p, q, 16); break; case 4: p = p->next; break; case 5: q->b = n; break; }\n")
		if i%7 == 0 {
			b.WriteString("\tpthread_mutex_lock(&lock); q->a++; atomic_fetch_add(&p->c, 1); turns++; pthread_mutex_unlock(&lock);\n")
		}
		fmt.Fprintf(&b, "\treturn p->a + q->b + %d;\n}\n", i)
	}
	b.WriteString("int main(void) { return 0; }\n")
	return b.String()
}

// TestPlanOnOneProcessor checks that a plan does not depend on how many processors make it.
func TestPlanOnOneProcessor(t *testing.T) {
	f := build(t, "gcc", manyFunctions(400), "-O1", "-g", "-pthread")
	opts := Options{Table: table(t), Shared: true, Pointers: true, Atomics: true, Lives: true, Terse: true}
	var made [][]byte
	for _, n := range []int{1, 2, 7} {
		before := runtime.GOMAXPROCS(n)
		p := NewPlanner(opts)
		plan, err := p.Plan(f)
		runtime.GOMAXPROCS(before)
		if err != nil {
			t.Fatal(err)
		}
		data, err := encode(&stored{Plan: plan, Settled: plan.settled, Unseen: plan.unseen}, p.filesWith(f))
		if err != nil {
			t.Fatal(err)
		}
		made = append(made, data)
	}
	for _, data := range made[1:] {
		if !slices.Equal(made[0], data) {
			t.Errorf("the plans of one processor and of several differ")
		}
	}
}
