package probes

import (
	"slices"
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/probes/cheapsite"
	"github.com/tracepredict/tracepredict/probes/synctab"
)

const lockUser = `
#include <pthread.h>
#include <threads.h>
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
pthread_spinlock_t s;
pthread_rwlock_t r;
pthread_cond_t c;
int (*by_pointer)(pthread_mutex_t *);
int direct(void) { pthread_mutex_lock(&m); int n = by_pointer != 0; pthread_mutex_unlock(&m); return n; }
int tried(void) { return pthread_mutex_trylock(&m); }
__attribute__((noinline)) static int give(pthread_mutex_t *p) { return pthread_mutex_unlock(p) + 1; }
__attribute__((noinline)) static int give_again(pthread_mutex_t *p) { return give(p) + 1; }
int wrapped(void) { pthread_mutex_lock(&m); return give_again(&m); }
int lock_alone(void) { return pthread_mutex_lock(&m) + 1; }
int others(void) { pthread_rwlock_rdlock(&r); pthread_cond_signal(&c); return pthread_rwlock_unlock(&r); }
int spun(void) { pthread_spin_lock(&s); return pthread_spin_unlock(&s); }
`

// moved returns the names and operations of the sites that move so, each once, sorted.
func moved(p *Plan, as Moves) (names []string) {
	for i := range p.Sites {
		if s := &p.Sites[i]; s.Moves == as && bpf.Action(s.BPF.Action) != bpf.ActionReturn {
			names = append(names, strings.TrimLeft(s.Function, "_"))
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// TestMovedInLibrary checks which sites of the C library move, and that none of a mutex stays.
func TestMovedInLibrary(t *testing.T) {
	p := planAll(t, Options{Table: table(t)}, glibc(t).Name())[0]
	got := moved(p, MovesAway)
	for _, name := range []string{"pthread_mutex_lock", "pthread_mutex_unlock", "pthread_mutex_trylock"} {
		if !slices.Contains(got, name) {
			t.Errorf("%s stays; what moves: %q", name, got)
		}
	}
	for i := range p.Sites {
		s := &p.Sites[i]
		if s.Moves == MovesHere || s.Moves == MovesNot && s.Kind == synctab.KindMutex && strings.Contains(s.Function, "pthread_mutex_") && moves(s.Function, synctab.Entry{Op: bpf.Op(s.BPF.Op), Builtin: true}) {
			t.Errorf("%s at 0x%x: %d", s.Function, s.Addr, s.Moves)
		}
		if s.Moves == MovesAway && (s.Kind == synctab.KindRWLock || s.Kind == synctab.KindCond) {
			t.Errorf("%s moves", s.Function)
		}
	}
}

// TestMovedToStubs checks that a file calls lock functions by stubs that can be probed, or says that it does not.
func TestMovedToStubs(t *testing.T) {
	all := []string{"pthread_mutex_lock", "pthread_mutex_trylock", "pthread_mutex_unlock", "pthread_spin_lock", "pthread_spin_unlock"}
	for flags, c := range map[string]struct{ stubs, pointers []string }{
		"-O1 -fplt":                      {all, nil},
		"-O1 -fplt -fcf-protection":      {all, nil},
		"-O1 -fplt -Wl,-z,now":           {all, nil},
		"-O1 -fno-plt":                   {nil, all},
		"-O1 -fplt -Wl,--strip-all":      {all, nil},
		"-O1 -fplt -Wl,-z,separate-code": {all, nil},
	} {
		t.Run(flags, func(t *testing.T) {
			f := build(t, "gcc", lockUser, append(strings.Fields(flags), "-shared", "-fPIC", "-pthread")...)
			p := planAll(t, Options{Table: table(t)}, f.Name())[0]
			if got := moved(p, MovesHere); !slices.Equal(got, c.stubs) {
				t.Errorf("stubs: %q", got)
			}
			if !slices.Equal(p.LocksByPointer, c.pointers) {
				t.Errorf("by pointer: %q", p.LocksByPointer)
			}
			for i := range p.Sites {
				if s := &p.Sites[i]; s.Moves == MovesHere && (s.Class == cheapsite.Refused || s.Argument != 1) {
					t.Errorf("%+v", s)
				}
			}
		})
	}
}

// TestReleasesIn looks for releases in functions, and in those that they call.
func TestReleasesIn(t *testing.T) {
	for _, flags := range []string{"-fplt", "-fno-plt"} {
		f := build(t, "gcc", lockUser, "-O1", "-shared", "-fPIC", "-pthread", flags)
		p := planAll(t, Options{Table: table(t)}, f.Name())[0]
		for name, depth := range map[string]int{"direct": 0, "wrapped": 2, "lock_alone": -1, "tried": -1, "others": -1, "spun": 0} {
			at := p.File.Lookup(name)[0].Addr
			for d := range 4 {
				if got, want := p.ReleasesIn(table(t), at+1, d), depth >= 0 && d >= depth; got != want {
					t.Errorf("%s %s, depth %d: %v", flags, name, d, got)
				}
			}
		}
		if p.ReleasesIn(table(t), 0, 3) {
			t.Error("a release where no function is")
		}
	}
}
