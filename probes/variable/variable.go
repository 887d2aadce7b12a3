// Package variable finds a variable by the name that a user gives it, and the
// instructions that access it. A watched variable is a global, a file's or a
// function's static, or a static member of a class, or a member or element of
// one of these, of a type that fits a register: only those have one address for
// the whole run.
//
// In go open binaries and a name; out come the variable's address and type,
// from the debug information or, without any, from the symbol table, and for
// each binary the accesses in its code. An access through a pointer is seen
// where the pointer is made in the same function; else what is known is that the
// address escapes, and where. The package
// knows no probe and no process; addresses are those of the file, before it
// is loaded anywhere.
package variable

import (
	"fmt"
	"strings"

	"github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/insn"
)

// Class says how the bytes of a variable are to be read.
type Class uint8

// The classes.
const (
	Int     Class = iota // two's complement
	Uint                 // also characters of UTF types
	Bool                 // 0 or 1
	Enum                 // an enumeration, stored as an integer
	Pointer              // an address
	Float                // IEEE 754, of 2, 4 or 8 bytes
)

var classNames = [...]string{"int", "uint", "bool", "enum", "pointer", "float"}

// String returns the class's name.
func (c Class) String() string {
	if int(c) < len(classNames) {
		return classNames[c]
	}
	return "unknown"
}

// Variable is a variable that can be watched.
type Variable struct {
	Name   string // qualified, as in the source: "hits", "ns::Queue::depth", "func::count", "slots[3].state"
	Symbol string // linkage name by which other binaries refer to it; "" if they cannot
	File   *elf.File
	Addr   uint64 // as linked
	Size   int    // bytes: 1, 2, 4 or 8
	Type   string // as the source names it, "struct node *"; without debug information "uint32"
	Class  Class
	// Signed, of an enumeration: its constants may be negative.
	Signed bool
	// Char: an integer that stands for a character.
	Char bool
	// Constants are those of an enumeration.
	Constants []Constant
	// Bits is where a bit field lies; of no bits if it is none. Addr and Size
	// are then those of the least storage that holds it: 1, 2, 4 or 8 bytes,
	// aligned where that is possible.
	Bits Bits
	// Atomic: _Atomic, std::atomic and its kin: accesses synchronise.
	Atomic   bool
	Volatile bool
	DeclFile string // where it is declared; "" if unknown
	DeclLine int    // 0 if unknown
	// Whole is the variable that it is a member or element of, as linked; empty
	// if it is one by itself. Symbol is the name of the whole.
	Whole elf.Range
	// Reach are the addresses in Whole that lead to it when they are taken:
	// the first of each structure that it is in, any of each array.
	Reach []elf.Range
	// Array, if not nil: it is each of the elements of an array, or the same member
	// of each; Addr is that of the first. Name has [] for the subscripts.
	Array *Array
}

// Array says where the elements of an array are.
type Array struct {
	Stride uint64   // bytes from one element to the next
	Dims   []uint64 // the lengths of its dimensions, none of them 0
}

// Span is the number of bytes from the first element's beginning to the end of the last.
func (a *Array) Span() uint64 {
	n := a.Stride
	for _, d := range a.Dims {
		n *= d
	}
	return n
}

// begins reports whether the variable, or an element of it, begins at an address.
func (v *Variable) begins(addr uint64) bool {
	if v.Array == nil {
		return addr == v.Addr
	}
	return addr-v.Addr < v.Array.Span() && (addr-v.Addr)%v.Array.Stride == 0
}

// around returns the whole that the variable is in, or is.
func (v *Variable) around() elf.Range {
	if v.Whole.Hi > v.Whole.Lo {
		return v.Whole
	}
	return elf.Range{Lo: v.Addr, Hi: v.Addr + uint64(v.Size)}
}

// reached reports whether a pointer that holds addr can lead to the variable.
func (v *Variable) reached(addr uint64) bool {
	for _, r := range v.Reach {
		if r.Contains(addr) {
			return true
		}
	}
	return addr-v.Addr < uint64(v.Size)
}

// Bits are some bits of a variable's storage, counted from the lowest.
type Bits struct{ Offset, Size int }

// Constant is a name of a value.
type Constant struct {
	Name  string
	Value int64
}

// Overlaps reports whether an access of size bytes at addr touches the
// variable, of an array an element of it; an unknown size (0) counts as one byte.
func (v Variable) Overlaps(addr uint64, size int) bool {
	n := uint64(max(size, 1))
	if v.Array != nil {
		first := v.Addr
		if addr > first { // the element that begins at addr or before
			first += (addr - first) / v.Array.Stride * v.Array.Stride
		}
		if addr >= first+uint64(v.Size) {
			first += v.Array.Stride
		}
		return addr < first+uint64(v.Size) && first < addr+n && first-v.Addr < v.Array.Span()
	}
	return addr < v.Addr+uint64(v.Size) && v.Addr < addr+n
}

// Reason is why a variable cannot be watched.
type Reason uint8

// The reasons.
const (
	NotFound    Reason = iota // no such variable; Candidates are near names
	BadName                   // the name cannot be parsed
	Ambiguous                 // Candidates are the names that tell them apart, each with its place
	Optimised                 // it has no place in memory of its own
	WrongType                 // not a scalar of at most 8 bytes
	ThreadLocal               // each thread has its own
	LocalOnly                 // a parameter or local variable
	NoDebugInfo               // the symbol's size does not say what it is
)

