// Package waiting finds loops that wait, without a call of the table, until another thread stores a
// value: loops with an exit that is decided by what is loaded from one address, again in each
// iteration, and to which the loop itself does not store. Either all exits are such, or the loop
// pauses, sleeps or yields. Such ad-hoc synchronisation is described by Xiong et al., "Ad Hoc
// Synchronization Considered Harmful" (SyncFinder, OSDI 2010), and by Jannesari and Tichy,
// "Identifying Ad-hoc Synchronization for Enhanced Race Detection" (Helgrind+, IPDPS 2010).
//
// The input is an open binary; the output is, for each such exit, the load that decides and the
// address at which control leaves the loop. The search is by data flow within the function, and
// through direct calls. It proves nothing: a loop may be found that no other thread ends, and one
// that leaves by a value kept in a structure on the way may be missed. It knows no process.
package waiting

import (
	"cmp"
	"fmt"
	"iter"
	"slices"

	"github.com/tracepredict/tracepredict/probes/code"
	"github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/insn"
)

// Wait is an exit of a loop that waits.
type Wait struct {
	Func elf.Range // the function extent that contains the loop
	Exit uint64    // where control goes on once the value is there
	// Loads are the instructions whose values decide, by their addresses.
	Loads []Load
	// Before are the addresses of loads in copies of the loop's condition that lie before the loop.
	Before []uint64
	// Sleeps reports that the loop sleeps, so that its loads are executed rarely.
	Sleeps bool
}

// Load is an instruction that loads a value from memory that other threads may write. It may be in a
// function that the loop calls.
type Load struct {
	At uint64
	// Addr and Size are the range of the file's data that it loads; Size is 0 if that is not known.
	Addr uint64
	Size int
	// Asked reports that it is a call of another file's function instead, whose answer depends on what
	// other threads have done.
	Asked bool
}

// File is the binary whose code is searched, as elf.File.
type File interface {
	Arch() insn.Arch
	// Bytes returns up to n bytes from an address on, fewer where the section ends.
	Bytes(addr uint64, n int) ([]byte, error)
	// Functions returns the extents of functions, and FunctionAt the one that contains an address.
	Functions() []elf.Range
	FunctionAt(addr uint64) (elf.Range, bool)
	// FunctionName returns the linkage name of the function that begins at an address; "" if there is none.
	FunctionName(addr uint64) string
	// PLTTargets and GOTSlots return the names of imports, by the addresses of their stubs and slots.
	PLTTargets() map[uint64]string
	GOTSlots() map[uint64]string
	// LocalSlots returns the addresses in the file that are in slots, by the addresses of these.
	LocalSlots() map[uint64]uint64
	// IsData reports whether the program may write at an address.
	IsData(addr uint64) bool
}

// Options describe what the caller knows of the code.
type Options struct {
	// Arrivals reports where jump tables and exceptions land; see code.Arrivals.
	Arrivals code.Arrivals
	// Holds returns how many more locks a thread holds after a call than before: 1, 0 or -1. ok is
	// false if the function is not one that locks. name is that of an import, "" for a function of
	// the file, which begins at entry.
	Holds func(entry uint64, name string) (change int, ok bool)
	// Skip reports whether a function's loops are left out.
	Skip func(elf.Range) bool
}

const (
	maxWork     = 1 << 21 // instructions visited for one file, each as often as it is visited
	maxFunction = 1 << 17 // bytes
	maxWhole    = 1 << 10 // instructions of a function that is examined around its loops too
	maxLoop     = 1 << 9  // instructions: loops that wait do little
)

// finder finds the loops that wait in one file. It is not safe for concurrent use.
type finder struct {
	Options
	file     File
	plt      map[uint64]string
	slots    map[uint64]string
	local    map[uint64]uint64 // by slot: the function that is called through it
	roots    []root
	rootIDs  map[root]rootID // of the roots that are elements of arrays, or computed by instructions
	inMemory map[place]rootID
	solvers  []*code.Solver[state] // that are not used now
	buffers  [][]insn.Inst         // likewise
	effects  map[uint64]*effect
	callers  map[uint64]*caller // by the entries of functions
	work     int
}

// Find returns the waits of a file, sorted by Exit and without duplicates. whole is false if the
// search of all code would have taken too long, or if the architecture is not supported.
func Find(f File, opts Options) (waits []Wait, whole bool, err error) {
	if f.Arch() != insn.AMD64 {
		return nil, false, nil
	}
	x := newFinder(f, opts)
	for _, fn := range f.Functions() {
		if !x.jumpsBack(fn) || opts.Skip != nil && opts.Skip(fn) {
			continue
		}
		r, err := x.routine(fn)
		if err != nil {
			return nil, false, fmt.Errorf("look for loops that wait: %w", err)
		}
		if r == nil {
			continue
		}
		for _, l := range r.Loops() {
			for _, w := range x.loop(r, &l) {
				w.Before = r.before(&l, w.Loads)
				waits = append(waits, w)
			}
		}
		x.done(r)
	}
	slices.SortStableFunc(waits, func(a, b Wait) int { return cmp.Compare(a.Exit, b.Exit) })
	return merge(waits), x.work > 0, nil
}

