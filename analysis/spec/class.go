package spec

import (
	"github.com/tracepredict/tracepredict/analysis/spec/ir"
	"github.com/tracepredict/tracepredict/observer/event"
)

// Class is the type of a value.
type Class uint8

// The types. Values are computed in 64 bits.
const (
	Unknown Class = iota // the debug information determines the type
	Int                  // integers with a sign
	Uint                 // integers without sign
	Bool
	Float
	Enum
	Ptr
)

var classNames = [...]string{"unknown", "int", "uint", "bool", "float", "enum", "ptr"}

// String returns the type's name in specifications.
func (c Class) String() string { return classNames[c] }

// signed reports whether values are computed with a sign.
func (c Class) signed() bool { return c != Uint && c != Ptr }

// whole returns the type in which expressions compute with values of the class as integers.
func (c Class) whole() ir.Type {
	if c.signed() {
		return ir.Int
	}
	return ir.Uint
}

// computed returns the type in which expressions compute with values of the class.
func (c Class) computed() ir.Type {
	switch c {
	case Bool:
		return ir.Bool
	case Float:
		return ir.Float
	}
	return c.whole()
}

// classOf returns the type of the values of a form.
func classOf(f *event.Form) Class {
	switch {
	case f == nil:
		return Unknown
	case len(f.Names) > 0:
		return Enum
	}
	switch f.Class {
	case event.FormSigned, event.FormChar:
		return Int
	case event.FormBool:
		return Bool
	case event.FormPointer:
		return Ptr
	case event.FormFloat:
		return Float
	}
	return Uint
}

// value describes how the bits of a variable are read as a value.
type value struct {
	class Class
	bits  uint8 // number of bits
	sign  bool  // the highest bit is a sign, and is extended to 64 bits
}

// valueOf returns how a variable's bits are read: by its form, or without one by its declared
// type, in 64 bits.
func valueOf(declared Class, f *event.Form) value {
	if f == nil {
		return value{class: declared, bits: 64, sign: declared.signed()}
	}
	v := value{class: classOf(f), bits: min(max(f.Bits, 1), 64), sign: f.Class == event.FormSigned || f.Class == event.FormChar}
	if v.class == Uint && v.bits < 64 {
		v.class = Int // Its values are preserved, as by C's integer promotion.
	}
	if v.class == Unknown {
		v.class = declared
	}
	return v
}

// form returns how the bits are read as a value of an expression.
func (v value) form() ir.Form {
	return ir.Form{Type: v.class.computed(), Bits: v.bits, Sign: v.sign}
}
