package probes

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tracepredict/tracepredict/bpf"
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

// planned lists what is observed of atomic variables.
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

// A variable that is watched by name too has each access once.
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

// What the C library synchronises with inside is not observed.
func TestAtomicsOfRuntime(t *testing.T) {
	if got := planned(plan(t, glibc(t), Options{Atomics: true})); len(got) > 0 {
		t.Errorf("observed in the C library: %q", got)
	}
}

func TestRuntimeLibrary(t *testing.T) {
	for path, want := range map[string]bool{
		"/lib/x86_64-linux-gnu/libc.so.6": true, "/lib/ld-musl-x86_64.so.1": true, "/lib64/ld-linux-x86-64.so.2": true, "/usr/lib/libstdc++.so.6.0.30": true,
		"/usr/lib/libpthread-2.31.so": true, "/bin/p": false, "/usr/lib/libcurl.so.4": false, "/usr/lib/libmemcached.so": false, "/usr/lib/libcrypto.so.3": false,
	} {
		if got := RuntimeLibrary(path); got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
}
