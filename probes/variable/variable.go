// Package variable finds a variable by the name that a user writes, and the instructions that
// access it. A watched variable is a global variable, a static variable of a file or a function, a
// static member of a class, or a member or element of one of these. Its type must fit into a
// register. Only such variables have one address for the whole run.
//
// The input is open binaries and a name. The output is the variable's address and type, from the
// debug information or, where there is none, from the symbol table, and for each binary the
// accesses in its code. An access through a pointer is found if the pointer is made in the same
// function. Otherwise the package reports only that the address escapes, and where. The package
// knows no probe and no process. Addresses are those of the file as linked, before it is loaded.
package variable

import (
	"fmt"
	"strings"

	"github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/insn"
)

// Class is how the bytes of a variable are interpreted.
type Class uint8

// The classes.
const (
	Int     Class = iota // two's complement
	Uint                 // includes characters of the UTF types
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
	// Name is the qualified name as in the source: "hits", "ns::Queue::depth", "func::count",
	// "slots[3].state".
	Name string
	// Symbol is the linkage name by which other binaries refer to the variable; "" if they cannot.
	Symbol string
	File   *elf.File
	Addr   uint64 // as linked
	Size   int    // bytes: 1, 2, 4 or 8
	Type   string // as the source names it, "struct node *"; without debug information "uint32"
	Class  Class
	// Assumed reports that nothing says what the variable is: accesses, or its symbol, have this size.
	Assumed bool
	// Signed, for an enumeration, reports whether its constants may be negative.
	Signed bool
	// Char reports whether an integer holds a character.
	Char bool
	// Constants are the constants of an enumeration.
	Constants []Constant
	// Bits is the position of a bit field; Bits.Size is 0 for any other variable. For a bit field,
	// Addr and Size describe the smallest storage that holds it: 1, 2, 4 or 8 bytes, aligned where
	// that is possible.
	Bits Bits
	// Atomic reports whether accesses synchronise: the type is _Atomic, std::atomic or a similar
	// one.
	Atomic bool
	// AtomicByUse, with Atomic, reports that the type does not say so: atomic instructions change the
	// variable. It may be changed by others too.
	AtomicByUse bool
	Volatile    bool
	DeclFile    string // where it is declared; "" if unknown
	DeclLine    int    // 0 if unknown
	// Whole is the address range, as linked, of the variable that this one is a member or element
	// of; empty if it is a variable of its own. Symbol is then the name of the whole.
	Whole elf.Range
	// Reach are the addresses in Whole from which a pointer may lead to this variable: the first
	// address of each structure that contains it, and every address of each array that contains it.
	Reach []elf.Range
	// Array, if not nil, states that the Variable stands for all elements of an array, or for the
	// same member of all elements. Addr is that of the first one, and Name has [] for each
	// subscript.
	Array *Array
}

// Array is the layout of the elements of an array.
type Array struct {
	Stride uint64   // bytes from one element to the next
	Dims   []uint64 // the length of each dimension; none is 0
}

// Span returns the number of bytes from the start of the first element to the end of the last.
func (a *Array) Span() uint64 {
	n := a.Stride
	for _, d := range a.Dims {
		n *= d
	}
	return n
}

// length returns the number of elements.
func (a *Array) length() uint64 { return a.Span() / a.Stride }

// subscripts returns the subscripts of an element, counted from 0.
func (a *Array) subscripts(i uint64) []uint64 {
	out := make([]uint64, len(a.Dims))
	for d := len(a.Dims) - 1; d >= 0; d-- {
		out[d], i = i%a.Dims[d], i/a.Dims[d]
	}
	return out
}

// begins reports whether the variable, or an element of it, begins at addr.
func (v *Variable) begins(addr uint64) bool {
	if v.Array == nil {
		return addr == v.Addr
	}
	return addr-v.Addr < v.Array.Span() && (addr-v.Addr)%v.Array.Stride == 0
}

// enclosing returns the range of the enclosing variable, or of the variable itself if there is
// none.
func (v *Variable) enclosing() elf.Range {
	if v.Whole.Hi > v.Whole.Lo {
		return v.Whole
	}
	return elf.Range{Lo: v.Addr, Hi: v.Addr + uint64(v.Size)}
}

// reached reports whether a pointer with the value addr can lead to the variable.
func (v *Variable) reached(addr uint64) bool {
	for _, r := range v.Reach {
		if r.Contains(addr) {
			return true
		}
	}
	return addr-v.Addr < uint64(v.Size)
}

// Bits is the position of a bit field in a variable's storage, counted from the lowest bit.
type Bits struct{ Offset, Size int }

// Constant is a named value of an enumeration.
type Constant struct {
	Name  string
	Value int64
}

// Overlaps reports whether an access of size bytes at addr touches the variable or, for an array,
// an element of it. An unknown size (0) counts as one byte.
func (v Variable) Overlaps(addr uint64, size int) bool {
	n := uint64(max(size, 1))
	if v.Array != nil {
		first := v.Addr
		if addr > first { // the last element that begins at or before addr
			first += (addr - first) / v.Array.Stride * v.Array.Stride
		}
		if addr >= first+uint64(v.Size) {
			first += v.Array.Stride
		}
		return addr < first+uint64(v.Size) && first < addr+n && first-v.Addr < v.Array.Span()
	}
	return addr < v.Addr+uint64(v.Size) && v.Addr < addr+n
}

// Reason is the reason why a variable cannot be watched.
type Reason uint8

