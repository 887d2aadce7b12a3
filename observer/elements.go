package observer

import (
	"strconv"
	"strings"
)

// Elements describes an array of variables: its elements, or the same member of each
// element.
type Elements struct {
	Addr          uint64   // of the first, in the first process
	Stride        uint64   // bytes from one to the next
	Dims          []uint64 // the lengths of the array's dimensions
	Before, After string   // the name, around the subscripts
}

// has reports whether an element begins from bytes behind the first.
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

// name returns the name of the element from bytes behind the first, as in the source.
func (e *Elements) name(from uint64) string {
	n := from / e.Stride
	subscripts := make([]string, len(e.Dims))
	for i := len(e.Dims) - 1; i >= 0; i-- {
		subscripts[i] = "[" + strconv.FormatUint(n%e.Dims[i], 10) + "]"
		n /= e.Dims[i]
	}
	return e.Before + strings.Join(subscripts, "") + e.After
}
