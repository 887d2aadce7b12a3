// Package std reads and writes the STD text format of the RAPID tools, in which
// researchers publish traces: one event a line, thread|operation(operand)|location.
//
// The Reader accepts the dialects of published traces (docs/trace-format.md lists them)
// and returns events as the observer would: only the outermost level of a recursive lock,
// threads and objects numbered from 1 in order of appearance. It rejects, with the number
// of the line, unknown operations and lines that no run can have: two holders of one
// lock, a release by a thread that does not hold the lock, a thread that acts before its
// fork or after it was joined. The Writer writes events as lines of the same format, and
// counts the events that the format cannot express.
package std

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/tracepredict/tracepredict/observer/event"
)

// Error describes an error in an STD trace, and its position.
type Error struct {
	Name string // of the trace
	Line int    // from 1
	Err  error
	// Mendable reports that a Reader with ReaderOptions.Repairs reads the line.
	Mendable bool
}

// Error returns name, line and cause.
func (e *Error) Error() string { return fmt.Sprintf("%s:%d: %v", e.Name, e.Line, e.Err) }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Dialect is a form of STD.
type Dialect string

// The dialects that a Writer knows.
const (
	// Rapid is what RAPID itself reads: acq, rel, r, w, fork, join.
	Rapid Dialect = "rapid"
	// SPD adds req(lock) before each acq(lock), as SPDOffline has it.
	SPD Dialect = "spd"
	// SUnhang adds to SPD the operations of conditions: wait, notify and notifyAll.
	SUnhang Dialect = "sunhang"
)

// Dialects returns all dialects, for messages and help.
func Dialects() []Dialect { return []Dialect{Rapid, SPD, SUnhang} }

// numberPrefix precedes the number in the function name of a location that is a bare number.
// With it a report is readable, and the Writer recovers the number.
const numberPrefix = "location "

// frameOf returns the frame for a location: a number, file:line, or any other text.
func frameOf(text string) event.Frame {
	if isNumber(text) {
		return event.Frame{Function: numberPrefix + text}
	}
	if file, line, ok := fileLine(text); ok {
		return event.Frame{File: file, Line: line}
	}
	return event.Frame{Function: text}
}

// stackFrame returns the frame for a line of a stack: "#1 function file:line", or a part of that.
func stackFrame(text string) event.Frame {
	text = strings.TrimSpace(text)
	if strings.HasPrefix(text, "#") {
		if number, rest, ok := strings.Cut(text[1:], " "); ok && isNumber(number) {
			text = strings.TrimSpace(rest)
		}
	}
	at := strings.LastIndexAny(text, " \t")
	if file, line, ok := fileLine(text[at+1:]); ok && at > 0 {
		return event.Frame{Function: strings.TrimSpace(text[:at]), File: file, Line: line}
	}
	return frameOf(text)
}

// fileLine splits file:line or file:line:column.
func fileLine(text string) (file string, line int, ok bool) {
	file, last, ok := cutLast(text)
	if !ok {
		return "", 0, false
	}
	if before, middle, again := cutLast(file); again {
		return before, middle, true
	}
	return file, last, true
}

// cutLast splits text at its last colon, if a number above 0 follows it.
func cutLast(text string) (string, int, bool) {
	at := strings.LastIndexByte(text, ':')
	if at <= 0 || !isNumber(text[at+1:]) {
		return "", 0, false
	}
	n, err := strconv.ParseInt(text[at+1:], 10, 32)
	return text[:at], int(n), err == nil && n > 0
}

// isNumber reports whether s consists of digits.
func isNumber(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

// Location returns the text of the location for which a Reader made these frames; "" if there are
// none.
func Location(frames []event.Frame) string {
	if len(frames) == 0 {
		return ""
	}
	f := frames[0]
	if number, ok := strings.CutPrefix(f.Function, numberPrefix); ok && isNumber(number) && f.File == "" {
		return number
	}
	if f.File != "" {
		return fmt.Sprintf("%s:%d", f.File, f.Line)
	}
	return f.Function
}
