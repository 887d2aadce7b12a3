package probes

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/probes/synctab"
)

// namesakes is a program with functions that only have names of the C library's, a wrapper, a static
// function, and the C++ ABI's guards.
const namesakes = `
#include <pthread.h>
struct sem { const char *name; long n; };
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static long statistics;
__attribute__((noinline)) void sem_init(struct sem *s, const char *name) { s->name = name; s->n = 1; }
__attribute__((noinline)) void mtx_lock(void) { statistics++; }
__attribute__((noinline)) int mtx_unlock(pthread_mutex_t *m) { return pthread_mutex_unlock(m); }
__attribute__((noinline)) static long sem_post(struct sem *s) { return ++s->n; }
__attribute__((noinline)) int __cxa_guard_acquire(char *guard) { return !*guard; }
int main(int argc, char **argv) {
	struct sem s; char guard = 0;
	(void)argv; sem_init(&s, "work"); pthread_mutex_lock(&m); mtx_lock();
	return mtx_unlock(&m) + __cxa_guard_acquire(&guard) + (int)sem_post(&s);
}
`

// functions returns the names of the functions whose calls a plan observes, sorted.
func functions(p *Plan) []string {
	var names []string
	for _, s := range p.Sites {
		if bpf.Action(s.BPF.Action) != bpf.ActionReturn {
			names = append(names, strings.TrimLeft(s.Function, "_"))
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// TestNamesakes checks that a program's own functions are no calls of the table, that the C
// library's in a static program are, and that a user's table means all functions of a name.
func TestNamesakes(t *testing.T) {
	user, err := synctab.Parse(strings.NewReader("[[call]]\nname = \"mtx_lock\"\noperation = \"acquire\"\nkind = \"spinlock\"\n"), "my.toml")
	if err != nil {
		t.Fatal(err)
	}
	own := []string{"mtx_lock", "mtx_unlock", "sem_init", "sem_post"}
	static := []string{"cxa_guard_acquire", "pthread_mutex_lock", "pthread_mutex_unlock"}
	for name, c := range map[string]struct {
		compiler string
		flags    []string
		user     bool
		observed []string // at least
		own      []string
	}{
		"dynamic":            {"gcc", nil, false, []string{"cxa_guard_acquire"}, own},
		"dynamic, optimised": {"gcc", []string{"-O2", "-g"}, false, []string{"cxa_guard_acquire"}, own},
		"static":             {"gcc", []string{"-static"}, false, static, own},
		"static, debug":      {"gcc", []string{"-static", "-g", "-O2"}, false, static, own},
		"musl":               {"musl-gcc", []string{"-static"}, false, static, own},
		"with a table":       {"gcc", nil, true, []string{"cxa_guard_acquire", "mtx_lock"}, own[1:]},
		"static with one":    {"gcc", []string{"-static"}, true, append([]string{"mtx_lock"}, static...), own[1:]},
	} {
		t.Run(name, func(t *testing.T) {
			opts := Options{Table: table(t)}
			if c.user {
				opts.Table = opts.Table.Merge(user)
			}
			p, err := NewPlanner(opts).Plan(build(t, c.compiler, namesakes, c.flags...))
			if err != nil {
				t.Fatal(err)
			}
			checkPlan(t, p)
			got := functions(p)
			for _, want := range c.observed {
				if !slices.Contains(got, want) {
					t.Errorf("%s is not observed: %v", want, got)
				}
			}
			if slices.ContainsFunc(got, func(f string) bool { return slices.Contains(c.own, f) }) {
				t.Errorf("own functions are observed: %v", got)
			}
			var passed []string
			for _, n := range p.Namesakes {
				passed = append(passed, n.Name)
				if n.Why == "" || n.Addr == 0 {
					t.Errorf("%+v", n)
				}
			}
			slices.Sort(passed)
			if diff := cmp.Diff(c.own, passed); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestLibraryHasNoNamesakes checks that each function of the table in a C library is planned for.
func TestLibraryHasNoNamesakes(t *testing.T) {
	if p := plan(t, glibc(t), Options{}); len(p.Namesakes) > 0 || p.Calls < 50 {
		t.Errorf("%d calls, and %+v", p.Calls, p.Namesakes)
	}
}
