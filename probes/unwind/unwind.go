// Package unwind walks call stacks by call frame information, which compilers emit for exceptions:
// it works for code without frame pointers.
//
// It is pure. Its input is the registers of a frame, the modules by address, and memory as a
// function, which may know only a copy of the top of the stack. Its output is the return addresses,
// innermost first, and the reason why there are no more. It knows no process, and does not name
// what it finds. Formats: DWARF 5, section 6.4, and Linux Standard Base Core 5.0, section 10.6.
//
// Damaged information leads to a shorter call stack, never to a panic, and costs no more memory
// than a few times the section that it is in.
package unwind

import (
	"sync"

	"github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/insn"
)

// Table is the call frame information of one binary. It reads the file at its first use, and caches
// the rows that it has computed. Its methods may be called concurrently.
type Table struct {
	f *elf.File

	mu     sync.Mutex // guards all below; taken before those of the file
	loaded bool
	eh     *section
	debug  *section // nil: not read yet
	rows   map[uint64]*row
	after  map[uint64]bool // see AfterCall
}

// maxRows bounds the number of cached rows, and that of answers of AfterCall; others are computed again.
const maxRows = 1 << 15

// New returns a table of the file, which must stay open until the first row has been requested, and
// longer if rows are needed that only .debug_frame has. The result is never nil; for a file without
// call frame information it has no rows.
func New(f *elf.File) *Table {
	return &Table{f: f, rows: map[uint64]*row{}}
}

// row returns the row of the code at an address as linked; nil if there is none. Rows are shared:
// they do not change.
func (t *Table) row(addr uint64) *row {
	t.mu.Lock()
	defer t.mu.Unlock()
	row, known := t.rows[addr]
	if known {
		return row
	}
	row = t.find(addr)
	if len(t.rows) >= maxRows {
		clear(t.rows)
	}
	t.rows[addr] = row
	return row
}

// Frame returns how the canonical address of the frame that executes the code at addr is found, where that is a register, by
// its DWARF number, plus an offset: the stack pointer at the call, before it pushed anything.
func (t *Table) Frame(addr uint64) (register int, offset int64, ok bool) {
	r := t.row(addr)
	if r == nil || r.cfa.kind != atOffset {
		return 0, 0, false
	}
	return r.base, r.cfa.n, true
}

func (t *Table) find(addr uint64) *row {
	if !t.loaded {
		t.loaded = true
		t.eh = t.section(t.f.EhFrame)
	}
	if f, ok := t.eh.find(addr); ok {
		return t.eh.rowAt(f, addr)
	}
	if t.debug == nil {
		t.debug = t.section(t.f.DebugFrame)
	}
	if f, ok := t.debug.find(addr); ok {
		return t.debug.rowAt(f, addr)
	}
	return nil
}

func (t *Table) section(read func() (elf.CallFrames, error)) *section {
	c, _ := read() // what cannot be read has no rows
	return newSection(c)
}

// AfterCall reports whether an address, as linked, is one to which a call may return. It remembers what it has found,
// since the words of a stack without call frame information are asked about again and again, and the file is read for
// each new one.
func (t *Table) AfterCall(addr uint64) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	after, known := t.after[addr]
	if known {
		return after
	}
	after = t.afterCall(addr)
	if len(t.after) >= maxRows || t.after == nil {
		t.after = map[uint64]bool{}
	}
	t.after[addr] = after
	return after
}

func (t *Table) afterCall(addr uint64) bool {
	if t.f.Arch() == insn.ARM64 {
		b := t.before(addr, 4)
		if len(b) < 4 {
			return false
		}
		word := uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24
		const bl, blr = 0x94000000, 0xd63f0000
		return word&0xfc000000 == bl || word&0xfffffc1f == blr
	}
	// A call takes 2 to 7 bytes: e8 and a distance, or ff with 2 in the middle of its ModRM byte
	// (Intel SDM, volume 2, CALL).
	const shortest, longest = 2, 7
	b := t.before(addr, longest)
	for n := shortest; n <= len(b); n++ {
		if isCall(b[len(b)-n:]) {
			return true
		}
	}
	return false
}

// before returns the bytes before an address, n or, at the beginning of a segment, as many as there are.
func (t *Table) before(addr uint64, n int) []byte {
	for ; n > 0; n-- {
		if b, err := t.f.Bytes(addr-uint64(n), n); err == nil && len(b) == n {
			return b
		}
	}
	return nil
}

func isCall(b []byte) bool {
	if len(b) == 5 && b[0] == 0xe8 {
		return true
	}
	in, err := insn.Decode(insn.AMD64, b, 0)
	return err == nil && in.Len == len(b) && (in.Kind == insn.Call || in.Kind == insn.IndirectCall)
}
