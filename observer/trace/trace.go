// Package trace is the file form of a run: its events, without clocks, and the
// names that make them readable where the binaries are not. docs/trace-format.md
// describes the format byte by byte.
//
// A Writer takes events in order, and a run.Namer that knows their names; a Reader
// returns the same again. A trace is a header and blocks. The events of a block can be
// decoded without any other block. It has checksums, and the names that its events are
// the first to need, so that a file cut at any byte is read up to its last whole block.
// The package knows no analysis: whoever reads events computes their clocks again.
package trace

import (
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

// Source is what the events of a run are read from, in order.
type Source interface {
	// Next fills e, all but its clock. At the end the error is io.EOF.
	Next(e *event.Event) error
	// Names returns the names of the events so far.
	Names() *run.Names
	// Summary returns what is known so far; whole reports whether that is all.
	Summary() (s run.Summary, whole bool)
}

// The format's numbers; docs/trace-format.md.
const (
	magic   = "\x89TPT\r\n\x1a\n"
	version = 1

	headerSize      = 16
	blockHeaderSize = 36
	blockMark       = "TPBK"
	flagEnd         = 1 // the last block

	maxRaw    = 8 << 20 // of a block, decompressed, in bytes
	maxEvents = 1 << 20 // of a block

	// What a Writer puts into one block at most, far less than a Reader accepts.
	blockEvents = 1 << 16
	blockBytes  = 1 << 20
	nameBytes   = 1 << 20
	maxString   = 1 << 14
	maxPatterns = 1 << 10 // that ask for one function
)

// The sections of a block.
const (
	sectionStrings = 1 + iota
	sectionPlaces
	sectionObjects
	sectionThreads
	sectionSummary
	sectionKinds
	sectionIndex
	sectionTimes
	sectionValues
	sectionFunctions
	sectionForms
	sectionMembers
	sectionStarts
)

// MaxFrames bounds the frames of a stack in a trace; outer ones beyond are left out.
const MaxFrames = 128

// IsTrace reports whether a file that begins like this is a trace, whole or cut.
func IsTrace(start []byte) bool {
	n := min(len(start), len(magic))
	return n > 0 && string(start[:n]) == magic[:n]
}
