package dwarf

import (
	"bytes"
	"debug/dwarf"
	"encoding/binary"
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

// longestString gives the length of the longest run without NUL.
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

// LineReader gives a reader of the line table of the unit whose root entry is
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
	r := lineHeader{b: c.line[off:]}
	names := r.names(c.longest, uint64(len(dir)))
	if r.bad || names > maxNames {
		return fmt.Errorf("%w (at 0x%x of .debug_line)", errLineHeader, off)
	}
	return nil
}

// lineHeader is a cursor; a read beyond the end sets bad.
type lineHeader struct {
	b   []byte
	bad bool
}

func (r *lineHeader) skip(n uint64) []byte {
	if n > uint64(len(r.b)) {
		r.bad = true
		return make([]byte, min(n, 8))
	}
	p := r.b[:n]
	r.b = r.b[n:]
	return p
}

func (r *lineHeader) uleb() uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.bad = true
		return 0
	}
	r.b = r.b[n:]
	return v
}

// names bounds the bytes that file names will take.
func (r *lineHeader) names(longest, dir uint64) uint64 {
	order, word := binary.LittleEndian, uint64(4)
	n := uint64(order.Uint32(r.skip(4)))
	if n == 0xffffffff {
		n, word = order.Uint64(r.skip(8)), 8
	}
	r.b = r.b[:min(n, uint64(len(r.b)))]
	version := order.Uint16(r.skip(2))
	if version < 5 {
		return r.oldNames(word, dir)
	}
	r.skip(2 + word + 5)
	if base := r.skip(1)[0]; base > 0 {
		r.skip(uint64(base) - 1)
	}
	longest = max(longest, longestString(r.b))
	dirs := r.entries(word)
	files := r.entries(word) + defined(r.b)
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
func (r *lineHeader) oldNames(word, dir uint64) uint64 {
	size := uint64(0)
	for i, x := range r.skip(word) {
		size |= uint64(x) << (8 * i)
	}
	header := r.b[:min(size, uint64(len(r.b)))]
	n := uint64(bytes.Count(header, []byte{0})) + defined(r.b)
	return n * (dir + 2*longestString(r.b) + 64)
}

// entries skips one table of names and gives its length; no format that the
// standard library reads has an empty form, so an entry has a byte at least.
func (r *lineHeader) entries(word uint64) uint64 {
	formats := int(r.skip(1)[0])
	forms := make([]uint64, 0, formats)
	for range formats {
		r.uleb()
		forms = append(forms, r.uleb())
	}
	n := r.uleb()
	if r.bad || n == 0 {
		return 0
	}
	if formats == 0 || n > uint64(len(r.b)) {
		r.bad = true
		return 0
	}
	for range n {
		for _, f := range forms {
			r.form(f, word)
		}
		if r.bad {
			return 0
		}
	}
	return n
}

// form skips one value (DWARF 5, section 7.5.6).
func (r *lineHeader) form(f, word uint64) {
	switch f {
	case 0x08: // string
		n := bytes.IndexByte(r.b, 0)
		if n < 0 {
			r.bad = true
			return
		}
		r.skip(uint64(n) + 1)
	case 0x0e, 0x1f, 0x1d: // strp, line_strp, strp_sup
		r.skip(word)
	case 0x0b, 0x25: // data1, strx1
		r.skip(1)
	case 0x05, 0x26: // data2, strx2
		r.skip(2)
	case 0x27: // strx3
		r.skip(3)
	case 0x06, 0x28: // data4, strx4
		r.skip(4)
	case 0x07:
		r.skip(8)
	case 0x1e:
		r.skip(16)
	case 0x0f, 0x1a: // udata, strx
		r.uleb()
	case 0x09: // block
		r.skip(r.uleb())
	default:
		r.bad = true
	}
}
