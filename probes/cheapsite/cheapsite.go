// Package cheapsite decides where exactly a probe sits. A uprobe costs one
// trap, and a second, dearer one unless the kernel can emulate the instruction
// under it; so a probe that must fire at instruction A may as well sit at a
// later (for returns: an earlier) instruction B of the same straight line,
// if B is one that the kernel emulates and nothing in between can be noticed:
// control that passes A passes B next, with the same registers, the same memory
// and the same position in the order of synchronisation.
//
// The input is code (code.Source: bytes, function extents, executable ranges) and a Want:
// an address, what the probe reads there and which side of its operation it
// stands for. The output is a Site: its address, its cost class, and the reason in
// words. The package proves its conditions from the bytes alone. In doubt (an
// instruction that is not modelled, an indirect jump whose targets are not
// known, bytes that do not decode) the probe does not move: a site is always
// correct, and cheap if possible. The package never knows what the probe is for,
// which process runs the code, or what a call does.
package cheapsite

import (
	"github.com/tracepredict/tracepredict/probes/code"
	"github.com/tracepredict/tracepredict/probes/insn"
)

// Image is code in which sites are sought; make it with NewImage. It is not safe for
// concurrent use.
type Image struct {
	*code.Image
	noReturn map[uint64]bool // functions: whether they surely do not return
}

// NewImage returns an Image of the code of a file.
func NewImage(s code.Source) *Image {
	return &Image{Image: code.NewImage(s), noReturn: map[uint64]bool{}}
}

// Class is what a hit costs.
type Class uint8

// The classes.
const (
	// Stepped: the kernel steps a copy of the instruction, about 20 times
	// as dear as Emulated.
	Stepped Class = iota
	Emulated
	// Refused: at this address the kernel takes no probe, or would harm the
	// program with one (insn.Inst.Refused, RedZone), and there is no other
	// address. Nothing may be attached: a uprobe that is set before the file
	// is mapped attaches without error and never fires.
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

// Sense is which side of its operation a probe stands for.
type Sense uint8

// The senses.
const (
	// Before: the record must be made before the operation happens (a
	// release, a signal): the probe may pass no store but to its own stack.
	Before Sense = iota
	// Entry: only operands are captured here; the record is made elsewhere.
	// The probe may pass stores and indivisible operations. (A store through
	// a pointer to the stack that the probe reads would be the program's own
	// overwriting of its arguments; only those through sp are looked at.)
	Entry
	// After: the record of an access made by the instruction at At. A probe
	// that stays fires just before the access, one that moved just after.
	After
)

// Want is what a probe must see.
type Want struct {
	At    uint64
	Reads insn.RegSet // registers that the probe reads; sp included when it reads the stack
	Mem   []insn.Mem  // memory that it reads when it fires, e.g. a variable after a store to it
	Sense Sense
	// Flags, for Sense After: the probe reads the flags that the instruction at At
	// sets, so that it must sit behind it, before any other sets them.
	Flags bool
	// Return: a uretprobe's entry: sp must be that of the function's entry,
	// with the return address on top.
	Return bool
	// Stop reports whether the probe may neither pass nor move to an address; nil:
	// there is no such address.
	Stop func(addr uint64) bool
	// Pass reports whether the probe may pass a store that is not to the stack,
	// because that is observed itself and the two are recorded in program order;
	// nil: it may pass none. Pass is not asked where Mem is read.
	Pass func(addr uint64) bool
}

// Site is where a probe sits.
type Site struct {
	Addr  uint64
	Class Class
	Moved bool // Addr is not At
	// Before, for Sense After with Mem or Flags: no instruction after the access
	// serves, so the probe fires before it and finds no new value.
	Before bool
	// Loops, for senses other than After: a jump of the function leads back
	// to At, so that one call may pass the probe more than once (spin locks
	// do that). A uretprobe there would return as often: probe the returns.
	Loops bool
	// SPDelta is sp at At minus sp at Addr in bytes: added to sp at the
	// site, it is sp at At (for PlaceReturn: at the ret).
	SPDelta int64
	// Why is one line for people: "jne +0xe", or why the probe stays.
	Why string
}

// TailJump is a jump from the end of one function to the beginning of another.
type TailJump struct {
	At, Target uint64
	When       When // it is made
}

// Exits is how control leaves a function.
type Exits struct {
	Returns []uint64 // every ret reachable, sorted
	// TailJumps are jumps out of the code that can be followed: indirect
	// ones that are no switch, and direct ones to a stub that is one (the PLT).
	TailJumps []uint64
	// Jumps are the direct jumps, with or without a condition, to where another
	// function begins; its returns are among Returns. Sorted.
	Jumps []TailJump
	// Complete is false if an indirect jump could not be resolved or code
	// could not be decoded; Reason has where. Returns then has every ret of
	// all extents touched.
	Complete bool
	Reason   string
}
