package variable

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/tracepredict/tracepredict/internal/fixedseed"
)

const atomicsC = `
#include <stdatomic.h>
typedef struct { int plain; _Atomic unsigned head; struct { _Atomic long tail; long slots[4]; }; } ring_t;
static _Atomic int alone;
static ring_t ring;
static _Atomic short cells[2][3];
static struct { ring_t in[2]; atomic_int n; struct { atomic_bool up; } link; const ring_t *to; union { atomic_int u; float f; }; } box;
static struct { int a, b; } plain;
int main(void) { alone = 1; ring.head++; ring.tail++; box.n++; box.link.up = 1; box.u = 1; plain.a++; cells[1][2]++; return box.to != 0; }
`

const atomicsCPP = `
#include <atomic>
#include <array>
struct base { std::atomic<int> refs; };
struct held : base { int plain; struct { std::atomic_flag flag; std::atomic<void *> next; } in; };
static held h;
static std::atomic<int> four[4];
static std::array<std::atomic<long>, 3> three;
int main() { h.refs++; h.in.flag.test_and_set(); h.in.next = &h; four[3]++; three[1]++; return h.plain; }
`

// TestAtomicTyped checks that atomic variables are found, and atomic members of structures by their
// path.
func TestAtomicTyped(t *testing.T) {
	for _, c := range []struct {
		compiler, source, text string
		flags, want            []string
	}{
		{"gcc", "a.c", atomicsC, []string{"-g", "-O0"}, []string{"alone", "box.in[].head", "box.in[].tail", "box.link.up", "box.n", "box.u", "cells[]", "ring.head", "ring.tail"}},
		{"clang-19", "a.c", atomicsC, []string{"-g", "-O0"}, []string{"alone", "box.in[].head", "box.in[].tail", "box.link.up", "box.n", "box.u", "cells[]", "ring.head", "ring.tail"}},
		{"g++", "a.cc", atomicsCPP, []string{"-g", "-O0"}, []string{"four[]", "h.in.flag", "h.in.next", "h.refs", "three._M_elems[]"}},
	} {
		t.Run(c.compiler+c.source, func(t *testing.T) {
			f := build(t, c.compiler, c.flags, []string{c.source}, map[string]string{c.source: c.text})
			vars, _, err := AtomicTyped(f)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, v := range vars {
				got = append(got, v.Name)
				name := v.Name
				if v.Array != nil {
					name = strings.Replace(name, "[]", strings.Repeat("[0]", len(v.Array.Dims)), 1)
				}
				if found := mustFind(t, f, name); found.Addr != v.Addr || found.Size != v.Size || !v.Atomic {
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

// TestNestedArrays checks that atomic members in arrays within elements of arrays are found: of the
// smaller array, each element is a variable of its own.
func TestNestedArrays(t *testing.T) {
	f := build(t, "gcc", []string{"-g"}, []string{"a.c"}, map[string]string{"a.c": `
#include <stdatomic.h>
struct cell { long pad; atomic_int set; };
static struct { char n; struct cell in[3]; } wide[20];
static struct { char n; struct cell in[20]; } deep[1][2];
static struct { char n; struct cell in[9]; } large[9];
static struct { struct { struct cell in[2]; } mid[2]; } three[9];
int main(void) { wide[1].in[2].set = deep[0][1].in[3].set = large[4].in[2].set = three[1].mid[0].in[1].set = 1; return 0; }
`})
	vars, large, err := AtomicTyped(f)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, v := range vars {
		got = append(got, v.Name)
		first, last := strings.Replace(v.Name, "[]", strings.Repeat("[0]", len(v.Array.Dims)), 1), v.Name
		for _, n := range v.Array.Dims {
			last = strings.Replace(last, "[]", fmt.Sprintf("[%d]", n-1), 1)
		}
		if found := mustFind(t, f, first); found.Addr != v.Addr {
			t.Errorf("%s begins at 0x%x, want 0x%x", v.Name, v.Addr, found.Addr)
		}
		if at, found := v.Addr+v.Array.Span()-v.Array.Stride, mustFind(t, f, last); found.Addr != at {
			t.Errorf("%s ends at 0x%x, want 0x%x", v.Name, at, found.Addr)
		}
	}
	want := []string{
		"deep[0][0].in[].set", "deep[0][1].in[].set",
		"three[].mid[0].in[0].set", "three[].mid[0].in[1].set", "three[].mid[1].in[0].set", "three[].mid[1].in[1].set",
		"wide[].in[0].set", "wide[].in[1].set", "wide[].in[2].set",
	}
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if want := []string{"large[].in[].set"}; !slices.Equal(large, want) {
		t.Errorf("large: %q, want %q", large, want)
	}
}

// TestArrayOverlaps checks that Overlaps of an array agrees with Overlaps of each element.
func TestArrayOverlaps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.SampledFrom([]int{1, 2, 4, 8}).Draw(t, "size")
		v := Variable{Addr: 100, Size: size, Array: &Array{Stride: uint64(size + rapid.IntRange(0, 5).Draw(t, "gap")), Dims: []uint64{2, rapid.Uint64Range(1, 3).Draw(t, "rows")}}}
		addr, n := rapid.Uint64Range(80, 180).Draw(t, "addr"), rapid.IntRange(0, 40).Draw(t, "bytes")
		overlaps, begins := false, false
		for at := v.Addr; at < v.Addr+v.Array.Span(); at += v.Array.Stride {
			overlaps = overlaps || Variable{Addr: at, Size: size}.Overlaps(addr, n)
			begins = begins || at == addr
		}
		if v.Overlaps(addr, n) != overlaps || v.begins(addr) != begins {
			t.Fatalf("%d bytes at %d: overlaps %v, begins %v", n, addr, overlaps, begins)
		}
	})
}
