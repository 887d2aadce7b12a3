// Package symbolize maps addresses of a binary to their names in its source: the frames at an
// address, inlined functions included, and the names of data. It uses the best information there
// is: debug information, else a symbol table, else the module and an offset.
//
// Addresses are as linked, before the load bias. A frame above the innermost is known by its return
// address, which may already belong to the next line: look up its CallSite, or pass the whole call
// stack to Stack. Damaged debug information never makes a look-up fail; the result then has less
// detail.
package symbolize

import (
	"fmt"
	"math"
	"path/filepath"
	"sync"

	"github.com/tracepredict/tracepredict/probes/elf"
)

// Frame is one function of a call stack.
type Frame struct {
	Function string // as in the source: demangled; "" if unknown
	Linkage  string // the name as linked; equal to Function if there is none
	File     string // source file with its compilation directory; "" if unknown
	Line     int    // from 1; 0 if unknown
	// Start is the line on which the function's definition begins; for a lambda, that of the
	// function around it; 0 if unknown.
	Start  int
	Module string // the binary's name
	// Offset is the distance in bytes from the start of the (outermost) function's part that
	// contains the address. If Function is "", it is the address itself.
	Offset  uint64
	Inlined bool // it is inlined into the next frame
}

// String returns "function+0xoff at file:line", leaving out what is unknown.
func (f Frame) String() string {
	s := fmt.Sprintf("%s+0x%x", f.Module, f.Offset)
	if f.Function != "" {
		s = fmt.Sprintf("%s+0x%x", f.Function, f.Offset)
	}
	if f.File != "" {
		s += fmt.Sprintf(" at %s:%d", f.File, f.Line)
	}
	if f.Inlined {
		s += " (inlined)"
	}
	return s
}

// CallSite returns an address inside the call instruction that returns to ret.
func CallSite(ret uint64) uint64 {
	if ret == 0 {
		return 0
	}
	return ret - 1
}

// Option sets an option of a Table.
type Option func(*Table)

// WithModule sets the module's name in frames; the default is the last element
// of the file's name.
func WithModule(name string) Option { return func(t *Table) { t.module = name } }

// WithoutDWARF makes a Table ignore debug information: names come from symbol tables.
func WithoutDWARF() Option { return func(t *Table) { t.noDWARF = true } }

// Table looks up addresses of one binary. It reads the file at its first use; a compilation unit is
// parsed when the first address in it is looked up. Its methods may be called concurrently.
type Table struct {
	f        *elf.File
	module   string
	maxUnits int // the number of compilation units that are kept parsed; fewer if these exceed maxKept
	noDWARF  bool

	mu      sync.Mutex // guards all below; taken alone
	loaded  bool
	symbols symbolIndex
	plt     map[uint64]string
	stubs   elf.Range         // contains all of plt, each with maxStub bytes
	names   map[string]string // results of demangled, at most maxNames
	debug   *debugInfo        // nil: none
	err     error             // why names have less detail than they could: elf.ErrNoDWARF, or damage
}

// maxStub is the length of a stub of the PLT, in bytes. maxNames bounds the demangled names that are kept.
const (
	maxStub  = 16
	maxNames = 1 << 12
)

// New returns a table of the file, which must stay open while the table is used.
func New(f *elf.File, opts ...Option) *Table {
	t := &Table{f: f, module: filepath.Base(f.Name()), maxUnits: math.MaxInt}
	for _, o := range opts {
		o(t)
	}
	return t
}

// Frames returns the functions at addr, innermost first: those that are inlined there, then the
// function itself. There is always at least one.
func (t *Table) Frames(addr uint64) []Frame {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.load()
	base := t.symbolFrame(addr)
	if t.debug == nil {
		return []Frame{base}
	}
	frames, err := t.debug.frames(addr)
	if err != nil && t.err == nil {
		t.err = fmt.Errorf("debug information of %s: %w", t.f.Name(), err)
	}
	return t.complete(frames, base, addr)
}

