package code

import (
	"math/bits"
	"slices"
	"testing"

	bin "github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/insn"
	"pgregory.net/rapid"
)

// facts is the state in these tests: for each register, the address of the last instruction that
// wrote it on every path; manyWriters if paths differ.
type facts [16]uint64

const manyWriters = 1

func (f *facts) join(from *facts) (changed bool) {
	for r := range f {
		if f[r] != from[r] && f[r] != manyWriters {
			f[r], changed = manyWriters, true
		}
	}
	return changed
}

func (f *facts) step(in *insn.Inst) {
	for set := in.Writes & 0xffff; set != 0; set &= set - 1 {
		f[bits.TrailingZeros64(uint64(set))] = in.Addr
	}
}

// naive is the plain model of Solve: it visits all blocks again and again until nothing changes.
func naive(g *Graph) (before []facts, reached []bool) {
	before, reached = make([]facts, len(g.Blocks)), make([]bool, len(g.Blocks))
	for start := range g.Blocks {
		if reached[start] {
			continue
		}
		before[start], reached[start] = facts{}, true
		for changed := true; changed; {
			changed = false
			for i, b := range g.Blocks {
				if !reached[i] {
					continue
				}
				s := before[i]
				for k := b.Lo; k < b.Hi; k++ {
					s.step(&g.Insts[k])
				}
				for _, n := range b.Next {
					if !reached[n] {
						before[n], reached[n], changed = s, true, true
					} else if before[n].join(&s) {
						changed = true
					}
				}
			}
		}
	}
	return before, reached
}

// solve computes the result of naive with a Solver.
func solve(v *Solver[facts], g *Graph) {
	v.Join = (*facts).join
	v.Solve(g, func(int) (facts, bool) { return facts{}, true }, func(s *facts, in *insn.Inst) bool {
		s.step(in)
		return true
	})
}

// failer is a test, or one case of a property.
type failer interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// sameAsNaive compares a Solver, and the states that Each passes, with the plain model.
func sameAsNaive(t failer, v *Solver[facts], g *Graph) {
	t.Helper()
	solve(v, g)
	before, reached := naive(g)
	for i := range g.Blocks {
		if v.Reached(i) != reached[i] || v.Before[i] != before[i] {
			t.Fatalf("block %d of %d at 0x%x: %v %v, naively %v %v", i, len(g.Blocks), g.Insts[g.Blocks[i].Lo].Addr, v.Reached(i), v.Before[i], reached[i], before[i])
		}
	}
	n := 0
	v.Each(g, func(s *facts, in *insn.Inst) {
		if s.step(in); in != &g.Insts[n] {
			t.Fatalf("instruction %d comes as 0x%x", n, in.Addr)
		}
		n++
	})
	if n != len(g.Insts) {
		t.Errorf("%d of %d instructions passed", n, len(g.Insts))
	}
}

// drawInsts draws instructions of one byte each, in up to three runs.
func drawInsts(t *rapid.T) (insts []insn.Inst) {
	n := rapid.IntRange(1, 60).Draw(t, "instructions")
	addr := uint64(rapid.IntRange(0, 2).Draw(t, "first")*100 + base)
	for range n {
		if rapid.IntRange(0, 20).Draw(t, "run") == 0 {
			addr = uint64(rapid.IntRange(0, 2).Draw(t, "next")*100 + base)
		}
		in := insn.Unknown(addr, 1)
		in.Kind = rapid.SampledFrom([]insn.Kind{insn.Plain, insn.Plain, insn.Plain, insn.Call, insn.Jump, insn.CondJump, insn.CondJump, insn.IndirectJump, insn.Return, insn.Stop}).Draw(t, "kind")
		in.Target = uint64(rapid.IntRange(0, 260).Draw(t, "target") + base)
		in.Writes = insn.RegSet(rapid.IntRange(0, 1<<16-1).Draw(t, "writes"))
		insts = append(insts, in)
		addr++
	}
	return insts
}

// TestSolveProperty checks that on random graphs a Solver, which is used again and again, finds the
// solution of the plain model.
func TestSolveProperty(t *testing.T) {
	var v Solver[facts]
	rapid.Check(t, func(t *rapid.T) {
		insts := drawInsts(t)
		arrivals := rapid.SliceOfN(rapid.Uint64Range(base, base+260), 0, 4).Draw(t, "arrivals")
		g := NewGraph(insts, arrivals, rapid.IntRange(0, 9).Draw(t, "open") == 0)
		checkGraph(t, g, arrivals)
		sameAsNaive(t, &v, g)
	})
}

