// Package pointer finds the instructions of a binary that access memory which other threads may
// reach: by an address in a register, or on the stack above a word whose address escapes from
// the function. What is provably private to the function's frame is left out. Accesses of thread-local memory by
// its offset from the thread pointer are apart, with what is known of addresses that code makes of it.
// Instructions that contain the address of the memory are left to package variable.
//
// The input is an open binary; the output is, for each such access, how its address is computed from
// registers. The privacy of a frame is decided by data flow within the function, under one
// assumption: an object whose address the function takes extends upwards from there. The package
// knows no probe, no variable and no process.
package pointer

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"runtime"
	"slices"
	"sync/atomic"

	"github.com/tracepredict/tracepredict/internal/safely"
	"github.com/tracepredict/tracepredict/probes/code"
	"github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/insn"
)

// Access is an access of memory at an address that an instruction computes: Base + Index*Scale +
// Disp, from the values of the registers before it.
type Access struct {
	Addr uint64 // of the instruction
	Len  int    // its length in bytes
	Func elf.Range
	// Operand is the memory that is accessed. Its Size is that of one element if Repeats is set.
	Operand insn.Mem
	// Locked reports that a read-modify-write is indivisible.
	Locked bool
	// Repeats reports that the instruction accesses ascending elements, as many as RCX says, or fewer if it
	// compares.
	Repeats bool
	// Stack reports that the memory is certainly on the function's own stack, whose address escapes.
	Stack bool
}

// Call is an instruction that calls a function which Options.Callee knows, or jumps to it at the end of a
// function.
type Call struct {
	Addr   uint64 // of the instruction
	Len    int    // its length in bytes
	Func   elf.Range
	Callee string
	// Tail reports that the function does not return to the caller. Cond, of a jump that tests the flags, is
	// one more than its condition code.
	Tail bool
	Cond uint8
}

// Pass is a direct call of a function by another, or a jump to it.
type Pass struct {
	From uint64 // where the function begins
	To   uint64
}

// Census is what the code of a file does with memory at addresses in registers.
type Census struct {
	Accesses []Access // by function, and there by address
	Calls    []Call   // likewise
	// Passes are where control goes from functions to others directly, each pair once, by function.
	Passes []Pass
	// Locking are the beginnings of the functions that pass control to what Options.Locks means.
	Locking map[uint64]bool
	Private int // accesses of the function's own frame that are left out
	// Local are the accesses of thread-local variables by their offset from the thread pointer. Taken are the
	// offsets of which code makes addresses; see TakesUnknown.
	Local []Access
	Taken []int64
	// Unknown are the instructions that may access memory and are not modelled: those to which control is
	// not seen to come, which may be data between functions, gathers, vector
	// instructions of recent processors, and string instructions with a repeat prefix in functions that
	// change their direction.
	Unknown []uint64
	// Undecoded are the functions of which nothing is known, since they cannot be decoded or are too
	// large.
	Undecoded []elf.Range
}

// File is the binary whose code is searched, as elf.File. Its methods may be called concurrently.
type File interface {
	Arch() insn.Arch
	// Bytes returns up to n bytes from an address on, fewer where the section ends.
	Bytes(addr uint64, n int) ([]byte, error)
	// Functions returns the extents of functions, and FunctionAt the one that contains an address.
	Functions() []elf.Range
	FunctionAt(addr uint64) (elf.Range, bool)
}

// Options describe what the caller knows of the code. Several goroutines call the functions.
type Options struct {
	// Arrivals reports where jump tables and exceptions land; see code.Arrivals.
	Arrivals code.Arrivals
	// Entries and Table report where control certainly may arrive, as the methods of code.Image of these names;
	// nil: nowhere but at the beginning of a function, and where the code itself leads from there.
	Entries func(elf.Range) []uint64
	Table   func(jump uint64) []uint64
	// Skip reports whether a function is left out: it belongs to a library.
	Skip func(elf.Range) bool
	// Callee returns the name of the function to which an instruction passes control, if calls of it are
	// looked for, else "". Nil: none are.
	Callee func(*insn.Inst) string
	// Locks reports whether an instruction passes control to a function that acquires a lock; nil: it is not
	// known.
	Locks func(*insn.Inst) bool
	// Progress is told how many groups of functions of how many have been searched; nil: nobody is.
	Progress func(done, all int)
}

