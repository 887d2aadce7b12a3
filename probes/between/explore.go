package between

import (
	"slices"

	"github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/insn"
)

// context is a call that is under way: a frame of the call stack.
type context struct {
	outer *context // nil: the outermost frame
	// image is the file that the frame's code is in.
	image *image
	bias  uint64 // its load bias
	ret   uint64 // where the frame returns to, in the process; 0 for the outermost
	depth int    // the number of the frame
	sp    value  // the stack pointer of the outer frame at the call
	sum   *summary
	inner map[uint64]*context // by return address and function
}

// place is an instruction in a context.
type place struct {
	*context
	pc uint64 // as linked
}

// explorer visits all instructions that paths from some places reach, with what is known there.
type explorer struct {
	before map[place]*state
	queue  []place
	queued map[place]bool
	seen   map[uint64]bool // the addresses of visited instructions
	left   int             // instructions that may still be visited
	// control handles an instruction that is not Straight. It calls flow for the places at which
	// control may go on, and returns false to end.
	control func(p place, s *state, in *insn.Inst) bool
	// refuses, if not nil, is called before each instruction that is Straight. It returns true if the
	// exploration ends there.
	refuses func(p place, s *state, in *insn.Inst, code []byte) bool
	// ends, if not nil, is called before each instruction that is Straight. It returns true if the path
	// ends there.
	ends func(p place, s *state, in *insn.Inst) bool
	// trouble records why the exploration ended.
	trouble func(p place, why Kind)
	memory  func(p place) memory
}

func newExplorer(left int) *explorer {
	return &explorer{before: map[place]*state{}, queued: map[place]bool{}, seen: map[uint64]bool{}, left: left}
}

// restart forgets what was explored, but for what that may still cost.
func (e *explorer) restart() {
	e.before, e.queue, e.queued = map[place]*state{}, nil, map[place]bool{}
}

// flow joins a state to the one at a place, which is visited again if that changes it.
func (e *explorer) flow(to place, s *state) {
	old := e.before[to]
	if old == nil {
		c := *s
		e.before[to] = &c
	} else if !old.join(s) {
		return
	}
	if !e.queued[to] {
		e.queued[to] = true
		e.queue = append(e.queue, to)
	}
}

// run visits until no state changes. It reports whether it came to an end.
func (e *explorer) run() bool {
	for len(e.queue) > 0 {
		p := e.queue[len(e.queue)-1]
		e.queue = e.queue[:len(e.queue)-1]
		e.queued[p] = false
		s := *e.before[p]
		if !e.line(p, &s) {
			return false
		}
	}
	return true
}

// line visits the instructions from a place to the next one that is not Straight, or that has a
// state of its own.
func (e *explorer) line(p place, s *state) bool {
	for first := true; ; first = false {
		if !first && e.before[p] != nil {
			e.flow(p, s)
			return true
		}
		if e.left--; e.left < 0 {
			e.trouble(p, TooMuch)
			return false
		}
		e.seen[p.pc] = true
		in, bytes := p.image.at(p.pc)
		if in == nil {
			e.trouble(p, NotUnderstood)
			return false
		}
		if !in.Kind.Straight() {
			return e.control(p, s, in)
		}
		if e.ends != nil && e.ends(p, s, in) {
			return true
		}
		if !in.Known && in.Kind != insn.Nop {
			e.trouble(p, NotUnderstood)
			return false
		}
		if e.refuses != nil && e.refuses(p, s, in, bytes) {
			return false
		}
		if !s.apply(in, bytes, e.memory(p)) {
			return false
		}
		if p.pc = in.End(); !p.image.sameFunction(in.Addr, p.pc) {
			return true // behind a call that does not return
		}
	}
}

// image is the code of a file.
type image struct {
	*elf.File
	insts    map[uint64]*decoded
	pieces   map[uint64][]byte // of the code, by where they begin
	plt, got map[uint64]string
	writable []elf.Range
	sums     map[summaryKey]*summary
	slots    map[uint64]uint64 // slotTarget, by slot; nil before its first use
	pointers map[uint64]uint64 // RelativePointers; nil before its first use
	alone    []elf.Symbol      // those of singleThreaded
}

type decoded struct {
	in    insn.Inst
	bytes []byte
	ok    bool
}