// checkGraph compares a graph with the definition of basic blocks.
func checkGraph(t failer, g *Graph, arrivals []uint64) {
	t.Helper()
	begins := map[uint64][]int{}
	for i, b := range g.Blocks {
		begins[g.Insts[b.Lo].Addr] = append(begins[g.Insts[b.Lo].Addr], i)
		if lo := 0; i > 0 && b.Lo != g.Blocks[i-1].Hi || i == 0 && b.Lo != lo || b.Hi <= b.Lo {
			t.Fatalf("block %d is %d to %d", i, b.Lo, b.Hi)
		}
		if g.Open && b.Hi != b.Lo+1 {
			t.Fatalf("block %d has several instructions that control may arrive at", i)
		}
		for k := b.Lo; k < b.Hi-1; k++ {
			if in := &g.Insts[k]; in.Kind.Branches() || !in.Kind.FallsThrough() || in.End() != g.Insts[k+1].Addr {
				t.Fatalf("block %d does not end at 0x%x", i, in.Addr)
			}
		}
	}
	if n := len(g.Blocks); n > 0 && g.Blocks[n-1].Hi != len(g.Insts) || n == 0 && len(g.Insts) > 0 {
		t.Fatalf("%d blocks do not cover %d instructions", n, len(g.Insts))
	}
	for i, b := range g.Blocks {
		for k := b.Lo + 1; k < b.Hi; k++ {
			if at := g.Insts[k].Addr; slices.Contains(arrivals, at) {
				t.Fatalf("control arrives at 0x%x, in the midst of block %d", at, i)
			}
		}
		if i > 0 && slices.Contains(arrivals, g.Insts[b.Lo].Addr) && !slices.Contains(g.ExternalEntries, i) {
			t.Fatalf("block %d is no external entry", i)
		}
		last := &g.Insts[b.Hi-1]
		var to []uint64
		if last.Kind.Branches() {
			to = append(to, last.Target)
		}
		var next, behind []int
		switch {
		case !last.Kind.FallsThrough():
		case b.Hi < len(g.Insts) && g.Insts[b.Hi].Addr == last.End():
			behind = []int{i + 1}
		default:
			to = append(to, last.End())
		}
		for _, at := range to {
			exists := slices.ContainsFunc(g.Insts, func(in insn.Inst) bool { return in.Addr == at })
			blocks := begins[at]
			if exists != (len(blocks) > 0) {
				t.Fatalf("no block begins at 0x%x, where block %d goes on", at, i)
			}
			if exists {
				next = append(next, blocks[len(blocks)-1])
			}
		}
		if next = append(next, behind...); !slices.Equal(next, b.Next) {
			t.Fatalf("block %d goes on with %v, want %v", i, b.Next, next)
		}
	}
}

// FuzzGraph checks that any bytes yield a graph of basic blocks, for which a Solver finds the
// solution of the plain model.
func FuzzGraph(f *testing.F) {
	f.Add([]byte("\x85\xff\x74\x02\xff\xc0\xc3\x90\xeb\xf6"), uint16(0), false, false)
	f.Add([]byte("\xff\xe0\x0f\x1f\x00\x48\x89\xe5\xe8\x00\x00\x00\x00\xc3"), uint16(2), true, false)
	f.Add([]byte("\x1f\x20\x03\xd5\xc0\x03\x5f\xd6"), uint16(4), false, true)
	f.Fuzz(func(t *testing.T, b []byte, arrival uint16, open, arm bool) {
		arch := insn.AMD64
		if arm {
			arch = insn.ARM64
		}
		arrivals := []uint64{base + uint64(arrival)}
		g := NewGraph(insn.DecodeRun(nil, arch, b[:min(len(b), 1<<12)], base, nil), arrivals, open)
		checkGraph(t, g, arrivals)
		var v Solver[facts]
		sameAsNaive(t, &v, g)
	})
}

// TestSolveGlibc solves the functions of this machine's glibc, with the landings that an
// Image finds.
func TestSolveGlibc(t *testing.T) {
	f, err := bin.Open("/lib/x86_64-linux-gnu/libc.so.6")
	if err != nil {
		t.Skipf("no glibc here: %v", err)
	}
	defer f.Close()
	defer f.Hold()()
	im := NewImage(f)
	var v Solver[facts]
	blocks, entries, open := 0, 0, 0
	for i, fn := range f.Functions() {
		if i%7 != 0 {
			continue
		}
		b, err := f.Bytes(fn.Lo, int(fn.Hi-fn.Lo))
		if err != nil {
			t.Fatal(err)
		}
		at, anywhere := im.Arrivals(fn)
		g := NewGraph(insn.DecodeRun(nil, f.Arch(), b, fn.Lo, nil), at, anywhere)
		checkGraph(t, g, at)
		sameAsNaive(t, &v, g)
		blocks, entries = blocks+len(g.Blocks), entries+len(g.ExternalEntries)
		if g.Open {
			open++
		}
	}
	t.Logf("%d blocks, %d external entries, %d functions open", blocks, entries, open)
	if blocks == 0 || entries == 0 {
		t.Error("no blocks, or none that control enters otherwise")
	}
}

// TestSolveEnds checks that a solution ends when a visit returns false.
func TestSolveEnds(t *testing.T) {
	insts := insn.DecodeRun(nil, insn.AMD64, []byte("\xff\xc0\xeb\xfc\x90\xc3"), base, nil) // again: inc %eax; jmp again; nop; ret
	g := NewGraph(insts, nil, false)
	v := Solver[facts]{Join: (*facts).join}
	for most := range len(insts) {
		n := 0
		done := v.Solve(g, func(int) (facts, bool) { return facts{}, true }, func(*facts, *insn.Inst) bool {
			n++
			return n <= most
		})
		if done || n != most+1 {
			t.Errorf("%d instructions of %d passed: %v", n, most, done)
		}
	}
}

// TestBranchesOfOverlappingRuns checks that branches lead to the last of the instructions at an
// address.
func TestBranchesOfOverlappingRuns(t *testing.T) {
	run := insn.DecodeRun(nil, insn.AMD64, []byte("\xeb\xfe\xc3"), base, nil) // jmp to itself; ret
	g := NewGraph(slices.Concat(run, run, run), nil, false)
	checkGraph(t, g, nil)
	if got := g.Blocks[0].Next; !slices.Equal(got, []int{4}) {
		t.Errorf("%v", got)
	}
}