func newFinder(f File, opts Options) *finder {
	return &finder{
		Options: opts, file: f, plt: f.PLTTargets(), slots: f.GOTSlots(), local: f.LocalSlots(), work: maxWork,
		roots: firstRoots(), rootIDs: map[root]rootID{}, inMemory: map[place]rootID{},
		effects: map[uint64]*effect{}, callers: map[uint64]*caller{},
	}
}

// merge makes one of the waits that leave at the same address.
func merge(waits []Wait) []Wait {
	var out []Wait
	for _, w := range waits {
		n := len(out) - 1
		if n < 0 || out[n].Exit != w.Exit {
			out = append(out, w)
			continue
		}
		out[n].Loads = append(out[n].Loads, w.Loads...)
		out[n].Before = append(out[n].Before, w.Before...)
		out[n].Sleeps = out[n].Sleeps && w.Sleeps
	}
	for i := range out {
		slices.SortFunc(out[i].Loads, func(a, b Load) int { return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Addr, b.Addr)) })
		out[i].Loads = slices.Compact(out[i].Loads)
	}
	return out
}

// jumpsBack reports whether a function contains a branch to itself or to a lower address within it.
func (x *finder) jumpsBack(fn elf.Range) bool {
	if fn.Hi-fn.Lo > maxFunction {
		return false
	}
	bytes, err := x.file.Bytes(fn.Lo, int(fn.Hi-fn.Lo))
	if err != nil {
		return false
	}
	for at := fn.Lo; len(bytes) > 0; {
		s, ok := insn.Skim(x.file.Arch(), bytes, at)
		if !ok || s.Len <= 0 {
			return false
		}
		if s.Kind.Branches() && s.Target <= at && s.Target >= fn.Lo {
			return true
		}
		bytes, at = bytes[s.Len:], at+uint64(s.Len)
	}
	return false
}

// routine is the code of one function.
type routine struct {
	*code.Graph
	fn      elf.Range
	bytes   []byte
	leaked  []span // of the frame: where addresses are computed
	pointer bool   // rbp is the frame pointer
	// hoisted are the slots that it loads into registers, as compilers do before a loop that calls through them.
	hoisted []uint64
	whole   *region
	nodes   []node // by block: where it is in the region that is solved now
}

// node is a block of a region, by its index there.
type node struct {
	region *region
	index  int
}

// routine decodes a function; nil if it cannot be decoded, or control may arrive anywhere in it.
func (x *finder) routine(fn elf.Range) (*routine, error) {
	bytes, err := x.file.Bytes(fn.Lo, int(fn.Hi-fn.Lo))
	if err != nil || uint64(len(bytes)) != fn.Hi-fn.Lo {
		return nil, nil // a section that is not loaded
	}
	undecoded := false
	insts := insn.DecodeRun(x.buffer(), x.file.Arch(), bytes, fn.Lo, func(uint64) { undecoded = true })
	if undecoded || len(insts) == 0 {
		x.buffers = append(x.buffers, insts)
		return nil, nil
	}
	if x.work -= len(insts); x.work <= 0 {
		return nil, nil
	}
	jumps := false
	for i := range insts {
		x.direct(&insts[i])
		jumps = jumps || insts[i].Kind == insn.IndirectJump
	}
	var at []uint64
	open := jumps
	if x.Arrivals != nil {
		at, open = x.Arrivals(fn)
	}
	r := &routine{Graph: code.NewGraph(insts, at, jumps && open), fn: fn, bytes: bytes}
	for i := range insts {
		r.pointer = r.pointer || setsPointer(insts, i)
		if slot, ok := x.loadsSlot(&insts[i]); ok {
			r.hoisted = append(r.hoisted, slot)
		}
	}
	for i := range insts {
		s := insts[i].Sum
		if s.Offset() && s.Dst != insn.RSP && !setsPointer(insts, i) && (s.Src == insn.RSP || s.Src == insn.RBP && r.pointer) {
			r.leaked = append(r.leaked, span{root: x.register(s.Src), off: s.Imm})
		}
	}
	return r, nil
}

// direct makes a direct call of a call through a slot that has the address of a function of the file.
func (x *finder) direct(in *insn.Inst) {
	if in.Kind != insn.IndirectCall || in.NMem != 1 || !in.Mem[0].Fixed {
		return
	}
	if target, ok := x.local[in.Mem[0].Addr]; ok {
		in.Kind, in.Target = insn.Call, target
	}
}

// loadsSlot returns the slot that an instruction loads into a register, with the address of a function.
func (x *finder) loadsSlot(in *insn.Inst) (slot uint64, ok bool) {
	if in.NMem != 1 || in.Kind.Calls() || in.ValueReg == insn.NoReg || !in.Mem[0].Fixed || in.Mem[0].Write {
		return 0, false
	}
	slot = in.Mem[0].Addr
	return slot, x.slots[slot] != "" || x.local[slot] != 0
}

