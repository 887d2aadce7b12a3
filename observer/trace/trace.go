// Package trace is the file form of a run: its events, without clocks, and the
// names that make them readable where the binaries are not. docs/trace-format.md
// describes the format byte by byte.
//
// What goes in are the events of package event, in order, and a Namer that
// knows names; what comes out is the same again. A trace is a header and blocks.
// Each block can be decoded without any other as far as events go, carries its
// checksums, and brings the names that its events are the first to need: a file
// cut at any byte is read up to its last whole block. It knows no analysis: the
// clocks of the events are computed again by who reads them.
package trace

import (
	"time"

	"github.com/tracepredict/tracepredict/observer/event"
)

// Object is what a trace says of an object.
type Object struct {
	Name        string // as in the source; "" if no symbol holds it
	Member      string // of which type's member it is, where no symbol holds it; "" if unknown
	Class       string // what it has in common with other objects; "" if nothing is known
	Addr        uint64 // in the process; 0 if unknown
	Process     uint32 // the owning process, by its kernel id; 0: the only one
	Kind        event.Kind
	Init, First event.StackID // where it was initialised, and first seen; 0 if unknown
	FirstThread event.ThreadID
	Form        *event.Form // how the values of a variable are written; nil: as numbers
}

// Thread is what a trace says of a thread.
type Thread struct {
	TID     uint32 // the kernel's id; 0 in imported traces
	TGID    uint32 // the id of its process
	Parent  event.ThreadID
	Created event.StackID // where Parent created it; 0 if unknown
	Start   string        // the start routine; "" if unknown
	Name    string        // the kernel's name, or that of an imported trace
	Main    bool          // the process's first thread
}

// Unsure says of a thread up to which event it may have held locks that nobody
// saw it take.
type Unsure struct {
	Thread event.ThreadID `json:"thread"`
	Until  uint64         `json:"until"`
}

// Executed is a place of the program that synchronises in a way that was not
// observed, and was executed.
type Executed struct {
	Place string `json:"place"` // "atomic instruction in push at queue.c:12"
	// Hits are threads that were there, in order.
	Hits []Hit `json:"hits,omitempty"`
	// Left is the number of the first event from which on nobody looked: any thread
	// may have been there. 0: to the end.
	Left uint64 `json:"left,omitempty"`
}

// Hit is a thread that was at a place for the first time before the event with number
// Since, and after all earlier ones of its own.
type Hit struct {
	Thread event.ThreadID `json:"thread"`
	Since  uint64         `json:"since"`
}

// Summary is what is known of a run as a whole. The first block has as much of
// it as is known then; the whole stands at the end.
type Summary struct {
	Program string `json:"program"` // its path
	// Became is the path of what its first process ran last, where that is not Program:
	// a wrapper runs another program in its place. "" where it is.
	Became   string        `json:"became,omitempty"`
	PID      int           `json:"pid"`
	Events   uint64        `json:"events"`       // recorded
	Lost     uint64        `json:"lost"`         // known to have been lost
	Holed    int           `json:"lost_threads"` // threads that lost them
	Threads  int           `json:"threads"`
	Duration time.Duration `json:"duration_ns"`
	Notes    []string      `json:"notes"` // sentences on what limits the result
	// Cut says that this stands for the summary of a trace that ends before it comes.
	Cut bool `json:"-"`
	// Remedies are sentences on what would have given the names that the findings lacked
	// that were shown when the run was recorded.
	Remedies []string `json:"remedies,omitempty"`
	// Unseen is why any prediction from the run may be wrong: synchronisation
	// that nobody saw, lost events. "" if there is no such reason.
	Unseen string `json:"unseen,omitempty"`
	// Unfollowed counts calls that were not seen to return: locks may have been taken
	// by them.
	Unfollowed uint64 `json:"unfollowed,omitempty"`
	// Unsure are the threads that lived when observation began and may have
	// held locks then.
	Unsure []Unsure `json:"unsure,omitempty"`
	// Executed are places that may have ordered threads; the earliest, if they are many.
	Executed []Executed `json:"executed,omitempty"`
	// Processes are those that were observed, where they are more than one.
	Processes []Process `json:"processes,omitempty"`
	// Calls are the patterns whose events were asked for, in the order given.
	Calls []Calls `json:"calls,omitempty"`
	// Watched are the variables that nobody named and that were accessed, Untouched
	// counts those that were not.
	Watched   []Watched `json:"watched,omitempty"`
	Untouched int       `json:"untouched,omitempty"`
}

// Calls counts what a pattern matched.
type Calls struct {
	Pattern string `json:"pattern"` // as given: "call queue_put"
	Return  bool   `json:"return,omitempty"`
	Events  uint64 `json:"events"`
	Objects uint64 `json:"objects"` // that these were on
}

// Watched is a variable that nobody named.
type Watched struct {
	Variable string   `json:"variable"`
	Use      string   `json:"use"` // Use…
	Threads  int      `json:"threads"`
	Accesses uint64   `json:"accesses"` // that probes saw
	Recorded uint64   `json:"recorded"` // of these, those that are events
	Guards   []string `json:"guards"`   // locks that keep all its conflicting accesses apart
	// Elements, of an array of which code picks elements, is how many threads are known
	// to have accessed. Each is a variable by itself: Threads is of the one with the
	// most, Use of the one that is kept apart worst, Guards (at most 8) of all.
	Elements uint64 `json:"elements,omitempty"`
	// Fate is "kept", or why the probes were removed: "unshared", "guarded", "enough"; then
	// Until says when, since the program was let go.
	Fate  string        `json:"fate"`
	Until time.Duration `json:"until_ns,omitempty"`
}

// How threads use a variable.
const (
	UseUnshared  = "unshared"  // one thread alone
	UseReadOnly  = "read-only" // several read it, none writes
	UseGuarded   = "guarded"   // several, kept apart by a lock
	UseOrdered   = "ordered"   // several, one after the other: by fork, join or messages
	UseUnguarded = "unguarded" // several, and nothing observed keeps all of their accesses apart
	UseAtomic    = "atomic"    // it orders threads
)

// Process is an observed process.
type Process struct {
	PID     int    `json:"pid"`
	Program string `json:"program"` // path of what it ran last
}

// Namer knows the names that a trace carries. An unknown identifier gives the
// zero value. A Writer asks from a goroutine of its own, once for each.
type Namer interface {
	Place(event.StackID) []event.Frame // innermost first
	Object(event.ObjectID) Object
	Thread(event.ThreadID) Thread
	Func(event.FuncID) event.Func
}

// Source gives the events of a run, in order.
type Source interface {
	// Next fills e, all but its clock. At the end the error is io.EOF.
	Next(e *event.Event) error
	// Names are those of the events so far.
	Names() *Names
	// Summary is what is known so far; whole tells whether the source has told
	// all of it.
	Summary() (s Summary, whole bool)
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

	// What a Writer puts into one block, far below what a Reader takes.
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

// MaxFrames is how many frames of a calling chain a trace holds; what is beyond
// is left out.
const MaxFrames = 128

// IsTrace reports whether a file that begins like this is a trace, whole or cut.
func IsTrace(start []byte) bool {
	n := min(len(start), len(magic))
	return n > 0 && string(start[:n]) == magic[:n]
}
