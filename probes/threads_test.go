package probes

import (
	"slices"
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/internal/plural"
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

// TestOnlyDebugged checks that code without debug information is not searched for what threads share, and a note says
// so, unless it is asked for.
func TestOnlyDebugged(t *testing.T) {
	const source = `#include <stdlib.h>
int shared;
__attribute__((noipa)) void *change(void *p) { shared++; ++*(int *)p; return 0; }
int main(void) { change(malloc(4)); return 0; }
`
	for _, tt := range []struct {
		flags   []string
		opts    Options
		through bool
	}{
		{[]string{"-g"}, Options{OnlyDebugged: true}, true},
		{nil, Options{OnlyDebugged: true}, false},
		{nil, Options{OnlyDebugged: true, Modules: []string{"prog*"}}, true},
		{nil, Options{}, true},
	} {
		tt.opts.Atomics, tt.opts.Shared, tt.opts.Pointers = true, true, true
		p := plan(t, build(t, "gcc", source, append(tt.flags, "-O1")...), tt.opts)
		through := slices.ContainsFunc(p.Sites, func(s Site) bool { return s.Program == ProgramPointer })
		noted := slices.ContainsFunc(plural.Texts(p.Notes), func(n string) bool { return strings.Contains(n, "has no debug information") })
		if named := len(p.Shared) > 0; through != tt.through || named != tt.through || noted == tt.through {
			t.Errorf("%q, %+v: through pointers: %v; by name: %d; notes %q", tt.flags, tt.opts, through, len(p.Shared), plural.Texts(p.Notes))
		}
	}
}
