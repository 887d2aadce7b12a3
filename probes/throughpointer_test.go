package probes

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tracepredict/tracepredict/bpf"
)

// pointedSites returns the planned accesses of atomic code through pointers, by function: what they are, and
// whether they certainly are all that the memory is accessed by.
func pointedSites(p *Plan) (out []string) {
	for i := range p.Sites {
		s := &p.Sites[i]
		if s.Program != ProgramPointerAtomic {
			continue
		}
		text := p.Source(s.At).Function + " " + bpf.Op(s.BPF.Op).String()
		switch bpf.Reach(s.BPF.Access.Reach) {
		case bpf.ReachRemember:
			text += " remember"
		case bpf.ReachRemembered:
			text += " remembered"
		}
		if s.BPF.Flags&bpf.SiteOrders == 0 || !s.Atomic {
			text += " no order"
		}
		if s.Conditional {
			text += " in doubt"
		}
		if s.ResultUnused {
			text += " unused"
		}
		out = append(out, text)
	}
	return out
}

// TestThroughPointers checks which accesses through pointers are observed by default: those of
// code that the debug information knows to be atomic.
func TestThroughPointers(t *testing.T) {
	const c = `
#include <stdatomic.h>
struct gate { int plain; atomic_int open; struct gate *_Atomic next; } *first;
int look(struct gate *g) { return g->plain + atomic_load_explicit(&g->open, memory_order_acquire); }
void set(struct gate *g, int n) { g->plain = n; atomic_store_explicit(&g->open, n, memory_order_release); }
struct gate *follow(void) { return atomic_load_explicit(&first->next, memory_order_acquire); }
int once(int *p) { return __atomic_exchange_n(p, 1, __ATOMIC_ACQUIRE); }
int main(void) { return 0; }
`
	const cpp = `
#include <atomic>
#include <memory>
struct Gate { int plain = 0; std::atomic<int> open{0}; };
int look(Gate *g) { return g->plain + g->open.load(std::memory_order_acquire); }
void set(Gate *g, int n) { g->plain = n; g->open.store(n, std::memory_order_release); }
int count(Gate *g) { g->open.fetch_add(1, std::memory_order_relaxed); return g->plain; }
int main() { return 0; }
`
	for _, x := range []struct {
		name, compiler, source string
		args                   []string
		want                   []string
	}{
		{"C", "gcc", c, []string{"-O1", "-g"},
			[]string{"look read", "set write", "follow read remember", "follow read remembered"}},
		{"C without debug information", "gcc", c, []string{"-O1"}, nil},
		{"C++", "g++", cpp, []string{"-O1", "-g", "-std=c++17", "-x", "c++"},
			[]string{"__atomic_base<int>::load(std::memory_order) const read", "__atomic_base<int>::store(int, std::memory_order) write", "__atomic_base<int>::fetch_add(int, std::memory_order) update unused"}},
	} {
		t.Run(x.name, func(t *testing.T) {
			got := pointedSites(plan(t, build(t, x.compiler, x.source, x.args...), Options{Atomics: true}))
			for i := range got {
				got[i] = strings.TrimPrefix(got[i], "std::")
			}
			if diff := cmp.Diff(x.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