// The reasons.
const (
	NotFound    Reason = iota // no such variable; Candidates are similar names
	BadName                   // the name cannot be parsed
	Ambiguous                 // Candidates are distinct names, each with its source location
	Optimised                 // it has no fixed address in memory
	WrongType                 // not a scalar of at most 8 bytes
	ThreadLocal               // each thread has its own copy
	LocalOnly                 // a parameter or local variable
	NoDebugInfo               // no debug information, and the symbol's size does not determine the type
)

// Error reports why a variable cannot be watched, and what the user can do.
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
	return fmt.Sprintf("watch %s: %s", e.Name, e.Detail())
}

// Detail returns the error in one line, without the name.
func (e *Error) Detail() string {
	switch {
	case len(e.Candidates) == 0:
		return e.Message
	case e.Reason == Ambiguous:
		return e.Message + " " + strings.Join(e.Candidates, ", ")
	}
	return fmt.Sprintf("%s; did you mean %s?", e.Message, strings.Join(e.Candidates, ", "))
}

// Kind is the effect of an access on memory.
type Kind uint8

// The kinds of access.
const (
	Read   Kind = iota
	Write       // the old value is not used
	Update      // one instruction reads and writes
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

// ValueSource is where the value of an access can be read.
type ValueSource uint8

// The sources of a value.
const (
	// FromMemory: the value is in the variable itself, after the instruction for a write or update,
	// before it for a read.
	FromMemory ValueSource = iota
	// FromReg: the value is in Reg: after the instruction for a read, before and after it for a
	// write. Only the low Width bytes count.
	FromReg
	// FromImm: the value is the constant Imm. Only the low Width bytes count.
	FromImm
)

// Value describes where the value that is read or written can be found.
type Value struct {
	Source ValueSource
	Reg    insn.Reg // NoReg unless FromReg
	Imm    uint64
}

// Scales of an Index that counts bits. Eight bits are one byte, and the index may be negative.
const (
	BitString   = 255 // the index has 64 bits
	BitString32 = 254 // the index is the low 32 bits of the register
)

// Access is an instruction that accesses the variable.
type Access struct {
	Addr uint64 // of the instruction
	Len  int    // length in bytes
	Kind Kind
	// Atomic reports whether the access is indivisible for other processors.
	Atomic bool
	// Partial reports whether the access touches only some bytes of the variable.
	Partial bool
	// Width is the number of bytes read or written; 0 if unknown. Offset is the address of the
	// first of them minus the variable's address. It is negative if the access begins before the
	// variable.
	Width  int
	Offset int64
	Value  Value
	// Base is a register for which Base + Disp is the variable's address before the instruction;
	// NoReg if the instruction itself contains the address. Maybe reports that Base may hold
	// something else on some path to the instruction, so that the address must be compared at run
	// time.
	Base  insn.Reg
	Disp  int64
	Maybe bool
	// Inside reports that the instruction accesses some part of the enclosing object, which may be
	// the variable. The address Base + Index*Scale + Disp must be compared at run time. Base or
	// Index may be NoReg. Where Base is NoReg, Disp is an address as linked. Offset and Partial
	// then have no meaning. If Scale is BitString or BitString32, Index is the number of a bit,
	// counted from Base + Disp.
	Inside bool
	// Certain, with Inside, reports that the access is inside the object on every path to the
	// instruction.
	Certain bool
	Index   insn.Reg
	Scale   uint8 // 0: there is no Index
	// Stride, if not 0, reports that the operand at Base + Index*Scale + Disp is the variable,
	// wherever its object lies, if Index*Scale is a multiple of Stride bytes.
	Stride int64
	// If, for an Update, is the condition under which the instruction writes, as in
	// insn.Inst.WritesIf: one more than the condition code that the flags after the instruction
	// must meet; 0: it always writes. If they do not meet it, the instruction only reads, and RAX
	// holds the value. New is the register that holds the value to be written, or NoReg.
	If  uint8
	New insn.Reg
	// Repeats reports that the instruction accesses consecutive elements of Width bytes, one per
	// iteration, and RCX times: none if RCX is 0.
	Repeats bool
	// Callee, if not "", is the name of the function that the instruction calls, and it is that
	// function that accesses the memory: Width times the number in Count bytes, or Width bytes if
	// Count is NoReg.
	Callee string
	Count  insn.Reg
	Func   elf.Range // the function that contains it
}

// Result describes what a binary's code does with a variable. All slices are sorted by address.
type Result struct {
	Accesses []Access
	// AddressTaken are the addresses of instructions that make an address of the object which then
	// escapes. Later accesses may go through a pointer that is not followed.
	AddressTaken []uint64
	// Escapes are the escapes of the address. If Escapes, Unknown and Undecoded are all empty,
	// Accesses are all accesses that the file contains.
	Escapes []Escape
	// Slot is the address of a word of the file's global offset table that holds SlotHolds, an
	// address of the object or close to it, as linked in the object's own file; 0 if there is none.
	Slot, SlotHolds uint64
	// GOT are the addresses of instructions that load the variable's address from the global offset
	// table.
	GOT []uint64
	// Unknown are the addresses of instructions that mention the variable's address but whose
	// effect is not known.
	Unknown []uint64
	// Undecoded are the addresses at which the code of a function that mentions the variable could
	// not be decoded, and the beginnings of functions that are too large to follow. On x86-64, the
	// code of the function after such an address was not examined.
	Undecoded []uint64
}
