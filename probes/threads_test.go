package probes

import (
	"slices"
	"testing"
)

// TestOnlyThreaded checks that what threads share is looked for in programs alone that create threads, if that is
// what is asked for.
func TestOnlyThreaded(t *testing.T) {
	const source = `#include <pthread.h>
#include <stdlib.h>
int shared;
__attribute__((noipa)) void *change(void *p) { shared++; ++*(int *)p; return 0; }
int main(void) {
	int *p = malloc(sizeof *p);
	pthread_t t;
	change(p);
#ifdef THREADS
	pthread_create(&t, 0, change, p);
#endif
	return 0;
}
`
	for _, tt := range []struct {
		flags        []string
		onlyThreaded bool
		want         bool
	}{{nil, false, true}, {nil, true, false}, {[]string{"-DTHREADS"}, true, true}, {[]string{"-static"}, true, true}} {
		p := plan(t, build(t, "gcc", source, append([]string{"-O1", "-g", "-pthread"}, tt.flags...)...), Options{Atomics: true, Shared: true, Pointers: true, OnlyThreaded: tt.onlyThreaded})
		named := len(p.Shared) > 0
		through := slices.ContainsFunc(p.Sites, func(s Site) bool { return s.Program == ProgramPointer })
		if named != tt.want || through != tt.want {
			t.Errorf("%q, only of threaded programs: %v: watched by name: %v, through pointers: %v", tt.flags, tt.onlyThreaded, named, through)
		}
	}
}
