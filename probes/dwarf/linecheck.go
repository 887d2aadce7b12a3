package dwarf

import (
	"bytes"
	"debug/dwarf"
	"errors"
	"fmt"

	"github.com/tracepredict/tracepredict/probes/elf"
)

// The standard library's line reader believes the counts of directories and
// files that a DWARF 5 header states, and joins every name with its directory:
// a few damaged bytes make it allocate without end, which no recover catches.
// So headers are judged before it sees them, and so are programs, which may
// name files too. Layout: DWARF 5, section 6.2.

// maxNames bounds the bytes of file names that one line table may lead to.
const maxNames = 1 << 28

var errLineHeader = errors.New("line table header is damaged")

// lineCheck is what judging headers needs.
type lineCheck struct {
	line    []byte
	longest uint64 // string of .debug_line_str and .debug_str, in bytes
}

func newLineCheck(section func(string) ([]byte, error)) lineCheck {
	c := lineCheck{}
	c.line, _ = section("line")
	for _, name := range []string{"line_str", "str"} {
		b, _ := section(name)
		c.longest = max(c.longest, longestString(b))
	}
	return c
}

// longestString returns the length of the longest run without NUL.
func longestString(b []byte) uint64 {
	longest := 0
	for len(b) > 0 {
		n := bytes.IndexByte(b, 0)
		if n < 0 {
			n = len(b) - 1
		}
		longest = max(longest, n)
		b = b[n+1:]
	}
	return uint64(longest)
}

// LineReader returns a reader of the line table of the unit whose root entry is
// given; nil if it has none. A table whose names would take memory out of all
// proportion is an error. The reader may panic on damaged data.
func (i *Info) LineReader(root *dwarf.Entry) (r *dwarf.LineReader, err error) {
	defer i.file.Guard("line table", &err)
	d, err := i.Data()
	if err != nil {
		return nil, err
	}
	i.linesOnce.Do(func() { i.lines = newLineCheck(i.Section) })
	if err := i.lines.ok(root); err != nil {
		return nil, i.file.Fail(elf.ErrMalformed, elf.NoOffset, "%v", err)
	}
	return d.LineReader(root)
}

// ok judges the line table of a unit's root entry.
func (c lineCheck) ok(root *dwarf.Entry) error {
	off, has := root.Val(dwarf.AttrStmtList).(int64)
	if !has {
		return nil
	}
	if off < 0 || off >= int64(len(c.line)) {
		return fmt.Errorf("%w: it would lie at 0x%x", errLineHeader, off)
	}
	dir, _ := root.Val(dwarf.AttrCompDir).(string)
	r := elf.NewCursor(c.line[off:], 0, 0)
	names := headerNames(&r, c.longest, uint64(len(dir)))
	if r.Failed() || names > maxNames {
		return fmt.Errorf("%w (at 0x%x of .debug_line)", errLineHeader, off)
	}
	return nil
}

// headerNames bounds the bytes that the file names of the header at r will take.
func headerNames(r *elf.Cursor, longest, dir uint64) uint64 {
	u := Unit{word: 4, address: 8}
	n := uint64(r.U32())
	if n == 0xffffffff {
		n, u.word = r.U64(), 8
	}
	b := r.Take(min(n, uint64(r.Left())))
	if r.Failed() {
		return 0
	}
	*r = elf.NewCursor(b, 0, 0)
	if r.U16() < 5 {
		return oldNames(r, b, &u, dir)
	}
	r.Skip(uint64(2 + u.word + 5))
	if base := r.U8(); base > 0 {
		r.Skip(uint64(base) - 1)
	}
	longest = max(longest, longestString(b[r.Pos():]))
	dirs := skipNames(r, &u)
	files := skipNames(r, &u) + defined(b[r.Pos():])
	return dirs*(longest+16) + files*(2*longest+64)
}

// defined bounds the files that a line number program defines on its way:
// extended opcode 3, which is 0, a length and 3 (DWARF 4, section 6.2.5.3).
func defined(program []byte) uint64 {
	n := uint64(0)
	for {
		i := bytes.IndexByte(program, 0)
		if i < 0 {
			return n
		}
		program = program[i+1:]
		k := 0
		for k < len(program) && program[k]&0x80 != 0 {
			k++
		}
		if k+1 < len(program) && program[k+1] == 3 {
			n++
		}
		program = program[min(k, len(program)):]
	}
}

// oldNames bounds those of DWARF 2 to 4, which are all in the header.
func oldNames(r *elf.Cursor, b []byte, u *Unit, dir uint64) uint64 {
	size := r.Uint(u.word)
	rest := b[r.Pos():]
	header := rest[:min(size, uint64(len(rest)))]
	n := uint64(bytes.Count(header, []byte{0})) + defined(rest)
	return n * (dir + 2*longestString(rest) + 64)
}

// skipNames passes over one table of names and returns its length; no format that the
// standard library reads has an empty form, so an entry has a byte at least.
func skipNames(r *elf.Cursor, u *Unit) uint64 {
	forms := make([]uint64, r.U8())
	for i := range forms {
		r.LEB(false)
		forms[i] = r.LEB(false)
	}
	n := r.LEB(false)
	if len(forms) == 0 && n > 0 || n > uint64(r.Left()) {
		r.Fail()
	}
	for i := uint64(0); i < n && !r.Failed(); i++ {
		for _, f := range forms {
			if before := r.Left(); !u.skipForm(r, f) || r.Left() == before {
				r.Fail()
			}
		}
	}
	if r.Failed() {
		return 0
	}
	return n
}
