package elf

import (
	"runtime"

	"github.com/tracepredict/tracepredict/internal/safely"
)

// minPart is the least number of things (functions, pieces of a file) that are worth a goroutine of their own.
const minPart = 4

// part is the result of a part of some work.
type part[T any] struct {
	result T
	err    error
}

// inParts does some work on n things in as many parts as processors run, and returns their results in order. do gets
// the index of a part's first thing and that after its last.
func inParts[T any](n int, do func(lo, hi int) (T, error)) []part[T] {
	parts := make([]part[T], max(1, min(runtime.GOMAXPROCS(0), n/minPart)))
	var running safely.Group
	for i := range parts {
		lo, hi := i*n/len(parts), (i+1)*n/len(parts)
		running.Go(func() { parts[i].result, parts[i].err = do(lo, hi) })
	}
	running.Wait()
	return parts
}

// codeWindow is how much code a codeReader reads at once, in bytes, if a function has not more.
const codeWindow = 1 << 20

// codeReader reads the code of functions in the order of their addresses: a system call for each would take longer
// than to decode it.
type codeReader struct {
	file *File
	lo   uint64 // address of the first byte of read
	read []byte
}

// code returns the code of a function, which is valid until the next call. Errors match ErrAddress if a part of the
// function has no content.
func (r *codeReader) code(fn Range) ([]byte, error) {
	size := fn.Hi - fn.Lo
	if fn.Lo < r.lo || fn.Lo-r.lo > uint64(len(r.read)) || uint64(len(r.read))-(fn.Lo-r.lo) < size {
		b, err := r.file.image(fn.Lo, max(size, codeWindow))
		if err != nil {
			return nil, err
		}
		r.lo, r.read = fn.Lo, b
	}
	b := r.read[fn.Lo-r.lo:]
	if uint64(len(b)) < size {
		return r.file.exactly(fn.Lo, size) // which says what is missing
	}
	return b[:size:size], nil
}
