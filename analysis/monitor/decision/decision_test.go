package decision

import (
	"math/rand/v2"
	"testing"
)

const letters = 1 << 4

// random returns a random function of four propositions, and its values by letter.
func random(t *Table, r *rand.Rand) (Node, [letters]uint32) {
	var values [letters]uint32
	for i := range values {
		values[i] = r.Uint32N(3)
	}
	var build func(proposition int, above uint64) Node
	build = func(proposition int, above uint64) Node {
		if proposition == 4 {
			return t.Leaf(values[above])
		}
		low := build(proposition+1, above)
		return t.Choose(proposition, low, build(proposition+1, above|1<<proposition))
	}
	return build(0, 0), values
}

func TestFunctionsAreWhatTheirTablesSay(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	table := New(1 << 20)
	mixed := func(a, b uint32) uint32 { return a*3 + b*b }
	mix := table.Operation(mixed)
	for range 300 {
		f, fValues := random(table, r)
		g, gValues := random(table, r)
		h, doubled := mix.Apply(f, g), table.Map(f, func(v uint32) uint32 { return 2 * v })
		seen := map[uint32]bool{}
		for l := range uint64(letters) {
			seen[fValues[l]] = true
			if got := table.Eval(f, l); got != fValues[l] {
				t.Fatalf("letter %b: %d, want %d", l, got, fValues[l])
			}
			if got, want := table.Eval(h, l), mixed(fValues[l], gValues[l]); got != want {
				t.Fatalf("letter %b: applied %d, want %d", l, got, want)
			}
			if got := table.Eval(doubled, l); got != 2*fValues[l] {
				t.Fatalf("letter %b: mapped %d, want %d", l, got, 2*fValues[l])
			}
		}
		checkPaths(t, table, f, fValues)
		checkLeaves(t, table, f, seen)
		if (f == g) != (fValues == gValues) {
			t.Fatal("equal functions are not equal nodes")
		}
	}
}

// paths calls visit with each path of the diagram: where the propositions of trues and
// none of falses hold, the function is value.
func paths(t *Table, f Node, trues, falses uint64, visit func(trues, falses uint64, value uint32)) {
	n := t.nodes[f]
	if n.proposition == leaf {
		visit(trues, falses, n.low)
		return
	}
	bit := uint64(1) << n.proposition
	paths(t, n.low, trues, falses|bit, visit)
	paths(t, n.high, trues|bit, falses, visit)
}

func checkPaths(t *testing.T, table *Table, f Node, values [letters]uint32) {
	t.Helper()
	var covered [letters]int
	paths(table, f, 0, 0, func(trues, falses uint64, value uint32) {
		for l := range uint64(letters) {
			if l&trues == trues && l&falses == 0 {
				covered[l]++
				if values[l] != value {
					t.Fatalf("a path gives letter %b the value %d, want %d", l, value, values[l])
				}
			}
		}
	})
	for l, n := range covered {
		if n != 1 {
			t.Fatalf("%d paths cover letter %b", n, l)
		}
	}
}

func checkLeaves(t *testing.T, table *Table, f Node, want map[uint32]bool) {
	t.Helper()
	got := map[uint32]bool{}
	table.Leaves(f, func(value uint32) bool {
		if got[value] {
			t.Fatalf("leaf %d came twice", value)
		}
		got[value] = true
		return true
	})
	if len(got) != len(want) {
		t.Fatalf("leaves %v, want %v", got, want)
	}
}

func TestCube(t *testing.T) {
	table := New(1 << 10)
	f := table.Cube(1<<63|1, 2, 7, 5)
	for l, want := range map[uint64]uint32{1<<63 | 1: 7, 1<<63 | 5: 7, 1: 5, 1<<63 | 3: 5, 0: 5} {
		if got := table.Eval(f, l); got != want {
			t.Errorf("letter %x: %d, want %d", l, got, want)
		}
	}
	if table.Cube(1, 1, 7, 5) != table.Leaf(5) {
		t.Error("a contradiction holds somewhere")
	}
}

func TestFullTable(t *testing.T) {
	table := New(4)
	for v := range uint32(3) {
		table.Choose(0, table.Leaf(v), table.Leaf(v+1))
	}
	if !table.Full() || table.Len() != 4 {
		t.Errorf("full %v with %d nodes", table.Full(), table.Len())
	}
	if table.Operation(func(a, b uint32) uint32 { return a + b }).Apply(1, 1) != 0 {
		t.Error("a full table goes on")
	}
}
