// Package ir is the typed code of expressions: conditions of events, propositions over the
// state, values of locals. analysis/spec makes it of the text of specifications.
//
// The input is an expression of typed operations (Expr), made by Const, Input and functions such
// as Add. Compile makes Code of it: instructions over a few registers, with jumps that only lead
// forward. Code has two back ends, which compute the same:
//
//   - Eval interprets it in Go, and allocates nothing.
//   - BPF emits it as eBPF instructions, to be made part of a program for the kernel. UserOnly
//     says which code has no such instructions, and why.
//
// All values have 64 bits. An integer is computed modulo 2⁶⁴, with a sign (Int) or without (Uint);
// inputs of fewer bits are extended when they are read. These cases are defined, and the same in
// both back ends:
//
//   - Division and remainder round towards zero. By zero they have no value, and neither has the
//     expression. The least Int divided by -1 is itself, with the remainder 0.
//   - A shift takes its count as a number without sign. A count of 64 or more shifts all bits out:
//     the result is 0, or -1 if a negative Int is shifted right.
//   - Comparisons of an Int with a Uint compare the numbers, unlike C's: -1 is less than any Uint.
//   - And, Or and Implies do not compute the second operand if the first decides the result.
//
// The time and the stack of an evaluation are bounded by the length of the code, which is at most
// MaxInstructions. The package knows no names, no text and no events.
package ir

// Type is the type of a value.
type Type uint8

// The types.
const (
	Invalid Type = iota // of an expression whose operands do not fit
	Bool                // 0 or 1
	Int                 // an integer of 64 bits with a sign, in two's complement
	Uint                // an integer of 64 bits without sign
	Float               // the bits of an IEEE 754 number of 64 bits
)

var typeNames = [...]string{"invalid", "bool", "int", "uint", "float"}

// String returns the name of the type.
func (t Type) String() string {
	if int(t) < len(typeNames) {
		return typeNames[t]
	}
	return typeNames[Invalid]
}

// whole reports whether values of the type are integers.
func (t Type) whole() bool { return t == Int || t == Uint }

// Form describes how the bits of an input are read as a value. Higher bits of the input are
// ignored.
type Form struct {
	Type Type
	Bits uint8 // 1 to 64; for Float only 32 means other than 64
	Sign bool  // for Int and Uint: the highest of the bits is extended; else zeros are
}

// shift returns the number of bits that the form ignores.
func (f Form) shift() uint64 { return 64 - min(max(uint64(f.Bits), 1), 64) }

// load returns the operation that reads the form, and how far it shifts.
func (f Form) load() (op, uint64) {
	switch shift := f.shift(); {
	case f.Type == Bool:
		return opLoadBool, shift
	case f.Type == Float && f.Bits == 32:
		return opLoadF, 0
	case f.Type == Float || shift == 0:
		return opLoad, 0
	case f.Sign:
		return opLoadI, shift
	default:
		return opLoadU, shift
	}
}

// Read returns the value that the bits of an input mean.
func (f Form) Read(bits uint64) uint64 {
	o, shift := f.load()
	return read(o, bits, shift)
}
