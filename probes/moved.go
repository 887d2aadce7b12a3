package probes

import (
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/insn"
	"github.com/tracepredict/tracepredict/probes/synctab"
)

// A library that takes its own locks all the time costs most of what an observation costs, and its user looks for other
// errors. If its locks are left out, the calls of the C library's lock functions are not observed in the C library, where
// each call pays for it, but where the other files call them: at the stubs of their procedure linkage tables.

// Moves says what becomes of a site once the locks of some file are left out.
type Moves uint8

const (
	MovesNot  Moves = iota // its probe stays
	MovesAway              // its probe, in the C library, is removed
	MovesHere              // its probe, at a stub of a file whose locks are not left out, is put in then
)

// lockFunctions begin the names of the functions whose calls are observed at stubs instead. Calls that wait for other
// threads stay where they are, since what they order concerns all threads, and those of read-write locks, since a thread
// that waits in one cannot be told from the outside (loader.Session.LeaveOut).
var lockFunctions = []string{"pthread_mutex_", "pthread_spin_", "mtx_"}

// moves reports whether the calls of a function of the C library are observed at stubs once locks are left out.
func moves(name string, e synctab.Entry) bool {
	switch e.Op {
	case bpf.OpAcquire, bpf.OpAcquireRead, bpf.OpRelease:
	default:
		return false
	}
	name = plainName(name)
	return e.Builtin && e.Library == "" && slices.ContainsFunc(lockFunctions, func(begin string) bool { return strings.HasPrefix(name, begin) })
}

// marking calls plan, and marks the sites that it adds.
func (b *builder) marking(as Moves, plan func() error) error {
	before := len(b.plan.Sites)
	err := plan()
	for i := range b.plan.Sites[before:] {
		b.plan.Sites[before+i].Moves = as
	}
	return err
}

// stubCalls plans the sites at the stubs by which the file calls lock functions of the C library.
func (b *builder) stubCalls() error {
	stubbed := map[string]bool{}
	for _, addr := range slices.Sorted(maps.Keys(b.stubs)) {
		name := b.stubs[addr]
		e, ok := b.opts.Table.Match(name, "")
		if !ok || !moves(name, e) {
			continue
		}
		stubbed[name] = true
		if err := b.marking(MovesHere, func() error { return b.call(call{addr: addr, name: name, entry: e}) }); err != nil {
			return err
		}
	}
	for _, name := range b.plan.File.GOTSlots() {
		if e, ok := b.opts.Table.Match(name, ""); ok && moves(name, e) && !stubbed[name] && !slices.Contains(b.plan.LocksByPointer, name) {
			b.plan.LocksByPointer = append(b.plan.LocksByPointer, name)
		}
	}
	slices.Sort(b.plan.LocksByPointer)
	return nil
}

// settleMoves lets probes stay that sites share which do not all move: one link has one address once.
func (b *builder) settleMoves() {
	sites := b.plan.Sites
	for i := range sites {
		if b.plan.Chained(i) && sites[i].Moves != sites[i-1].Moves {
			sites[i].Moves, sites[i-1].Moves = MovesNot, MovesNot
		}
	}
}

// Named reports whether one of some patterns of path.Match names a file: that of its path, or its DT_SONAME.
func Named(patterns []string, f *elf.File) bool {
	names := []string{path.Base(f.Name()), f.SOName()}
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		return slices.ContainsFunc(names, func(name string) bool { ok, err := path.Match(pattern, name); return ok && err == nil })
	})
}

// maxSectionCode bounds the code of a function that ReleasesIn reads, in bytes.
const maxSectionCode = 1 << 20

// ReleasesIn reports whether the function at an address of the file releases a mutex or spin lock: its code calls such a
// function of the C library, or, if depth is more than 0, another function of the file that does so with depth one less.
func (p *Plan) ReleasesIn(table synctab.Table, addr uint64, depth int) bool {
	s := releaseSearch{file: p.File, table: table, stubs: p.File.PLTTargets(), slots: p.File.GOTSlots(), tried: map[uint64]int{}}
	return s.releases(addr, depth)
}

// releaseSearch is a search for functions that release locks.
type releaseSearch struct {
	file         *elf.File
	table        synctab.Table
	stubs, slots map[uint64]string
	tried        map[uint64]int // functions without a release, by their address: 1 + the depth to which they were searched
}

func (s *releaseSearch) releases(addr uint64, depth int) bool {
	fn, ok := s.file.FunctionAt(addr)
	if !ok || fn.Hi-fn.Lo > maxSectionCode || s.tried[fn.Lo] > depth {
		return false
	}
	s.tried[fn.Lo] = 1 + depth
	found, callees := s.calls(fn)
	return found || depth > 0 && slices.ContainsFunc(callees, func(to uint64) bool { return s.releases(to, depth-1) })
}

// calls reports whether the code of a function calls one of the C library that releases a lock, and returns the functions
// of the file that it calls.
func (s *releaseSearch) calls(fn elf.Range) (releases bool, callees []uint64) {
	code, err := s.file.Bytes(fn.Lo, int(fn.Hi-fn.Lo))
	if err != nil {
		return false, nil
	}
	for at := fn.Lo; len(code) > 0; {
		in, err := insn.Decode(s.file.Arch(), code, at)
		if err != nil || in.Len <= 0 || in.Len > len(code) {
			return false, nil
		}
		switch name := s.stubs[in.Target]; in.Kind {
		case insn.Call, insn.Jump, insn.CondJump:
			if s.isRelease(name) {
				return true, nil
			}
			if name == "" && !fn.Contains(in.Target) && in.Kind != insn.CondJump {
				callees = append(callees, in.Target)
			}
		case insn.IndirectCall, insn.IndirectJump:
			if in.NMem > 0 && in.Mem[0].Fixed && s.isRelease(s.slots[in.Mem[0].Addr]) {
				return true, nil
			}
		}
		code, at = code[in.Len:], at+uint64(in.Len)
	}
	return false, callees
}

// isRelease reports whether a function of the C library releases a mutex or spin lock.
func (s *releaseSearch) isRelease(name string) bool {
	e, ok := s.table.Match(name, "")
	return ok && e.Op == bpf.OpRelease && moves(name, e)
}
