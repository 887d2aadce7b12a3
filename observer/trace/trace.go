// Package trace is the file format of a run: its events, without clocks, and the names that
// make them readable on machines without the binaries. docs/trace-format.md describes the
// format byte by byte.
//
// A Writer receives events in order, and a run.Namer for their names; a Reader returns the
// same events and names. A trace is a header and blocks. A block has checksums, its events,
// whose encoding refers to no other block, and the names that no earlier block needed. So a
// file that is cut at any byte can be read up to its last whole block.
// The package knows no analysis. A trace has no clocks: who reads the events computes them.
package trace

import (
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

// Source returns the events of a run, in order.
type Source interface {
	// Next sets all fields of e except its clock. At the end the error is io.EOF.
	Next(e *event.Event) error
	// Names returns the names of the events so far.
	Names() *run.Names
	// Summary returns the summary of the run so far; whole reports whether it is complete.
	Summary() (s run.Summary, whole bool)
}

// The constants of the format, as docs/trace-format.md defines them.
const (
	magic   = "\x89TPT\r\n\x1a\n"
	version = 1

	headerSize      = 16
	blockHeaderSize = 36
	blockMark       = "TPBK"
	flagEnd         = 1 // flag of the last block

	maxRaw    = 8 << 20 // bytes of a block that a Reader accepts, decompressed
	maxEvents = 1 << 20 // events of a block that a Reader accepts

	// The bounds of a block that a Writer makes, far below those of a Reader.
	blockEvents = 1 << 16 // events
	blockBytes  = 1 << 20 // bytes of events
	nameBytes   = 1 << 20 // bytes of names, about
	maxString   = 1 << 14 // bytes of a string
	maxPatterns = 1 << 10 // patterns that match one function
)

// The tags of the sections of a block.
const (
	sectionStrings = 1 + iota
	sectionStacks
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
	sectionBlocks
)

// MaxFrames bounds the frames of a stack in a trace; the outermost ones beyond it are omitted.
const MaxFrames = 128

// IsTrace reports whether a file that begins like this is a trace, whole or cut.
func IsTrace(start []byte) bool {
	n := min(len(start), len(magic))
	return n > 0 && string(start[:n]) == magic[:n]
}
