package variable

import (
	"slices"
	"testing"
)

const atomicsC = `
#include <stdatomic.h>
typedef struct { int plain; _Atomic unsigned head; struct { _Atomic long tail; long slots[4]; }; } ring_t;
static _Atomic int alone;
static ring_t ring;
static struct { ring_t in[2]; atomic_int n; struct { atomic_bool up; } link; const ring_t *to; union { atomic_int u; float f; }; } box;
static struct { int a, b; } plain;
int main(void) { alone = 1; ring.head++; ring.tail++; box.n++; box.link.up = 1; box.u = 1; plain.a++; return box.to != 0; }
`

const atomicsCPP = `
#include <atomic>
struct base { std::atomic<int> refs; };
struct held : base { int plain; struct { std::atomic_flag flag; std::atomic<void *> next; } in; };
static held h;
int main() { h.refs++; h.in.flag.test_and_set(); h.in.next = &h; return h.plain; }
`

// TestAtomicTyped: atomic variables, and atomic members of structures by their path.
func TestAtomicTyped(t *testing.T) {
	for _, c := range []struct {
		compiler, source, text string
		flags, want            []string
	}{
		{"gcc", "a.c", atomicsC, []string{"-g", "-O0"}, []string{"alone", "box.link.up", "box.n", "ring.head", "ring.tail"}},
		{"clang-19", "a.c", atomicsC, []string{"-g", "-O0"}, []string{"alone", "box.link.up", "box.n", "ring.head", "ring.tail"}},
		{"g++", "a.cc", atomicsCPP, []string{"-g", "-O0"}, []string{"h.in.flag", "h.in.next", "h.refs"}},
	} {
		t.Run(c.compiler+c.source, func(t *testing.T) {
			f := build(t, c.compiler, c.flags, []string{c.source}, map[string]string{c.source: c.text})
			vars, err := AtomicTyped(f)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, v := range vars {
				got = append(got, v.Name)
				if found := mustFind(t, f, v.Name); found.Addr != v.Addr || found.Size != v.Size || !v.Atomic {
					t.Errorf("%s: %+v, found by name %+v", v.Name, v, found)
				}
			}
			slices.Sort(got)
			if !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