const (
	maxFunction = 1 << 20 // bytes
	maxParts    = 8       // of a function, besides the first
	// A function may take so many steps of data flow, and one for each instruction times workEach.
	leastWork = 1 << 12
	workEach  = 64
)

// Survey finds the accesses of a file. It fails only for an architecture whose frames it does not
// know: all but x86-64.
func Survey(f File, opts Options) (*Census, error) {
	if f.Arch() != insn.AMD64 {
		return nil, fmt.Errorf("look for accesses through pointers: frames of %s are not known", f.Arch())
	}
	s := &surveyor{Options: opts, file: f, census: newCensus(), parts: map[uint64]bool{}, seen: map[place]bool{}}
	for _, some := range surveyAll(f, opts, f.Functions()) {
		s.add(some)
	}
	// What a part does is known from the function that it belongs to.
	s.census.Accesses = slices.DeleteFunc(s.census.Accesses, func(a Access) bool {
		return s.parts[a.Func.Lo] || s.repeated(place{a.Addr, a.Operand.Base, a.Operand.Disp})
	})
	s.census.Local = slices.DeleteFunc(s.census.Local, func(a Access) bool {
		return s.parts[a.Func.Lo] || s.repeated(place{a.Addr, a.Operand.Base, a.Operand.Disp})
	})
	s.seen = map[place]bool{}
	s.census.Calls = slices.DeleteFunc(s.census.Calls, func(c Call) bool { return s.parts[c.Func.Lo] || s.repeated(place{addr: c.Addr}) })
	return s.census, nil
}

func newCensus() *Census { return &Census{Locking: map[uint64]bool{}} }

// group is the number of functions that one goroutine surveys at a time.
const group = 256

// surveyAll surveys functions on all processors. Each result is that of some of them, in their order.
func surveyAll(f File, opts Options, functions []elf.Range) []*surveyor {
	groups := slices.Collect(slices.Chunk(functions, group))
	results := make([]*surveyor, len(groups))
	var next, done atomic.Int64
	var wg safely.Group
	for range min(runtime.GOMAXPROCS(0), len(groups)) {
		wg.Go(func() {
			memory := &surveyor{}
			for i := int(next.Add(1)) - 1; i < len(groups); i = int(next.Add(1)) - 1 {
				s := &surveyor{Options: opts, file: f, census: newCensus(), parts: map[uint64]bool{}, insts: memory.insts, frame: memory.frame}
				for _, fn := range groups[i] {
					if opts.Skip == nil || !opts.Skip(fn) {
						s.function(fn)
					}
				}
				memory.insts, memory.frame = s.insts, s.frame
				s.insts, s.frame = nil, frame{}
				results[i] = s
				if n := int(done.Add(1)); opts.Progress != nil {
					opts.Progress(n, len(groups))
				}
			}
		})
	}
	wg.Wait()
	return results
}

// add adds what was found in other functions.
func (s *surveyor) add(o *surveyor) {
	c := s.census
	c.Accesses, c.Calls = append(c.Accesses, o.census.Accesses...), append(c.Calls, o.census.Calls...)
	c.Unknown, c.Undecoded = append(c.Unknown, o.census.Unknown...), append(c.Undecoded, o.census.Undecoded...)
	c.Passes = append(c.Passes, o.census.Passes...)
	maps.Copy(c.Locking, o.census.Locking)
	c.Private += o.census.Private
	c.Local = append(c.Local, o.census.Local...)
	for _, offset := range o.census.Taken {
		s.takes(offset)
	}
	maps.Copy(s.parts, o.parts)
}

