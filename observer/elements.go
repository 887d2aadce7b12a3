package observer

import (
	"strconv"
	"strings"
)

// Elements describes an array of variables: its elements, or the same member of each
// element.
type Elements struct {
	Addr          uint64   // address of the first element, in the first process
	Stride        uint64   // bytes from one element to the next
	Dims          []uint64 // lengths of the array's dimensions, outermost first
	Before, After string   // the parts of the name before and behind the subscripts
}

// has reports whether an element begins at offset from, in bytes behind the first element.
func (e *Elements) has(from uint64) bool {
	if from%e.Stride != 0 {
		return false
	}
	n := from / e.Stride
	for i := len(e.Dims) - 1; i >= 0; i-- {
		n /= e.Dims[i]
	}
	return n == 0
}

// name returns the name, as in the source, of the element at offset from, in bytes behind
// the first element.
func (e *Elements) name(from uint64) string {
	n := from / e.Stride
	subscripts := make([]string, len(e.Dims))
	for i := len(e.Dims) - 1; i >= 0; i-- {
		subscripts[i] = "[" + strconv.FormatUint(n%e.Dims[i], 10) + "]"
		n /= e.Dims[i]
	}
	return e.Before + strings.Join(subscripts, "") + e.After
}
