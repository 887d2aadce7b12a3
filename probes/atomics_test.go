package probes

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	_ "github.com/tracepredict/tracepredict/internal/fixedseed"
	"github.com/tracepredict/tracepredict/internal/plural"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/probes/variable"
)

const atomicsSource = `
#include <pthread.h>
#include <stdatomic.h>
static atomic_int served;        /* by its type */
static int spin;                 /* by xchg */
static long hits;                /* by lock xadd */
static int through;              /* by xchg through a register that certainly has its address */
static int plain;                /* not at all */
_Atomic(struct { long a, b; }) *far;
__attribute__((noinline)) void serve(void) { plain = 1; atomic_store_explicit(&served, 1, memory_order_release); }
__attribute__((noinline)) int look(void) { return atomic_load_explicit(&served, memory_order_acquire); }
__attribute__((noinline)) void lock(void) { while (__atomic_exchange_n(&spin, 1, __ATOMIC_ACQUIRE)) ; }
__attribute__((noinline)) void unlock(void) { __atomic_store_n(&spin, 0, __ATOMIC_RELEASE); }
__attribute__((noinline)) long hit(void) { return __atomic_fetch_add(&hits, 1, __ATOMIC_RELAXED); }
__attribute__((noinline)) void swap(int n) {
	int old;
	__asm__ volatile ("lea %1, %%rdx\nxchg %0, (%%rdx)" : "=r"(old), "+m"(through) : "0"(n) : "rdx", "memory");
}
int main(int argc, char **argv) { (void)argv; serve(); lock(); unlock(); hit(); swap(argc); return look() + plain - 2; }
`

