package probes

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/internal/plural"
	"github.com/tracepredict/tracepredict/internal/testtool"
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

// TestOnlyDescribed checks that, of a program of which a part has debug information, what the other part does is left
// out, unless it is asked for.
func TestOnlyDescribed(t *testing.T) {
	const source = `#include <stdlib.h>
int mine, theirs;
void *other(void *p);
__attribute__((noipa)) void *change(void *p) { mine++; ++*(int *)p; return 0; }
int main(void) { void *p = malloc(4); change(p); other(p); return 0; }
`
	const other = `extern int theirs;
void *other(void *p) { theirs++; ++*(long *)p; return 0; }
`
	testtool.Need(t, "gcc")
	object := filepath.Join(t.TempDir(), "other.o")
	gcc := exec.Command("gcc", "-O1", "-c", "-x", "c", "-o", object, "-")
	gcc.Stdin = strings.NewReader(other)
	if out, err := gcc.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	f := build(t, "gcc", source, "-O1", "-g", object)
	for _, tt := range []struct {
		opts Options
		both bool
	}{{Options{OnlyDebugged: true}, false}, {Options{}, true}, {Options{OnlyDebugged: true, Modules: []string{"prog*"}}, true}} {
		tt.opts.Atomics, tt.opts.Shared, tt.opts.Pointers = true, true, true
		p := plan(t, f, tt.opts)
		in := map[string]bool{}
		for _, s := range p.Sites {
			if s.ObservesAccess() {
				in[s.Function] = true
			}
		}
		named := map[string]bool{}
		for _, v := range p.Shared {
			named[v.Name] = true
		}
		if !in["change"] || in["other"] != tt.both || !named["mine"] || named["theirs"] != tt.both {
			t.Errorf("%+v: accesses in %v of %v", tt.opts, in, named)
		}
	}
}
