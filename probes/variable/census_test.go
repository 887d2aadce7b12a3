package variable

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	bin "github.com/tracepredict/tracepredict/probes/elf"
)

const censusSource = `
struct point { short x, y; };
struct stats { int hits; long misses; struct point corner[3]; unsigned low:3, high:5; union { int i; float f; } any; };
struct stats server;
int plain, grid[2][3];
static volatile int twin;
const int fixed_table[4] = {1, 2, 3, 4};
__thread int own;
int escaped;
int *leak(void) { return &escaped; }
int other(void);
int use(int i) {
	static int calls;
	calls++;
	plain = 7;
	server.hits += i;
	server.misses = i;
	server.corner[1].y = 3;
	server.low = 2;
	server.any.i = 4;
	grid[1][2] = i;
	own = i;
	twin++;
	return fixed_table[i & 3] + plain;
}
int main(int argc, char **argv) { (void)argv; *leak() = other(); return use(argc) == 0; }
`

const censusTwin = "static volatile int twin;\nint other(void) { return twin++; }\n"

func censusOf(t *testing.T, f *bin.File) (*Census, []string) {
	t.Helper()
	c, err := Survey(f)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, v := range c.Variables {
		kinds := map[Kind]int{}
		for _, a := range v.Accesses {
			kinds[a.Kind]++
		}
		got = append(got, fmt.Sprintf("%s %d %s", v.Variable.Name, v.Variable.Size, v.Variable.Type))
	}
	slices.Sort(got)
	return c, got
}

func TestCensusNamesWhatCodeAccesses(t *testing.T) {
	sources := map[string]string{"a.c": censusSource, "b.c": censusTwin}
	for _, flags := range [][]string{{"-g", "-O0"}, {"-g", "-O2"}, {"-g", "-O2", "-no-pie", "-fno-pie"}} {
		t.Run(strings.Join(flags, ""), func(t *testing.T) {
			c, got := censusOf(t, build(t, "gcc", flags, []string{"a.c", "b.c"}, sources))
			for _, want := range []string{
				"plain 4 int", "server.hits 4 int", "server.misses 8 long int", "server.corner[1].y 2 short int", "grid[1][2] 4 int",
				"use::calls 4 int", "a.c:twin 4 volatile int", "b.c:twin 4 volatile int",
			} {
				if !slices.Contains(got, want) {
					t.Errorf("no %s in %q", want, got)
				}
			}
			for _, name := range got {
				if strings.HasPrefix(name, "fixed_table") || strings.HasPrefix(name, "own") {
					t.Errorf("%s is among the variables that threads can share", name)
				}
			}
			if !slices.Contains(c.Escaped, "escaped") && flags[1] == "-O0" {
				t.Errorf("escaped: %q", c.Escaped)
			}
		})
	}
}

// TestCensusOfSymbols checks that overlapping accesses form a variable where there is no debug
// information.
func TestCensusOfSymbols(t *testing.T) {
	f := build(t, "gcc", []string{"-O0"}, []string{"a.c", "b.c"}, map[string]string{"a.c": censusSource, "b.c": censusTwin})
	_, got := censusOf(t, f)
	for _, want := range []string{"plain 4 uint32", "server+0 4 uint32", "server+8 8 uint64", "grid+20 4 uint32"} {
		if !slices.Contains(got, want) {
			t.Errorf("no %s in %q", want, got)
		}
	}
}

// TestCensusFindsWhatOneVariableFinds checks that the single pass over the code finds, for each
// scalar, exactly the accesses that a search for it alone finds.
func TestCensusFindsWhatOneVariableFinds(t *testing.T) {
	f := build(t, "gcc", []string{"-g", "-O2"}, []string{"a.c", "b.c"}, map[string]string{"a.c": censusSource, "b.c": censusTwin})
	c, err := Survey(f)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range c.Variables {
		alone, err := Accesses(f, v.Variable)
		if err != nil {
			t.Fatal(err)
		}
		strip := func(as []Access) (out []string) {
			for _, a := range as {
				if !a.Maybe {
					out = append(out, fmt.Sprintf("%+v", a))
				}
			}
			return out
		}
		if got, want := strip(v.Accesses), strip(alone.Accesses); !slices.Equal(got, want) {
			t.Errorf("%s: the census has\n%q, the variable alone\n%q", v.Variable.Name, got, want)
		}
	}
}

// TestCensusOfManySlots finds the accesses of more variables, through slots of the global offset table, than
// are followed for one variable.
func TestCensusOfManySlots(t *testing.T) {
	var text strings.Builder
	const n = 2 * maxSlots
	for i := range n {
		fmt.Fprintf(&text, "int v%d; void set%[1]d(void) { v%[1]d = %[1]d; }\n", i)
	}
	text.WriteString("int main(void) { return 0; }\n")
	f := build(t, "gcc", []string{"-O1", "-g", "-fPIC", "-pie", "-Wl,--no-relax"}, []string{"a.c"}, map[string]string{"a.c": text.String()})
	c, err := Survey(f)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for _, v := range c.Variables {
		seen[v.Variable.Name] = len(v.Accesses)
	}
	for i := range n {
		if name := fmt.Sprintf("v%d", i); seen[name] != 1 {
			t.Errorf("%d accesses of %s, want 1", seen[name], name)
		}
	}
}

// TestDivided checks that two ranges have a piece in common exactly where they have a byte in common, and
// that pieces cover what the ranges do and do not overlap.
func TestDivided(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var rs []bin.Range
		for range rapid.IntRange(0, 12).Draw(t, "ranges") {
			lo := rapid.Uint64Range(0, 24).Draw(t, "lo")
			rs = append(rs, bin.Range{Lo: lo, Hi: lo + rapid.Uint64Range(1, 8).Draw(t, "size")})
		}
		pieces := divided(slices.Clone(rs))
		for at := range uint64(40) {
			covered := slices.ContainsFunc(rs, func(r bin.Range) bool { return r.Contains(at) })
			n := 0
			for _, p := range pieces {
				if !p.Contains(at) {
					continue
				}
				n++
				for _, r := range rs {
					if r.Contains(at) && (p.Lo < r.Lo || r.Hi < p.Hi) {
						t.Fatalf("%v has a part of the piece %v only (of %v)", r, p, rs)
					}
				}
			}
			if covered != (n == 1) || n > 1 {
				t.Fatalf("byte %d is in %d pieces of %v (ranges %v)", at, n, pieces, rs)
			}
		}
	})
}