// repeated reports whether the operand was there before: several functions may jump to one piece of code.
func (s *surveyor) repeated(key place) bool {
	before := s.seen[key]
	s.seen[key] = true
	return before
}

// place is an operand of an instruction.
type place struct {
	addr uint64
	base insn.Reg // a string instruction has two operands without a displacement
	disp int64
}

// surveyor performs one survey.
type surveyor struct {
	Options
	file   File
	census *Census
	insts  []insn.Inst
	frame  frame
	// descends reports that the function may change the direction of string instructions.
	descends bool
	parts    map[uint64]bool // functions that are parts of others, by their beginning
	seen     map[place]bool  // see repeated
}

// function adds the accesses of a function, and of the parts that the compiler split off.
func (s *surveyor) function(fn elf.Range) {
	runs := []elf.Range{fn}
	for {
		if !s.decode(runs) {
			s.census.Undecoded = append(s.census.Undecoded, fn)
			return
		}
		s.frame.solve(s.graph(runs))
		more := s.leads(runs)
		if len(more) == 0 || len(runs) > maxParts {
			break
		}
		runs = append(runs, more...)
	}
	passes := len(s.census.Passes)
	s.taken()
	s.descends = s.any(func(in *insn.Inst) bool { return in.Descends })
	certain := s.certain(runs)
	s.frame.eachOf(certain, func(v *values, in *insn.Inst) { s.instruction(fn, v, in) })
	s.uncertain(certain)
	s.distinct(passes)
}

// certain returns the blocks of the function that certainly are code. Nothing that is looked for is
// taken from other blocks, since a probe in data would change them.
func (s *surveyor) certain(runs []elf.Range) map[int]bool {
	var entries []uint64
	if s.Entries == nil {
		entries = []uint64{runs[0].Lo}
	} else {
		for _, r := range runs {
			entries = append(entries, s.Entries(r)...)
		}
	}
	return s.frame.graph.Certain(entries, s.Table)
}

// uncertain adds the instructions of the other blocks that may access memory to those that are not
// modelled.
func (s *surveyor) uncertain(certain map[int]bool) {
	g := s.frame.graph
	for i, b := range g.Blocks {
		if certain[i] {
			continue
		}
		for k := b.Lo; k < b.Hi; k++ {
			if in := &g.Insts[k]; in.Kind == insn.Plain && in.NMem > 0 {
				s.census.Unknown = append(s.census.Unknown, in.Addr)
			}
		}
	}
}

// distinct sorts the passes from an index on, which are those of one function, and removes repeated ones.
func (s *surveyor) distinct(from int) {
	some := s.census.Passes[from:]
	slices.SortFunc(some, func(a, b Pass) int { return cmp.Compare(a.To, b.To) })
	s.census.Passes = s.census.Passes[:from+len(slices.Compact(some))]
}

// decode decodes the code of a function that consists of some runs of it.
func (s *surveyor) decode(runs []elf.Range) bool {
	s.insts = s.insts[:0]
	for _, r := range runs {
		size := r.Hi - r.Lo
		if size == 0 || size > maxFunction {
			return false
		}
		bytes, err := s.file.Bytes(r.Lo, int(size))
		if err != nil || uint64(len(bytes)) != size {
			return false
		}
		whole := true
		s.insts = insn.DecodeRun(s.insts, insn.AMD64, bytes, r.Lo, func(uint64) { whole = false })
		if !whole {
			return false
		}
	}
	return true
}

// any reports whether something holds of an instruction that was decoded.
func (s *surveyor) any(holds func(*insn.Inst) bool) bool {
	for i := range s.insts {
		if holds(&s.insts[i]) {
			return true
		}
	}
	return false
}

