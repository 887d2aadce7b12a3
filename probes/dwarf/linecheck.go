package dwarf

import (
	"bytes"
	"debug/dwarf"
	"errors"
	"fmt"

	"github.com/tracepredict/tracepredict/probes/elf"
)

// The standard library's line reader trusts the counts of directories and files in a DWARF 5
// header, and joins every name with its directory. A few damaged bytes can make it allocate without
// bound, which recover cannot catch. So headers are checked before it sees them, and so are line
// number programs, which may name files too. Layout: DWARF 5, section 6.2.

// maxNames bounds the total bytes of file names that one line table may produce.
const maxNames = 1 << 28

var errLineHeader = errors.New("line table header is damaged")

// lineCheck is the data for the check of headers.
type lineCheck struct {
	line    []byte
	longest uint64 // length of the longest string of .debug_line_str and .debug_str, in bytes
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

// LineReader returns a reader of the line table of the unit with the given root entry; nil if it
// has none. A table whose names would take disproportionate memory is an error. The reader may
// panic on damaged data.
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

// ok checks the line table of the unit with the given root entry.
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

// headerNames returns a bound on the bytes that the file names of the header at r will take.
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

// defined returns a bound on the number of files that a line number program defines by extended
// opcode 3, which is encoded as 0, a length and 3 (DWARF 4, section 6.2.5.3).
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

// oldNames does the same for DWARF 2 to 4, where all names are in the header.
func oldNames(r *elf.Cursor, b []byte, u *Unit, dir uint64) uint64 {
	size := r.Uint(u.word)
	rest := b[r.Pos():]
	header := rest[:min(size, uint64(len(rest)))]
	n := uint64(bytes.Count(header, []byte{0})) + defined(rest)
	return n * (dir + 2*longestString(rest) + 64)
}

// skipNames skips one table of names and returns the number of its entries. An entry has at least
// one byte, because no form that the standard library reads is empty.
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
