package variable

import (
	"fmt"
	"slices"
	"strings"
	"testing"

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
