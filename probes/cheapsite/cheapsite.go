// Package cheapsite decides where exactly a probe sits. A uprobe costs one trap, and a second, more
// expensive one unless the kernel can emulate the instruction under it. So a probe that must fire
// at instruction A may as well sit at a later (for returns: an earlier) instruction B of the same
// straight line of code, if the kernel emulates B and nothing in between can be noticed: control
// that passes A passes B next, with the same registers, the same memory and the same position in
// the order of synchronisation.
//
// The input is code (code.Source: bytes, function extents, executable ranges) and a Want: an
// address, what the probe reads there, and which side of its operation it stands for. The output is
// a Site: its address, its cost class, and the reason in words. The package proves its conditions
// from the bytes alone. In doubt (an instruction that is not modelled, an indirect jump whose
// targets are not known, bytes that do not decode) the probe does not move: a site is always
// correct, and cheap if possible. The package never knows what the probe is for, which process runs
// the code, or what a call does.
package cheapsite

import (
	"github.com/tracepredict/tracepredict/probes/code"
	"github.com/tracepredict/tracepredict/probes/insn"
)

// Image is code in which probe sites are searched for; make it with NewImage. It is not safe for
// concurrent use.
type Image struct {
	*code.Image
	// Terse leaves Site.Why empty, except where the probe is Refused or does not find the flags. To put
	// reasons into words takes as long as to find the sites.
	Terse bool
	// Edges are addresses to which a probe may move, and which it may not pass: what is before one is to be recorded
	// before what is behind it.
	Edges    map[uint64]bool
	noReturn map[uint64]bool // results of neverReturns, by function entry
}

// NewImage returns an Image of the code of a file.
func NewImage(s code.Source) *Image {
	return &Image{Image: code.NewImage(s), noReturn: map[uint64]bool{}}
}

// Fork returns an Image of the same code for another goroutine: each has a budget of its own. The landings must
// have been computed.
func (im *Image) Fork() *Image {
	return &Image{Image: im.Image.Fork(), Terse: im.Terse, Edges: im.Edges, noReturn: map[uint64]bool{}}
}

// Class is the cost class of a probe's hits.
type Class uint8

// The classes.
const (
	// Stepped means that the kernel steps a copy of the instruction, which costs about 20 times as
	// much as Emulated.
	Stepped Class = iota
	Emulated
	// Refused means that the kernel accepts no probe at this address, or would harm the program with
	// one (insn.Inst.Refused, RedZone), and that there is no other address. Nothing may be attached:
	// a uprobe that is set before the file is mapped attaches without error and never fires.
	Refused
)

// String returns the word that `tracepredict sites` prints.
func (c Class) String() string {
	switch c {
	case Stepped:
		return "stepped"
	case Emulated:
		return "emulated"
	case Refused:
		return "refused"
	}
	return "unknown"
}

// Sense is the side of its operation, before or after it, for which a probe stands.
type Sense uint8

// The senses.
const (
	// Before means that the record must be made before the operation happens (a release, a signal):
	// the probe may pass no store except to its own stack.
	Before Sense = iota
	// Entry means that only operands are captured here, while the record is made elsewhere. The
	// probe may pass stores and atomic operations. Only stores through sp are checked: a store
	// through another pointer to the stack that the probe reads would be the program overwriting its
	// own arguments.
	Entry
	// After means that the record is that of an access made by the instruction at At. A probe that
	// stays fires just before the access, one that moved just after it.
	After
)

// Want describes what a probe must observe.
type Want struct {
	At    uint64
	Reads insn.RegSet // registers that the probe reads; they include sp if it reads the stack
	Mem   []insn.Mem  // memory that it reads when it fires, for example a variable after a store to it
	Sense Sense
	// Flags, for Sense After, means that the probe reads the flags that the instruction at At sets,
	// so that it must sit after that instruction and before any other that sets them.
	Flags bool
	// Return means that the probe is the entry of a uretprobe: sp must be that of the function's
	// entry, with the return address on top of the stack.
	Return bool
	// Stop reports whether the probe may neither pass nor move to an address; nil: there is no such
	// address.
	Stop func(addr uint64) bool
	// Pass reports whether the probe may pass a store that is not to the stack, because that store
	// is observed itself and the two are recorded in program order; nil: it may pass none. Pass is
	// not called if Mem is read.
	Pass func(addr uint64) bool
}

// Site is where a probe sits.
type Site struct {
	Addr  uint64
	Class Class
	Moved bool // Addr is not At
	// Before, for Sense After with Mem or Flags, means that no instruction after the access is a
	// possible site, so that the probe fires before the access and does not find the new value.
	Before bool
	// Loops, for senses other than After, means that a jump of the function leads back to At, so
	// that one call may pass the probe more than once, as in spin locks. A uretprobe there would
	// fire as often: probe the returns instead.
	Loops bool
	// SPDelta is sp at At minus sp at Addr, in bytes: sp at At is sp at the site plus SPDelta. For
	// PlaceReturn, At is the ret.
	SPDelta int64
	// Why is one line for people: the site, as "jne +0xe", or the reason why the probe stays.
	Why string
}

// TailJump is a jump from the end of one function to the beginning of another.
type TailJump struct {
	At, Target uint64
	When       When // the side of the jump on which it is made
}

// Exits lists the instructions by which control leaves a function.
type Exits struct {
	Returns []uint64 // every reachable ret, sorted
	// TailJumps are jumps out of the code that can be followed: indirect jumps that are no switch,
	// and direct jumps to a PLT stub, which is such an indirect jump.
	TailJumps []uint64
	// Jumps are the direct jumps, conditional or not, to the entry of another function, whose
	// returns are among Returns. They are sorted.
	Jumps []TailJump
	// Complete is false if an indirect jump could not be resolved or code could not be decoded;
	// Reason then says where, and Returns has every ret of all extents that were visited.
	Complete bool
	Reason   string
}