// Function returns the code of the function at addr, whose parts may lie apart; nil if no debug information describes it. The
// function is the outermost of Frames.
func (t *Table) Function(addr uint64) []elf.Range {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.load()
	if t.debug == nil {
		return nil
	}
	return t.debug.function(addr)
}

func (t *Table) load() {
	if t.loaded {
		return
	}
	t.loaded = true
	symbols, err := t.f.DebugSymbols()
	t.err = err
	t.symbols = indexSymbols(symbols)
	t.plt, t.names = t.f.PLTTargets(), map[string]string{}
	t.stubs = stubs(t.plt)
	if t.noDWARF {
		return
	}
	d, err := loadDebug(t.f, t.maxUnits)
	if err != nil {
		t.err = err
	}
	t.debug = d
}

// symbolFrame returns the frame of addr by the symbol tables alone.
func (t *Table) symbolFrame(addr uint64) Frame {
	if name, at, ok := t.pltEntry(addr); ok {
		return Frame{Function: t.demangled(name) + "@plt", Linkage: name, Module: t.module, Offset: addr - at}
	}
	if s := t.symbols.function(addr, t.f); s != nil {
		return Frame{Function: t.demangled(s.Name), Linkage: s.Name, Module: t.module, Offset: addr - s.Addr}
	}
	return Frame{Module: t.module, Offset: addr}
}

// demangled returns the source's form of a linked name. Addresses are often looked up in their order, so that
// the same names come again.
func (t *Table) demangled(linkage string) string {
	name, ok := t.names[linkage]
	if !ok {
		name = demangled(linkage)
		if len(t.names) == maxNames {
			clear(t.names)
		}
		t.names[linkage] = name
	}
	return name
}

// stubs returns a range that contains the stubs at all addresses.
func stubs(plt map[uint64]string) (r elf.Range) {
	for at := range plt {
		if r.Hi == 0 {
			r.Lo = at
		}
		r.Lo, r.Hi = min(r.Lo, at), max(r.Hi, at+maxStub)
	}
	return r
}

// pltEntry returns the PLT stub that contains addr; stubs are at most maxStub bytes long.
func (t *Table) pltEntry(addr uint64) (name string, at uint64, ok bool) {
	if !t.stubs.Contains(addr) {
		return "", 0, false
	}
	for back := uint64(0); back < maxStub && back <= addr; back++ {
		if name, ok := t.plt[addr-back]; ok {
			return name, addr - back, true
		}
	}
	return "", 0, false
}

// complete converts the frames of the debug information, and adds from the symbols what that lacks.
func (t *Table) complete(frames []debugFrame, base Frame, addr uint64) []Frame {
	if len(frames) == 0 {
		return []Frame{base}
	}
	out := make([]Frame, len(frames))
	for i, d := range frames {
		out[i] = Frame{Function: t.demangled(d.linkage), Linkage: d.linkage, File: d.file, Line: d.line, Start: d.declared,
			Module: t.module, Offset: addr - d.start, Inlined: i < len(frames)-1}
	}
	last := &out[len(out)-1]
	if outer := frames[len(frames)-1]; outer.linkage == "" {
		last.Function, last.Linkage, last.Offset = base.Function, base.Linkage, base.Offset
	} else if outer.plain && mangled(base.Linkage) && addr-base.Offset == outer.start {
		// For a lambda the DIE has only the name operator(); its symbol also shows which one it is.
		last.Function, last.Linkage = base.Function, base.Linkage
	} else if name, ok := t.symbols.exported(outer.start, outer.linkage); ok {
		last.Function, last.Linkage = t.demangled(name), name
	}
	for i := range out {
		out[i].Offset = last.Offset
	}
	return out
}

// Data returns the name of the variable that contains the data address and the offset in it, in
// bytes. The name is as in "counter", "cache::(anonymous namespace)::table", or "f()::once" for a
// function's static. Thread-local variables have no such address.
func (t *Table) Data(addr uint64) (name string, off uint64, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.load()
	s := t.symbols.object(addr)
	if s == nil {
		return "", 0, false
	}
	return t.symbols.dataName(s.Name), addr - s.Addr, true
}