// graph returns the control flow of what was decoded.
func (s *surveyor) graph(runs []elf.Range) *code.Graph {
	indirect := s.any(func(in *insn.Inst) bool { return in.Kind == insn.IndirectJump })
	var at []uint64
	open := indirect
	if s.Arrivals != nil {
		open = false
		for _, r := range runs {
			more, any := s.Arrivals(r)
			at, open = append(at, more...), open || any && indirect
		}
	}
	return code.NewGraph(s.insts, at, open)
}

// leads returns the functions into which the decoded code jumps with its frame still in place: parts
// of the same function. One that it enters at its beginning is nothing else; a part may jump back into
// the middle of the function that it belongs to.
func (s *surveyor) leads(runs []elf.Range) (parts []elf.Range) {
	if !s.any(func(in *insn.Inst) bool { return in.Kind.Branches() && !runs[0].Contains(in.Target) }) {
		return nil // as in most functions
	}
	s.frame.each(func(v *values, in *insn.Inst) {
		has := func(r elf.Range) bool { return r.Contains(in.Target) }
		if !in.Kind.Branches() || runs[0].Contains(in.Target) {
			return
		}
		part, ok := s.file.FunctionAt(in.Target)
		if !ok || s.Skip != nil && s.Skip(part) || (v[insn.RSP] == value{exact, 0} && part.Lo == in.Target) {
			return
		}
		if part.Lo == in.Target {
			s.parts[part.Lo] = true
		}
		if !slices.ContainsFunc(runs, has) && !slices.ContainsFunc(parts, has) {
			parts = append(parts, part)
		}
	})
	return parts
}

// instruction adds the accesses of one instruction, before which the registers hold the values v.
func (s *surveyor) instruction(fn elf.Range, v *values, in *insn.Inst) {
	if in.Kind != insn.Plain {
		s.transfer(fn, in)
	}
	if !in.Known || in.Repeats > 0 && s.descends {
		if in.Kind == insn.Plain {
			s.census.Unknown = append(s.census.Unknown, in.Addr)
		}
		return
	}
	for i := range in.NMem {
		m := in.Mem[i]
		if m.Segment && (m.Disp < 0 || m.Base != insn.NoReg || m.Index != insn.NoReg) && (m.Read || m.Write) && in.Repeats == 0 {
			s.census.Local = append(s.census.Local, Access{Addr: in.Addr, Len: in.Len, Func: fn, Operand: m, Locked: in.Locked})
		}
		if m.Fixed || m.Segment || !m.Read && !m.Write {
			continue
		}
		size := m.Size
		if in.Repeats > 0 {
			size, m.Size = math.MaxInt32, in.Repeats
		}
		at, stack := v.address(&m)
		if stack && s.frame.private(at, size) {
			s.census.Private++
			continue
		}
		s.census.Accesses = append(s.census.Accesses, Access{
			Addr: in.Addr, Len: in.Len, Func: fn, Operand: m, Locked: in.Locked, Repeats: in.Repeats > 0, Stack: stack,
		})
	}
}

// transfer adds where an instruction passes control to.
func (s *surveyor) transfer(fn elf.Range, in *insn.Inst) {
	if s.Callee != nil {
		s.call(fn, in)
	}
	if s.Locks != nil && s.Locks(in) {
		s.census.Locking[fn.Lo] = true
	}
	if (in.Kind == insn.Call || in.Kind.Branches()) && !fn.Contains(in.Target) {
		s.census.Passes = append(s.census.Passes, Pass{fn.Lo, in.Target})
	}
}

// call adds a call of a function that is looked for.
func (s *surveyor) call(fn elf.Range, in *insn.Inst) {
	if in.Kind == insn.CondJump && in.Cond == 0 {
		return // it tests no flags
	}
	if name := s.Callee(in); name != "" {
		s.census.Calls = append(s.census.Calls, Call{Addr: in.Addr, Len: in.Len, Func: fn, Callee: name, Tail: !in.Kind.Calls(), Cond: in.Cond})
	}
}
