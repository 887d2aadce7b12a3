package variable

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tracepredict/tracepredict/probes/insn"
)

const arraysSource = `
struct slot { int state; char name[4]; union { int i; float f; } any; short pair[2]; };
struct slot slots[8];
struct { int before; long counts[4]; int after; } server;
int grid[3][5], fixed[4], lone, ids[16];
long tickets[4];
long get(int i, int j) {
	slots[i].state++;
	slots[i].pair[j] = 2;
	slots[2].state = 5;
	server.counts[i] += 1;
	server.after = 3;
	grid[i][j] = 9;
	fixed[2] = 1;
	__atomic_fetch_add(&tickets[i], 1, __ATOMIC_SEQ_CST);
	lone++;
	return ids[i - 1] + ids[3];
}
int main(int argc, char **argv) { (void)argv; return get(argc, argc + 1) == 0; }
`

// TestCensusOfArrays checks that an array whose elements code indexes is recorded as one object
// with all of its accesses, and that other arrays are recorded by element.
func TestCensusOfArrays(t *testing.T) {
	for _, flags := range []string{"-O0", "-O2", "-O3", "-O2 -no-pie -fno-pie", "-O2 -static"} {
		t.Run(flags, func(t *testing.T) {
			f := build(t, "gcc", append(strings.Fields(flags), "-g"), []string{"a.c"}, map[string]string{"a.c": arraysSource})
			c, err := Survey(f)
			if err != nil {
				t.Fatal(err)
			}
			var arrays []string
			for i := range c.Arrays {
				a := &c.Arrays[i]
				arrays = append(arrays, fmt.Sprintf("%s %d", a.Variable.Name, a.Variable.Size))
				for _, x := range a.Accesses {
					if x.Base == insn.NoReg && x.Index == insn.NoReg && uint64(x.Disp)-a.Variable.Addr >= uint64(a.Variable.Size) {
						t.Errorf("%s: an access at 0x%x is elsewhere", a.Variable.Name, x.Addr)
					}
				}
			}
			slices.Sort(arrays)
			want := []string{"grid 60", "ids 64", "server.counts 32", "slots 128"}
			own := slices.DeleteFunc(arrays, func(s string) bool { return !slices.Contains(want, s) && flags == "-O2 -static" })
			if diff := cmp.Diff(want, own); diff != "" {
				t.Errorf("arrays (-want +got):\n%s", diff)
			}
			for _, v := range c.Variables {
				if strings.HasPrefix(v.Variable.Name, "slots") || strings.HasPrefix(v.Variable.Name, "ids") {
					t.Errorf("%s is apart", v.Variable.Name)
				}
			}
			for _, name := range []string{"server.after", "fixed[2]", "lone"} {
				if !slices.ContainsFunc(c.Variables, func(a Accessed) bool { return a.Variable.Name == name }) {
					t.Errorf("no %s", name)
				}
			}
			if !slices.Contains(c.Escaped, "tickets") {
				t.Errorf("escaped: %q", c.Escaped)
			}
		})
	}
}

// TestPartsOfAnArray checks the parts of an array that an access touches.
func TestPartsOfAnArray(t *testing.T) {
	f := build(t, "gcc", []string{"-O2", "-g"}, []string{"a.c"}, map[string]string{"a.c": arraysSource})
	c, err := Survey(f)
	if err != nil {
		t.Fatal(err)
	}
	by := map[string]*IndexedArray{}
	for i := range c.Arrays {
		by[c.Arrays[i].Variable.Name] = &c.Arrays[i]
	}
	by["bare"] = &IndexedArray{Variable: Variable{Name: "bare", Size: 100}}
	for _, c := range []struct {
		array  string
		offset int64
		width  int
		want   string
	}{
		{"slots", 0, 4, "slots[0].state@0"},
		{"slots", 52, 1, "slots[3].name[0]@52"},
		{"slots", 54, 2, "slots[3].name[2]@54 slots[3].name[3]@55"},
		{"slots", 56, 4, "slots[3]+8@56"},
		{"slots", 60, 8, "slots[3].pair[0]@60 slots[3].pair[1]@62 slots[4].state@64"},
		{"slots", 126, 8, "slots[7].pair[1]@126"},
		{"grid", 4 * 7, 4, "grid[1][2]@28"},
		{"grid", 4 * 4, 16, "grid[0][4]@16 grid[1][0]@20 grid[1][1]@24 grid[1][2]@28"},
		{"server.counts", 8, 8, "server.counts[1]@8"},
		{"bare", 8, 8, "bare+8@8"},
		{"bare", 96, 8, "bare+96@96"},
	} {
		var got []string
		for _, p := range by[c.array].Parts(c.offset, c.width) {
			got = append(got, fmt.Sprintf("%s@%d", p.Name, p.Offset))
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%s %d %d: %s, want %s", c.array, c.offset, c.width, s, c.want)
		}
	}
}

// TestCensusOfArraysWithoutDebugInformation checks that an object is an array unless code accesses
// many constant addresses in it.
func TestCensusOfArraysWithoutDebugInformation(t *testing.T) {
	source := `
int table[64], server[40];
int get(int i) {
	table[3] = i;
	table[i] = 2;
	return table[i + 1] + server[i];
}
int main(int argc, char **argv) {
	(void)argv;
	server[1] = server[3] = server[5] = server[7] = server[9] = server[11] = server[13] = server[15] = server[17] = argc;
	return get(argc) == 0;
}
`
	c, err := Survey(build(t, "gcc", []string{"-O0"}, []string{"a.c"}, map[string]string{"a.c": source}))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, a := range c.Arrays {
		got = append(got, fmt.Sprintf("%s %d", a.Variable.Name, a.Variable.Size))
	}
	if diff := cmp.Diff([]string{"table 256"}, got); diff != "" {
		t.Errorf("arrays (-want +got):\n%s", diff)
	}
	if !slices.Contains(c.Escaped, "server") || slices.Contains(c.Escaped, "table") {
		t.Errorf("escaped: %q", c.Escaped)
	}
}
