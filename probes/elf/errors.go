package elf

import (
	"errors"
	"fmt"
	"strings"

	"github.com/tracepredict/tracepredict/internal/plural"
)

// The sentinels that errors of this package match with errors.Is.
var (
	ErrNotELF    = errors.New("not an ELF file")
	ErrArch      = errors.New("unsupported architecture")
	ErrType      = errors.New("not an executable or shared library")
	ErrTruncated = errors.New("file is cut short")
	ErrMalformed = errors.New("malformed ELF file")
	ErrTooLarge  = errors.New("larger than can be read")
	ErrAddress   = errors.New("address not in the file")
	ErrNoDWARF   = errors.New("no debug information")
	ErrDebugFile = errors.New("unusable separate debug file")
	ErrClosed    = errors.New("file is closed")
)

// Error reports what is wrong with a file, where, and what the user can do.
type Error struct {
	Path   string
	Reason string // what is wrong, without the path
	Remedy string // what the user can do; "" if nothing
	Offset int64  // file offset of the fault, in bytes; -1 if it has none
	Kind   error  // one of the sentinels of this package
	// Interpreter is the program named by a script's first line; only set
	// where Kind is ErrNotELF and the file is a script.
	Interpreter string
}

// Error implements error: path, reason, offset, remedy.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Path)
	b.WriteString(": ")
	b.WriteString(e.Reason)
	if e.Offset >= 0 {
		fmt.Fprintf(&b, " (at file offset 0x%x)", e.Offset)
	}
	if e.Remedy != "" {
		b.WriteString("; ")
		b.WriteString(e.Remedy)
	}
	return b.String()
}

// Unwrap returns the sentinel.
func (e *Error) Unwrap() error { return e.Kind }

// NoOffset is the offset of an error that has no position in the file.
const NoOffset = -1

// Fail returns an error about the file. off is an offset in the file, or NoOffset.
func (f *File) Fail(kind error, off int64, format string, args ...any) *Error {
	return &Error{Path: f.name, Kind: kind, Offset: off, Reason: plural.Sprintf(format, args...), Remedy: remedyFor(kind)}
}

func remedyFor(kind error) string {
	switch {
	case errors.Is(kind, ErrTruncated), errors.Is(kind, ErrMalformed):
		return "copy or build the file again"
	case errors.Is(kind, ErrNoDWARF):
		return "build with -g, or install the package with its debug symbols"
	case errors.Is(kind, ErrDebugFile):
		return "install the debug symbols of exactly this build"
	case errors.Is(kind, ErrType):
		return "link it into a program first"
	}
	return ""
}

// Guard converts a panic of the standard library's parsers, which are not specified for hostile
// input, into an error about this file.
func (f *File) Guard(what string, err *error) {
	if r := recover(); r != nil {
		*err = f.Fail(ErrMalformed, NoOffset, "%s: %v", what, r)
	}
}