func newImage(f *elf.File) *image {
	return &image{File: f, insts: map[uint64]*decoded{}, pieces: map[uint64][]byte{}, plt: f.PLTTargets(), got: f.GOTSlots(), writable: f.Writable(), sums: map[summaryKey]*summary{}, alone: f.Lookup("__libc_single_threaded")}
}

// at returns the instruction at an address; nil if there is none.
func (im *image) at(pc uint64) (*insn.Inst, []byte) {
	d := im.insts[pc]
	if d == nil {
		d = &decoded{}
		im.insts[pc] = d
		if code, err := im.code(pc); err == nil {
			if in, err := insn.Decode(im.Arch(), code, pc); err == nil && in.Len > 0 {
				d.in, d.bytes, d.ok = in, code[:in.Len], true
			}
		}
	}
	if !d.ok {
		return nil, nil
	}
	return &d.in, d.bytes
}

// pieceSize is how much of the code is read at a time, in bytes.
const pieceSize = 4096

// code returns the bytes of the instruction at an address, and some of what follows.
func (im *image) code(pc uint64) ([]byte, error) {
	n, begin := im.Arch().MaxLen(), pc&^(pieceSize-1)
	piece, known := im.pieces[begin]
	if !known {
		piece, _ = im.Bytes(begin, pieceSize+n)
		im.pieces[begin] = piece
	}
	if at := pc - begin; at < uint64(len(piece)) {
		return piece[at:min(at+uint64(n), uint64(len(piece)))], nil
	}
	return im.Bytes(pc, n) // the segment begins behind the piece
}

// sameFunction reports whether two addresses are in one extent.
func (im *image) sameFunction(a, b uint64) bool {
	fn, ok := im.FunctionAt(a)
	return ok && fn.Contains(b)
}

// imported returns the name of the function of another file that an instruction calls or jumps to;
// "" if it is none.
func (im *image) imported(in *insn.Inst) string {
	switch in.Kind {
	case insn.Call, insn.Jump, insn.CondJump:
		return im.plt[in.Target]
	case insn.IndirectCall, insn.IndirectJump:
		if in.NMem == 1 && in.Mem[0].Fixed {
			return im.got[in.Mem[0].Addr]
		}
	}
	return ""
}

// slotTarget returns the address of the function of the file that an instruction calls through a slot of the
// global offset table; 0 if it does not.
func (im *image) slotTarget(in *insn.Inst) uint64 {
	if in.Kind != insn.IndirectCall || in.NMem != 1 || !in.Mem[0].Fixed {
		return 0
	}
	if im.slots == nil {
		im.slots = im.CodeSlots()
	}
	return im.slots[in.Mem[0].Addr]
}

// stopsBehind reports whether what follows a call stops the program, so that the call does not return.
func (im *image) stopsBehind(in *insn.Inst) bool {
	next, _ := im.at(in.End())
	if next != nil && next.Kind == insn.Jump { // to the end of several paths
		next, _ = im.at(next.Target)
	}
	return next != nil && next.Kind == insn.Stop
}

// constant reports whether no code writes size bytes at an address after the program has begun: they
// are in no writable segment, or in a slot of the global offset table.
func (im *image) constant(addr uint64, size int) bool {
	if _, ok := im.got[addr]; ok && size <= wordSize || im.singleThreaded(addr) {
		return true
	}
	for _, w := range im.writable {
		if addr < w.Hi && addr+uint64(max(size, 1)) > w.Lo {
			return false
		}
	}
	_, err := im.Bytes(addr, 1)
	return err == nil
}

// singleThreaded reports whether an address is that of glibc's variable which says whether the process has one thread.
// It is set before the first thread is created, and so has the same value in each schedule.
func (im *image) singleThreaded(addr uint64) bool {
	return slices.ContainsFunc(im.alone, func(s elf.Symbol) bool { return s.Addr == addr })
}

// endsPath reports whether an instruction calls or jumps to a function of a statically linked C or
// C++ library that never returns to its caller. In other files the names may be the program's own.
func (im *image) endsPath(in *insn.Inst) bool {
	fn, ok := im.FunctionAt(in.Target)
	if !ok || fn.Lo != in.Target {
		return false
	}
	name := im.FunctionName(in.Target)
	return im.Static() && endsPath(name) || name == "__clang_call_terminate"
}