// Error says why a variable cannot be watched, and what to do.
type Error struct {
	Name       string
	Reason     Reason
	Candidates []string // other names that can be given to --watch
	Message    string
}

// Error implements error.
func (e *Error) Error() string {
	if e.Reason == Ambiguous && len(e.Candidates) > 0 {
		return fmt.Sprintf("watch %s: %s\n    %s", e.Name, e.Message, strings.Join(e.Candidates, "\n    "))
	}
	return fmt.Sprintf("watch %s: %s", e.Name, e.Reasons())
}

// Reasons is the error in one line, without the name.
func (e *Error) Reasons() string {
	switch {
	case len(e.Candidates) == 0:
		return e.Message
	case e.Reason == Ambiguous:
		return e.Message + " " + strings.Join(e.Candidates, ", ")
	}
	return fmt.Sprintf("%s; did you mean %s?", e.Message, strings.Join(e.Candidates, ", "))
}

// Kind is what an access does.
type Kind uint8

// The kinds of access.
const (
	Read   Kind = iota
	Write       // of which the old value is not looked at
	Update      // read and write by one instruction
)

// String returns the kind's name.
func (k Kind) String() string {
	switch k {
	case Read:
		return "read"
	case Write:
		return "write"
	}
	return "update"
}

// From is where the value of an access can be had.
type From uint8

// The places of a value.
const (
	// FromMemory: for a write or update, the variable after the
	// instruction; for a read, the variable before it.
	FromMemory From = iota
	// FromReg: a read has it in Reg after the instruction, a write before
	// and after. Only the low Width bytes count.
	FromReg
	// FromImm: the constant Imm. Only the low Width bytes count.
	FromImm
)

// Value is where the value read or written can be had.
type Value struct {
	From From
	Reg  insn.Reg // NoReg unless FromReg
	Imm  uint64
}

// Scales of an Index that numbers bits: eight are a byte, and it may be negative.
const (
	BitString   = 255 // in 64 bits
	BitString32 = 254 // in its low 32 bits
)

// Access is an instruction that accesses the variable.
type Access struct {
	Addr uint64 // of the instruction
	Len  int    // bytes of it
	Kind Kind
	// Atomic: indivisible with respect to other processors' accesses.
	Atomic bool
	// Partial: only some bytes of the variable are touched.
	Partial bool
	// Width is the number of bytes read or written, Offset the first of
	// them minus the variable's address: negative if the access begins
	// before it. Width is 0 if unknown.
	Width  int
	Offset int64
	Value  Value
	// Base is the register that has, before the instruction, an address
	// that Disp bytes must be added to for the variable's own; NoReg where
	// the instruction itself names the address. Maybe: on some path to the
	// instruction Base may hold something else, so the address must be
	// compared at run time.
	Base  insn.Reg
	Disp  int64
	Maybe bool
	// Inside: the instruction accesses some part of the enclosing object, which
	// the variable may be: what lies at Base + Index*Scale + Disp must be
	// compared at run time. Base or Index may be NoReg; where Base is, Disp
	// is an address as linked. Offset and Partial then say nothing.
	// Where Scale is BitString, Index numbers a bit from there on.
	Inside bool
	// Sure, of Inside: it does so on every path to the instruction.
	Sure  bool
	Index insn.Reg
	Scale uint8 // 0: there is no Index
	// Stride, if not 0: Base + Index*Scale + Disp is the variable, wherever that is,
	// if Index*Scale is a multiple of so many bytes.
	Stride int64
	// If, of an Update: it writes only if the flags behind it meet the condition
	// that this is one more than the code of (insn.Inst.WritesIf), and else reads,
	// RAX having the value. New is the register with what it writes, or NoReg.
	If  uint8
	New insn.Reg
	// Repeats: it goes over elements of Width bytes, one each time that it is
	// executed anew, as often as RCX says: not once if that is 0.
	Repeats bool
	// Callee, if not "": the instruction calls a function of this name, which
	// accesses Width times as many bytes as Count holds, or Width if Count is
	// NoReg.
	Callee string
	Count  insn.Reg
	Func   elf.Range // the function that contains it
}

// Result is what a binary's code does with a variable. All slices are sorted
// by address.
type Result struct {
	Accesses []Access
	// AddressTaken are instructions that make an address of the object which
	// then escapes: after them accesses may go through a pointer that is not
	// followed.
	AddressTaken []uint64
	// Escapes are where it does. If there are none, and none of Unknown and
	// Undecoded, Accesses are all that the file has.
	Escapes []Escape
	// Slot is a word of the file's global offset table that holds SlotHolds, an
	// address of the object or a little beside it, as linked in its own file;
	// 0 if there is none.
	Slot, SlotHolds uint64
	// GOT are the loads of the variable's address from the global offset table.
	GOT []uint64
	// Unknown are instructions that mention the variable's address but
	// whose effect is not known.
	Unknown []uint64
	// Undecoded are the addresses at which the code of a function that
	// mentions the variable could not be decoded; the rest of that function
	// was not looked at.
	Undecoded []uint64
}
