package probes

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/insn"
	"github.com/tracepredict/tracepredict/probes/pointer"
)

// Where a program has more accesses through pointers than there is room for sites, some functions get none.
// Threads share memory where they lock: so functions that acquire locks, or execute atomic instructions, come
// first, and then the others by how many calls lie between them and the nearest of these. That is the order in
// which the code of critical sections comes before code that no thread shares anything in.

// acquires returns a function that reports whether an instruction passes control to a function of the table
// that acquires a lock. Several goroutines may call it.
func (b *builder) acquires() func(*insn.Inst) bool {
	f, table, calls := b.plan.File, b.opts.Table, b.tableCalls
	stubs, slots := f.PLTTargets(), f.GOTSlots()
	acquire := func(op bpf.Op) bool { return op == bpf.OpAcquire || op == bpf.OpAcquireRead }
	return func(in *insn.Inst) bool {
		symbol := ""
		switch in.Kind {
		case insn.Call, insn.Jump, insn.CondJump:
			if c, ok := calls[in.Target]; ok {
				return acquire(c.entry.Op)
			}
			symbol = stubs[in.Target]
		case insn.IndirectCall, insn.IndirectJump:
			if in.NMem == 1 && in.Mem[0].Fixed {
				symbol = slots[in.Mem[0].Addr]
			}
		}
		entry, ok := table.Match(symbol, "")
		return ok && acquire(entry.Op)
	}
}

// unreached is the distance of a function from which no calls lead to one that locks, nor back.
const unreached = math.MaxInt

// distances returns, by the beginning of each function, how many direct calls lie between it and the nearest
// function that locks, in either direction. Functions that are unreached are left out.
func distances(f *elf.File, found *pointer.Census) map[uint64]int {
	near := map[uint64][]uint64{}
	for _, p := range found.Passes {
		if to, ok := f.FunctionAt(p.To); ok && to.Lo != p.From {
			near[p.From], near[to.Lo] = append(near[p.From], to.Lo), append(near[to.Lo], p.From)
		}
	}
	far := map[uint64]int{}
	var next []uint64
	add := func(fn uint64, distance int) {
		if _, known := far[fn]; !known {
			far[fn], next = distance, append(next, fn)
		}
	}
	for fn := range found.Locking {
		add(fn, 0)
	}
	for i := range found.Accesses {
		if a := &found.Accesses[i]; a.Locked {
			add(a.Func.Lo, 0)
		}
	}
	for i := 0; i < len(next); i++ {
		for _, fn := range near[next[i]] {
			add(fn, far[next[i]]+1)
		}
	}
	return far
}

// siteless returns the functions, by their beginnings, whose accesses have no sites because there is room for so
// many more sites only. planned are the addresses of the accesses that have sites already.
func siteless(f *elf.File, found *pointer.Census, accesses []throughPointer, planned map[uint64]bool, left int) map[uint64]bool {
	need := map[uint64]int{}
	all := 0
	for i := range accesses {
		if p := &accesses[i]; !planned[p.Addr] {
			need[p.Func.Lo] += p.mostSites()
			all += p.mostSites()
		}
	}
	without := map[uint64]bool{}
	if all <= left {
		return without
	}
	for _, fn := range byDistance(need, distances(f, found)) {
		if need[fn] > left {
			without[fn] = true
			continue
		}
		left -= need[fn]
	}
	return without
}

// byDistance returns functions in the order of their distances, and those of one distance by their addresses.
func byDistance(functions map[uint64]int, far map[uint64]int) []uint64 {
	distance := func(fn uint64) int {
		if d, ok := far[fn]; ok {
			return d
		}
		return unreached
	}
	return slices.SortedFunc(maps.Keys(functions), func(a, b uint64) int {
		return cmp.Or(cmp.Compare(distance(a), distance(b)), cmp.Compare(a, b))
	})
}

// mostSites returns the greatest number of sites that the access may have.
func (p *throughPointer) mostSites() int {
	if p.atomic || p.Locked {
		return 2
	}
	return 1
}