// setsPointer reports whether an instruction makes rbp the frame pointer: it copies the stack pointer after a push of rbp.
func setsPointer(insts []insn.Inst, i int) bool {
	s := insts[i].Sum
	return i > 0 && s.Offset() && s.Dst == insn.RBP && s.Src == insn.RSP && s.Imm == 0 && insts[i-1].SPChange == -8 && insts[i-1].Reads.Has(insn.RBP)
}

// buffer returns memory for instructions.
func (x *finder) buffer() []insn.Inst {
	n := len(x.buffers) - 1
	if n < 0 {
		return nil
	}
	b := x.buffers[n]
	x.buffers = x.buffers[:n]
	return b[:0]
}

// done gives the memory of a function back, which is not used any more.
func (x *finder) done(r *routine) {
	x.buffers = append(x.buffers, r.Insts)
	if r.whole != nil {
		x.solvers = append(x.solvers, r.whole.solver)
	}
	r.Graph, r.whole = nil, nil
}

// code returns the bytes of an instruction.
func (r *routine) code(in *insn.Inst) []byte {
	return r.bytes[in.Addr-r.fn.Lo:][:in.Len]
}

// insts returns the instructions of some blocks.
func (r *routine) insts(blocks []int) iter.Seq[*insn.Inst] {
	return func(yield func(*insn.Inst) bool) {
		for _, n := range blocks {
			b := &r.Blocks[n]
			for i := b.Lo; i < b.Hi; i++ {
				if !yield(&r.Insts[i]) {
					return
				}
			}
		}
	}
}

// loopSize returns the number of instructions in a loop.
func loopSize(r *routine, l *code.Loop) (size int) {
	for _, b := range l.Blocks {
		size += r.Blocks[b].Hi - r.Blocks[b].Lo
	}
	return size
}

// loop returns the exits of a loop by which it waits.
func (x *finder) loop(r *routine, l *code.Loop) []Wait {
	size := loopSize(r, l)
	if size > maxLoop {
		return nil
	}
	x.work -= size / 4
	waits := x.followed(r, l)
	for _, w := range x.asked(r, l) {
		if !slices.ContainsFunc(waits, func(f Wait) bool { return f.Exit == w.Exit }) {
			waits = append(waits, w)
		}
	}
	return waits
}

// followed returns the exits of a loop that are decided, in a way that is followed, by what it loads or asks for.
func (x *finder) followed(r *routine, l *code.Loop) []Wait {
	if !x.mayEnd(r, l) {
		return nil
	}
	rough := x.region(r, l, 0, true)
	if len(rough.exits) == 0 || rough.failed || rough.busy && !x.mayIdle(r, l.Blocks) {
		return nil // as in most loops, at a fraction of the cost
	}
	waits := x.region(r, l, 0, false).waits()
	if len(waits) == 0 {
		return nil
	}
	if held := x.heldAt(r, l.Head); held > 0 {
		return x.region(r, l, held, false).waits()
	}
	return waits
}

// heldAt returns the number of locks that a thread is known to hold where a block begins.
func (x *finder) heldAt(r *routine, block int) int8 {
	x.work -= len(r.Insts)
	solver := code.Solver[int8]{Join: func(into, from *int8) bool {
		if *from >= *into {
			return false
		}
		*into = *from
		return true
	}}
	solver.Solve(r.Graph, func(int) (int8, bool) { return 0, true }, func(s *int8, in *insn.Inst) bool {
		if in.Kind.Calls() {
			*s = hold(*s, x.holds(in))
		}
		return true
	})
	if !solver.Reached(block) {
		return 0
	}
	return solver.Before[block]
}

// maxHeld bounds the number of locks that are counted.
const maxHeld = 8

func hold(held int8, change int) int8 { return int8(min(max(int(held)+change, 0), maxHeld)) }

// holds returns the change of the number of held locks by a call.
func (x *finder) holds(in *insn.Inst) int {
	name := x.imported(in)
	if in.Kind == insn.IndirectCall && name == "" {
		return 0
	}
	if x.Holds != nil {
		if n, ok := x.Holds(in.Target, name); ok {
			return n
		}
	}
	if name != "" {
		return 0
	}
	return int(x.effect(in.Target, 0).held)
}

// imported returns the name of the function of another file that an instruction calls or jumps to;
// "" if it is none.
func (x *finder) imported(in *insn.Inst) string {
	switch in.Kind {
	case insn.Call, insn.Jump, insn.CondJump:
		return x.plt[in.Target]
	case insn.IndirectCall, insn.IndirectJump:
		if in.NMem == 1 && in.Mem[0].Fixed {
			return x.slots[in.Mem[0].Addr]
		}
	}
	return ""
}