// planned returns the observed accesses of atomic variables, as text.
func planned(p *Plan) (out []string) {
	for _, s := range p.Sites {
		if s.Atomic {
			out = append(out, fmt.Sprintf("%s %s %s", s.Function, bpf.Op(s.BPF.Op), s.Variable))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func TestAtomics(t *testing.T) {
	byCode := []string{"hit update hits", "lock update spin", "swap update through", "unlock write spin"}
	byType := []string{"look read served", "serve write served"}
	tests := []struct {
		name  string
		flags []string
		opts  Options
		want  []string
	}{
		{"debug information", []string{"-O2", "-g"}, Options{Atomics: true}, slices.Concat(byCode, byType)},
		{"at fixed addresses", []string{"-O2", "-g", "-no-pie"}, Options{Atomics: true}, slices.Concat(byCode, byType)},
		{"instructions alone", []string{"-O2"}, Options{Atomics: true}, byCode},
		{"not asked for", []string{"-O2", "-g"}, Options{}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := build(t, "gcc", atomicsSource, tt.flags...)
			want := slices.Sorted(slices.Values(tt.want))
			if diff := cmp.Diff(want, planned(plan(t, f, tt.opts))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestAtomicWatched checks that each access of an atomic variable that is watched by name too is
// planned once.
func TestAtomicWatched(t *testing.T) {
	f := build(t, "gcc", atomicsSource, "-O2", "-g")
	p := plan(t, f, Options{Atomics: true, Watch: []string{"served", "hits"}})
	n := 0
	for _, s := range p.Sites {
		if s.Variable == "served" || s.Variable == "hits" {
			n++
		}
	}
	if n != 3 {
		t.Errorf("%d sites of watched atomic variables: %q", n, planned(p))
	}
}

const elementsSource = `
#include <stdatomic.h>
static _Atomic int slots[8];
static struct { long plain; _Atomic long state; } table[4];
static union { _Atomic short word; char bytes[2]; } both;
static long other[8];
__attribute__((noinline)) int turn(int i) { other[i]++; atomic_fetch_add(&slots[i], 2); return atomic_load(&slots[i]); }
__attribute__((noinline)) void mark(int i) { table[i].plain = i; atomic_store_explicit(&table[i].state, 1, memory_order_release); }
__attribute__((noinline)) short third(void) { slots[3] = 1; return both.word; }
int main(int argc, char **argv) { (void)argv; mark(argc); return turn(argc) + third(); }
`

// TestAtomicElements checks that each indexed access of an atomic element is compared with the
// array when it happens, unless the instruction alone determines the element.
func TestAtomicElements(t *testing.T) {
	f := build(t, "gcc", elementsSource, "-O2", "-g")
	p := plan(t, f, Options{Atomics: true})
	// The store of plain is as wide as one of state, so it is compared at run time and found to be
	// none.
	want := []string{"mark write table[].state", "third read both.word", "third update slots[]", "turn read slots[]", "turn update slots[]"}
	if diff := cmp.Diff(want, planned(p)); diff != "" {
		t.Error(diff)
	}
	for _, s := range p.Sites {
		array := bpf.Reach(s.BPF.Access.Reach) == bpf.ReachArray
		if s.Atomic && array != (s.Function != "third") || s.Conditional || s.Atomic && !s.HasInitial {
			t.Errorf("%s of %s in %s: flags %#x, partly %v, initial value known: %v", bpf.Op(s.BPF.Op), s.Variable, s.Function, s.BPF.Flags, s.Conditional, s.HasInitial)
		}
	}
	p = plan(t, f, Options{Atomics: true, Watch: []string{"slots[3]"}})
	if !slices.ContainsFunc(p.Notes, func(n plural.Note) bool { return strings.Contains(n.Text, "of slots[] only") }) {
		t.Errorf("a watched element is not told of: %q", plural.Texts(p.Notes))
	}
}

// TestOverlap checks that arrays overlap exactly if some of their elements do.
func TestOverlap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string) variable.Variable {
			v := variable.Variable{Addr: rapid.Uint64Range(100, 160).Draw(t, name), Size: rapid.SampledFrom([]int{1, 2, 4, 8}).Draw(t, name+"size")}
			if n := rapid.Uint64Range(0, 5).Draw(t, name+"elements"); n > 0 {
				v.Array = &variable.Array{Stride: 16, Dims: []uint64{n}}
			}
			return v
		}
		elements := func(v variable.Variable) (out []variable.Variable) {
			n := uint64(1)
			if v.Array != nil {
				n = v.Array.Dims[0]
			}
			for i := range n {
				out = append(out, variable.Variable{Addr: v.Addr + 16*i, Size: v.Size})
			}
			return out
		}
		a, b := draw("a"), draw("b")
		want := false
		for _, x := range elements(a) {
			for _, y := range elements(b) {
				want = want || x.Overlaps(y.Addr, y.Size)
			}
		}
		if got := overlap(a, b); got != want {
			t.Fatalf("%+v and %+v: %v", a, b, got)
		}
	})
}

// TestAtomicsOfRuntime checks that the C library's internal synchronisation is not observed.
func TestAtomicsOfRuntime(t *testing.T) {
	if got := planned(plan(t, glibc(t), Options{Atomics: true})); len(got) > 0 {
		t.Errorf("observed in the C library: %q", got)
	}
}

// TestAtomicsOfStaticProgram checks that in a static program the C library's atomic variables are
// recognised by their reserved names, and that the program's own ones are observed.
func TestAtomicsOfStaticProgram(t *testing.T) {
	got := planned(plan(t, build(t, "gcc", `
#include <pthread.h>
#include <stdatomic.h>
static atomic_int _served;
static int spin;
static void *serve(void *arg) { atomic_fetch_add(&_served, 1); __atomic_exchange_n(&spin, 1, __ATOMIC_ACQUIRE); return arg; }
int main(void) { pthread_t t; return pthread_create(&t, 0, serve, 0) || pthread_join(t, 0) || _served - 1; }
`, "-O1", "-g", "-static", "-pthread"), Options{Atomics: true}))
	for _, want := range []string{"serve update _served", "serve update spin"} {
		if !slices.Contains(got, want) {
			t.Errorf("no %q in %q", want, got)
		}
	}
	for _, g := range got {
		if name := g[strings.LastIndex(g, " ")+1:]; name[0] == '_' && name != "_served" {
			t.Errorf("observed in the C library: %s", g)
		}
	}
}

// TestGuards checks that the guards of static objects, which code reads directly, are observed where
// __cxa_guard_acquire excludes other threads, and not in a program compiled with -fno-threadsafe-statics.
func TestGuards(t *testing.T) {
	const source = `
char _ZGVsettings, settings;
int made(void) { return *(volatile char *)&_ZGVsettings; }
int level(void) { return *(volatile char *)&settings; }
int main(void) { return made() + level(); }
`
	for _, c := range []struct {
		name, source string
		want         []string
	}{
		{"excluding", source + "int __cxa_guard_acquire(void *guard) { return !guard; }", []string{"made read _ZGVsettings"}},
		{"plain", source, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := build(t, "gcc", c.source, "-O2")
			got := slices.DeleteFunc(planned(plan(t, f, Options{Atomics: true})), func(s string) bool { return strings.HasPrefix(s, "main ") })
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

const polledSource = `
#include <unistd.h>
static int flag;      /* a loop that sleeps waits for it */
static int spun;      /* a loop that does not sleep waits for it too */
static int given;     /* its address goes elsewhere */
static int never;     /* nothing stores it */
static int counted;   /* no loop waits for it */
static int *volatile kept;
__attribute__((noinline)) void wait_flag(void) { while (!__atomic_load_n(&flag, __ATOMIC_ACQUIRE)) usleep(1); }
__attribute__((noinline)) void set_flag(void) { __atomic_store_n(&flag, 1, __ATOMIC_RELEASE); }
__attribute__((noinline)) int see_flag(void) { return __atomic_load_n(&flag, __ATOMIC_ACQUIRE); }
__attribute__((noinline)) void wait_spun(void) { while (!__atomic_load_n(&spun, __ATOMIC_ACQUIRE)) usleep(1); }
__attribute__((noinline)) void spin_spun(void) { while (!__atomic_load_n(&spun, __ATOMIC_ACQUIRE)) ; }
__attribute__((noinline)) void set_spun(void) { __atomic_store_n(&spun, 1, __ATOMIC_RELEASE); }
__attribute__((noinline)) void wait_given(void) { while (!__atomic_load_n(&given, __ATOMIC_ACQUIRE)) usleep(1); }
__attribute__((noinline)) void set_given(void) { __atomic_store_n(&given, 1, __ATOMIC_RELEASE); kept = &given; }
__attribute__((noinline)) void wait_never(void) { while (!__atomic_load_n(&never, __ATOMIC_ACQUIRE)) usleep(1); }
__attribute__((noinline)) void count(void) { while (counted < 9) { counted++; usleep(1); } }
int main(int argc, char **argv) {
	(void)argv;
	set_flag(); set_spun(); set_given(); count();
	if (argc > 1) { wait_flag(); wait_spun(); spin_spun(); wait_given(); wait_never(); }
	return see_flag() - 1;
}
`

// TestPolledLoads checks that the loads by loops that wait are marked, and those that the compiler put before such
// loops, of static variables and through pointers; a single look is not.
func TestPolledLoads(t *testing.T) {
	const source = `#include <unistd.h>
struct gate { int unused, open; };
int flag;
void tell(struct gate *g, int n) { __atomic_store_n(&flag, n, __ATOMIC_RELEASE); g->open = n; }
int see_flag(void) { return __atomic_load_n(&flag, __ATOMIC_ACQUIRE); }
int see_gate(struct gate *g) { return __atomic_load_n(&g->open, __ATOMIC_ACQUIRE) ? 3 : 4; }
void wait_flag(void) { while (!__atomic_load_n(&flag, __ATOMIC_ACQUIRE)) usleep(1); }
void wait_gate(struct gate *g) { while (!__atomic_load_n(&g->open, __ATOMIC_ACQUIRE)) usleep(1); }
int main(int argc, char **argv) { struct gate g = {0}; tell(&g, argc); wait_flag(); wait_gate(&g); return see_flag() + see_gate(&g); }
`
	for _, level := range []string{"-O1", "-O2", "-O3"} {
		t.Run(level, func(t *testing.T) {
			p := plan(t, build(t, "gcc", source, level, "-g", "-fno-inline"), Options{Atomics: true, Shared: true, Pointers: true})
			polled, waits := 0, 0
			for _, s := range p.Sites {
				if !s.ObservesAccess() || s.BPF.Op == uint8(bpf.OpWrite) {
					continue
				}
				if strings.HasPrefix(s.Function, "wait_") {
					waits++
				}
				if s.Polled {
					polled++
				}
				if want := strings.HasPrefix(s.Function, "wait_"); want != s.Polled && (want || strings.HasPrefix(s.Function, "see_")) {
					t.Errorf("%s at 0x%x of %s: polled is %v", bpf.Op(s.BPF.Op), s.At, s.Function, s.Polled)
				}
			}
			if polled == 0 || waits < 2 {
				t.Errorf("%d polled loads of %d", polled, waits)
			}
		})
	}
}

// TestPolled checks that a variable for which loops wait that sleep is observed as one that
// synchronises, if all its accesses can be observed, and that the others keep the probes where their
// loops are left.
func TestPolled(t *testing.T) {
	flag := []string{"see_flag read flag", "set_flag write flag", "wait_flag read flag", "wait_flag read flag"}
	loops := []string{"loop that waits in spin_spun", "loop that waits in wait_given", "loop that waits in wait_never", "loop that waits in wait_spun"}
	for _, tt := range []struct {
		name          string
		opts          Options
		planned, left []string
	}{
		{"as synchronisation", Options{Atomics: true}, flag, loops},
		{"as data", Options{Atomics: true, Watch: []string{"flag"}}, nil, loops},
		{"with all shared variables", Options{Atomics: true, Shared: true}, nil, []string{"loop that waits in wait_given"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := plan(t, build(t, "gcc", polledSource, "-O2", "-g"), tt.opts)
			var planned, left []string
			for _, s := range p.Sites {
				if s.Sync {
					planned = append(planned, s.Function+" "+bpf.Op(s.BPF.Op).String()+" "+s.Variable)
				}
			}
			for _, probe := range p.UnseenProbes {
				text, _, _ := strings.Cut(p.Describe(probe), " at ")
				left = append(left, text)
			}
			slices.Sort(planned)
			slices.Sort(left)
			if diff := cmp.Diff(tt.planned, planned); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(tt.left, left); diff != "" {
				t.Error(diff)
			}
		})
	}
}
