package probes

import (
	"debug/dwarf"
	"slices"
	"strings"

	dw "github.com/tracepredict/tracepredict/probes/dwarf"
	"github.com/tracepredict/tracepredict/probes/variable"
)

// This file distinguishes the program's own code from that of the language's libraries that the linker put into the
// same file: the C and C++ libraries in a static program, and the libraries that come with the Rust compiler. What such
// code does with memory, under locks that it keeps for itself, is left out, as it is where the library is a file of its
// own: its data would order the end of one thread and the start of the next one, which no program may rely on.

// libraryCode finds the code of libraries in a file.
type libraryCode struct {
	spans *dw.Spans
	data  *dwarf.Data
	units map[int]bool // by number of a unit: it is of a library of the Rust compiler
}

// ofCLibrary reports whether an instruction is in the C or C++ library of a static program.
func (b *builder) ofCLibrary(addr uint64) bool {
	if !b.plan.File.Static() {
		return false
	}
	fn, ok := b.plan.File.FunctionAt(addr)
	return ok && b.ofRuntime(fn)
}

// ofLibrary reports whether an instruction is in code of a language's library.
func (b *builder) ofLibrary(addr uint64) bool { return b.ofCLibrary(addr) || b.ofRustLibrary(addr) }

// ofRustLibrary reports whether an instruction is in code that came with the Rust compiler. Generic functions are
// compiled with the code that uses them, and are the program's.
func (b *builder) ofRustLibrary(addr uint64) bool {
	l := b.libraryCode()
	for _, n := range l.spans.At(addr) {
		if l.ofRust(n) {
			return true
		}
	}
	return false
}

// libraryCode returns what is known of the units of the file's debug information.
func (b *builder) libraryCode() *libraryCode {
	if b.libraries == nil {
		info := dw.Of(b.plan.File)
		b.libraries = &libraryCode{units: map[int]bool{}}
		b.libraries.spans, _ = info.Spans() // of damaged debug information: what can be read
		b.libraries.data, _ = info.Data()
	}
	return b.libraries
}

// ofRust reports whether a unit is of a library of the Rust compiler.
func (l *libraryCode) ofRust(unit int) bool {
	own, known := l.units[unit]
	if !known && l.data != nil {
		if root, err := dw.Root(l.data, l.spans.Unit(unit)); err == nil {
			folder, _ := root.Val(dwarf.AttrCompDir).(string)
			name, _ := root.Val(dwarf.AttrName).(string)
			own = strings.HasPrefix(folder, "/rustc/") && strings.Contains(name, "/library/")
		}
		l.units[unit] = own
	}
	return own
}

// described reports whether an instruction is in code that is searched for what the user did not ask for: it has debug
// information. In a file, that of a library which the linker put there may have none.
func (b *builder) described(addr uint64) bool {
	if !b.onlyDescribed {
		return true
	}
	spans := b.libraryCode().spans
	return !spans.Any() || len(spans.At(addr)) > 0
}

// onlyOfLibraries reports whether there are accesses, and only code of a language's library makes them, or code that is
// not searched.
func (b *builder) onlyOfLibraries(all []variable.Access) bool {
	return len(all) > 0 && !slices.ContainsFunc(all, func(a variable.Access) bool { return !b.ofLibrary(a.Addr) && b.described(a.Addr) })
}
