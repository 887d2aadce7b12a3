// Package symbolize turns addresses of a binary into what its source calls
// them: a chain of frames, functions that were inlined included, and the names
// of data. It uses the best there is: debug information, else a symbol table,
// else the module and an offset.
//
// Addresses are as linked, before the load bias. A frame above the innermost is
// known by its return address, which may already belong to the next line:
// look up CallSite of it, or give the whole stack to Stack. Damaged debug
// information never fails a look-up; the answer is only poorer.
package symbolize

import (
	"fmt"
	"math"
	"path/filepath"
	"sync"

	"github.com/tracepredict/tracepredict/probes/elf"
)

// Frame is one function of a call chain.
type Frame struct {
	Function string // as in the source: demangled; "" if unknown
	Linkage  string // the name as linked, or Function where there is none
	File     string // source file with its compilation directory; "" if unknown
	Line     int    // from 1; 0 if unknown
	Start    int    // the line that the function's definition begins on, of a lambda the one around it; 0 if unknown
	Module   string // the binary's name
	// Offset is the distance in bytes from the start of the (outermost)
	// function's part that contains the address. If Function is "", it is the
	// address itself.
	Offset  uint64
	Inlined bool // was inlined into the next frame
}

// String returns "function+0xoff at file:line", without what is unknown.
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

// Option changes a Table.
type Option func(*Table)

// WithModule sets the module's name in frames; the default is the last element
// of the file's name.
func WithModule(name string) Option { return func(t *Table) { t.module = name } }

// WithUnits sets how many compilation units are kept parsed; the default is
// as many as fit into 128 MB, the least 1.
func WithUnits(n int) Option { return func(t *Table) { t.maxUnits = max(n, 1) } }

// WithoutDWARF leaves debug information alone: names come from symbol tables.
func WithoutDWARF() Option { return func(t *Table) { t.noDWARF = true } }

// Table answers for one binary. It reads the file when first asked; a
// compilation unit is parsed when an address falls into it. Its methods may be
// called concurrently.
type Table struct {
	f        *elf.File
	module   string
	maxUnits int
	noDWARF  bool

	mu      sync.Mutex // guards all below; taken alone
	loaded  bool
	symbols symbolIndex
	plt     map[uint64]string
	debug   *debugInfo // nil: none
	err     error
}

// New makes a table of the file, which must stay open while the table is used.
func New(f *elf.File, opts ...Option) *Table {
	t := &Table{f: f, module: filepath.Base(f.Name()), maxUnits: math.MaxInt}
	for _, o := range opts {
		o(t)
	}
	return t
}

// Err says why names are poorer than they might be: no debug information
// (elf.ErrNoDWARF), or damage. Nil if nothing is missing so far.
func (t *Table) Err() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.load()
	return t.err
}

// Frames returns the chain of functions at addr, innermost first: those that were
// inlined there, then the function itself. There is always one at least.
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

// Stack returns the frames of a call chain of addresses, the innermost first: an
// exact address, then return addresses.
func (t *Table) Stack(pcs []uint64) []Frame {
	var out []Frame
	for i, pc := range pcs {
		if i > 0 {
			pc = CallSite(pc)
		}
		out = append(out, t.Frames(pc)...)
	}
	return out
}

func (t *Table) load() {
	if t.loaded {
		return
	}
	t.loaded = true
	symbols, err := t.f.DebugSymbols()
	t.err = err
	t.symbols = indexSymbols(symbols)
	t.plt = t.f.PLTTargets()
	if t.noDWARF {
		return
	}
	d, err := loadDebug(t.f, t.maxUnits)
	if err != nil {
		t.err = err
	}
	t.debug = d
}

// symbolFrame names addr by the symbol tables alone.
func (t *Table) symbolFrame(addr uint64) Frame {
	if name, at, ok := t.pltEntry(addr); ok {
		return Frame{Function: plain(name) + "@plt", Linkage: name, Module: t.module, Offset: addr - at}
	}
	if s := t.symbols.function(addr, t.f); s != nil {
		return Frame{Function: plain(s.Name), Linkage: s.Name, Module: t.module, Offset: addr - s.Addr}
	}
	return Frame{Module: t.module, Offset: addr}
}

// pltEntry finds the stub that contains addr; stubs are at most 16 bytes long.
func (t *Table) pltEntry(addr uint64) (name string, at uint64, ok bool) {
	for back := uint64(0); back < 16 && back <= addr; back++ {
		if name, ok := t.plt[addr-back]; ok {
			return name, addr - back, true
		}
	}
	return "", 0, false
}

// complete fills the gaps of what debug information says from the symbols.
func (t *Table) complete(frames []debugFrame, base Frame, addr uint64) []Frame {
	if len(frames) == 0 {
		return []Frame{base}
	}
	out := make([]Frame, len(frames))
	for i, d := range frames {
		out[i] = Frame{Function: plain(d.linkage), Linkage: d.linkage, File: d.file, Line: d.line, Start: d.declared,
			Module: t.module, Offset: addr - d.start, Inlined: i < len(frames)-1}
	}
	last := &out[len(out)-1]
	if outer := frames[len(frames)-1]; outer.linkage == "" {
		last.Function, last.Linkage, last.Offset = base.Function, base.Linkage, base.Offset
	} else if outer.plain && mangled(base.Linkage) && addr-base.Offset == outer.start {
		// A lambda: its entry says operator() and no more, its symbol also which one.
		last.Function, last.Linkage = base.Function, base.Linkage
	} else if name, ok := t.symbols.exported(outer.start, outer.linkage); ok {
		last.Function, last.Linkage = plain(name), name
	}
	for i := range out {
		out[i].Offset = last.Offset
	}
	return out
}

// Data returns the name of the variable that contains the data address and the
// offset in it, in bytes: "counter", "cache::(anonymous namespace)::table", or
// "f()::once" of a function's static. Thread-local variables have no address
// here.
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
