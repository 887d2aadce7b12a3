package variable

import (
	"debug/dwarf"
	"fmt"
	"strings"

	bin "github.com/tracepredict/tracepredict/probes/elf"
)

// Scalar is a type that can be watched.
type Scalar struct {
	Type     string // as the source names it
	Class    Class
	Size     int // bytes: 1, 2, 4 or 8
	Atomic   bool
	Volatile bool
	// Signed, Char and Constants determine how values are written; see Variable.
	Signed, Char bool
	Constants    []Constant
}

// ScalarAt returns the scalar type whose entry is at an offset of a file's debug information. If
// the type cannot be watched, the error describes it.
func ScalarAt(f *bin.File, off dwarf.Offset) (Scalar, error) {
	x, err := newIndex(f)
	if err != nil {
		return Scalar{}, err
	}
	t := x.typeOf(off, nil)
	if what, array := strings.CutSuffix(t.refusal, nameAnElement); array {
		return Scalar{}, fmt.Errorf("%s: an array in an object cannot be watched as a field of a type", what)
	}
	if t.refusal != "" {
		return Scalar{}, fmt.Errorf("%s", t.refusal)
	}
	if t.size != 1 && t.size != 2 && t.size != 4 && t.size != 8 {
		return Scalar{}, fmt.Errorf("type %s of %d bytes: only 1, 2, 4 or 8 bytes can be watched", t.text, t.size)
	}
	return Scalar{Type: t.text, Class: t.class, Size: int(t.size), Atomic: t.atomic, Volatile: t.volatile, Signed: t.signed, Char: t.char, Constants: t.constants}, nil
}
