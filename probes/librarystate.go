package probes

import (
	"fmt"

	"github.com/tracepredict/tracepredict/bpf"
)

// The C library has data of its own that no argument and no result of its functions points to, such as where strtok goes
// on. glibc's manual marks the functions that share such data: MT-Unsafe with race:…, const:env and const:locale, and
// MT-Safe with env where they only read it. Each such state has a word of its own in the page at address 0, where
// no process has memory, and a call is an access of that word.

// libraryState is a state of the C library's own; 0 is none.
type libraryState int

// The states.
const (
	environment libraryState = 1 + iota
	strtokState
	localeState
	drand48State
	hsearchTable
	getoptState
	states
)

// stateNames are their names in reports.
var stateNames = [states]string{
	environment: "the environment", strtokState: "the state of strtok", localeState: "the locale", drand48State: "the state of drand48",
	hsearchTable: "the table of hsearch", getoptState: "the state of getopt",
}

// stateSize is the size of the words that stand for states.
const stateSize = 8

// Descriptors have such words, too, behind that page: where programs may not have memory (vm.mmap_min_addr). A call that
// closes one writes its word, and a call that uses it reads it.
const (
	descriptorWords = 1 << 12
	maxDescriptors  = 1 << 10 // as in number.h
)

// usesNumber returns the range that stands for the open file whose number is an argument.
func usesNumber(argument int) memoryRange {
	return memoryRange{number: true, count: argument}
}

// closesNumber returns that of one that is closed.
func closesNumber(argument int) memoryRange {
	return memoryRange{number: true, count: argument, writes: true}
}

// address returns the address of the word that stands for a state.
func (s libraryState) address() int64 { return int64(s) * stateSize }

// LibraryState returns the name of the state of the C library, or of the descriptor, for which memory at an address stands; "" if for none.
func LibraryState(addr uint64) string {
	if s := addr / stateSize; s < uint64(states) {
		return stateNames[s]
	}
	if n := (addr - descriptorWords) / stateSize; addr >= descriptorWords && n < maxDescriptors {
		return fmt.Sprintf("descriptor %d", n)
	}
	return ""
}

// readsState returns the range that stands for a state that a function reads.
func readsState(s libraryState) memoryRange { return memoryRange{state: s, bytes: stateSize} }

// changesState returns that of a state that it changes.
func changesState(s libraryState) memoryRange {
	return memoryRange{state: s, bytes: stateSize, writes: true}
}

// unlessZero returns the range that is accessed if an argument is not 0.
func (r memoryRange) unlessZero(argument int) memoryRange {
	r.count, r.first = argument, true
	return r
}

// rangeObject sets the operand of a site that says where a range begins.
func (b *builder) rangeObject(s *bpf.Site, r *memoryRange) {
	switch {
	case r.number:
		s.ObjectFrom, s.ObjectDisp = uint8(bpf.FromImm), descriptorWords
	case r.state != 0:
		s.ObjectFrom, s.ObjectDisp = uint8(bpf.FromImm), r.state.address()
	case r.result:
		s.ObjectFrom, s.ObjectReg, s.ObjectDisp = uint8(bpf.FromReg), uint8(b.resultRegister()), int64(r.at)
	default:
		s.ObjectFrom, s.ObjectReg, s.ObjectDisp = uint8(bpf.FromReg), uint8(b.argument(r.pointer)), int64(r.at)
	}
}
