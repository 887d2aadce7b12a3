package event

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sort"
	"strconv"
)

// Form is the form in which reports write the values of a variable, after its type in the
// source. A nil Form writes them as unsigned numbers. A Form is not changed once it is in use.
type Form struct {
	Class FormClass
	Bits  uint8  // of a value, 1 to 64
	Names []Name // of an enumeration, by value; see SortNames
}

// FormClass is how the bits of a value are read.
type FormClass uint8

// The classes.
const (
	FormUnsigned FormClass = iota
	FormSigned             // two's complement
	FormBool
	FormPointer
	FormFloat // IEEE 754, of 16, 32 or 64 bits
	FormChar  // a character, signed
	FormUChar // a character, unsigned
)

// Name is the name of a value.
type Name struct {
	Value uint64 // of Form.Bits bits, zero-extended
	Text  string
}

// Bounds of the names of a form, which bound its size in a trace.
const (
	MaxFormNames = 1 << 12
	MaxFormText  = 1 << 16 // bytes of all names
)

// SortNames sorts names as Form requires. Of several names of one value it keeps the first,
// as in the source. Names beyond the bounds are left out.
func SortNames(names []Name) []Name {
	slices.SortStableFunc(names, func(a, b Name) int { return cmp.Compare(a.Value, b.Value) })
	names = slices.CompactFunc(names, func(a, b Name) bool { return a.Value == b.Value })
	names = names[:min(len(names), MaxFormNames)]
	left := MaxFormText
	for i := range names {
		if left -= len(names[i].Text); left < 0 {
			return names[:i]
		}
	}
	return names
}

// Text writes a value: an enumeration's as NAME (number), a character as 'c'
// (number), a pointer in hexadecimal.
func (f *Form) Text(v uint64) string {
	if f == nil {
		return strconv.FormatUint(v, 10)
	}
	bits := min(max(f.Bits, 1), 64)
	v &= ^uint64(0) >> (64 - bits)
	if i := sort.Search(len(f.Names), func(i int) bool { return f.Names[i].Value >= v }); i < len(f.Names) && f.Names[i].Value == v {
		return fmt.Sprintf("%s (%s)", f.Names[i].Text, f.number(v, bits))
	}
	switch f.Class {
	case FormBool:
		if v <= 1 {
			return strconv.FormatBool(v == 1)
		}
	case FormPointer:
		return fmt.Sprintf("0x%x", v)
	case FormFloat:
		return float(v, bits)
	case FormChar, FormUChar:
		if v >= ' ' && v <= '~' {
			return fmt.Sprintf("'%c' (%d)", rune(v), v)
		}
	}
	return f.number(v, bits)
}

// number writes a value as a decimal number, signed if its class is.
func (f *Form) number(v uint64, bits uint8) string {
	if f.Class == FormSigned || f.Class == FormChar {
		return strconv.FormatInt(int64(v<<(64-bits))>>(64-bits), 10)
	}
	return strconv.FormatUint(v, 10)
}

// float writes a floating-point number; one of unknown width as an unsigned number.
func float(v uint64, bits uint8) string {
	switch bits {
	case 16:
		return strconv.FormatFloat(half(uint16(v)), 'g', -1, 32)
	case 32:
		return strconv.FormatFloat(float64(math.Float32frombits(uint32(v))), 'g', -1, 32)
	case 64:
		return strconv.FormatFloat(math.Float64frombits(v), 'g', -1, 64)
	}
	return strconv.FormatUint(v, 10)
}

// half converts a number of IEEE 754's binary16.
func half(v uint16) float64 {
	sign, exponent, fraction := 1.0, int(v>>10&0x1f), float64(v&0x3ff)
	if v>>15 == 1 {
		sign = -1
	}
	switch exponent {
	case 0:
		return sign * math.Ldexp(fraction, -24)
	case 0x1f:
		if fraction != 0 {
			return math.NaN()
		}
		return math.Inf(int(sign))
	}
	return sign * math.Ldexp(1024+fraction, exponent-25)
}
