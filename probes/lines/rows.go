package lines

import (
	"debug/dwarf"
	"errors"
	"fmt"
	"io"
	"slices"

	dw "github.com/tracepredict/tracepredict/probes/dwarf"
	"github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/insn"
	"github.com/tracepredict/tracepredict/probes/spelling"
)

// rows are what the line tables of a file say of lines.
type rows struct {
	known bool     // some unit has code of the source file
	at    []uint64 // addresses at which code of the lines begins, sorted
	// before and after are the nearest lines with code outside of the lines; 0: none.
	before, after int
	beside        [2]uint64 // where code of these begins; 0: there is none
}

// near returns that the lines have no code, and which are the nearest that have.
func (r *rows) near(l Lines) string {
	switch {
	case r.before > 0 && r.after > 0:
		return fmt.Sprintf("the lines have no code, the nearest lines of %s that have are %d and %d", l.File, r.before, r.after)
	case r.before > 0:
		return fmt.Sprintf("the lines have no code, the last line of %s that has is %d", l.File, r.before)
	case r.after > 0:
		return fmt.Sprintf("the lines have no code, the first line of %s that has is %d", l.File, r.after)
	}
	return "the lines have no code"
}

// maxRows bounds the rows of all line tables that are read: the largest programs have some ten million.
const maxRows = 1 << 26

// rows reads the line tables of all units that have the source file.
func (c *Code) rows(l Lines) (out rows, err error) {
	defer c.File.Guard("line table", &err)
	info := dw.Of(c.File)
	data, err := info.Data()
	if errors.Is(err, elf.ErrNoDWARF) {
		return out, nil
	}
	if err != nil {
		return out, err
	}
	spans, err := info.Spans()
	if spans == nil {
		return out, err
	}
	left := maxRows
	for n := range spans.Units() {
		root, err := dw.Root(data, spans.Unit(n))
		if err != nil {
			continue // of damaged debug information: what can be read
		}
		r, err := info.LineReader(root)
		if err != nil || r == nil || !slices.ContainsFunc(r.Files(), func(f *dwarf.LineFile) bool { return f != nil && spelling.File(f.Name, l.File) }) {
			continue
		}
		if err := out.read(r, l, spans.InText, &left); err != nil {
			return out, fmt.Errorf("read the line table of %s: %w", c.File.Name(), err)
		}
	}
	slices.Sort(out.at)
	out.at = slices.Compact(out.at)
	return out, nil
}

// read adds the rows of one table. inText reports whether a sequence is of code that the linker has kept.
func (r *rows) read(table *dwarf.LineReader, l Lines, inText func(lo, hi uint64) bool, left *int) error {
	var e dwarf.LineEntry
	var sequence []dwarf.LineEntry
	for {
		if err := table.Next(&e); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		if *left--; *left < 0 {
			return fmt.Errorf("more than %d rows", maxRows)
		}
		if !e.EndSequence {
			sequence = append(sequence, e)
			continue
		}
		if len(sequence) > 0 && inText(sequence[0].Address, e.Address) {
			r.add(sequence, e.Address, l)
		}
		sequence = sequence[:0]
	}
}

// add adds the rows of a sequence that ends at an address.
func (r *rows) add(sequence []dwarf.LineEntry, end uint64, l Lines) {
	for i := range sequence {
		row := &sequence[i]
		next := end
		if i+1 < len(sequence) {
			next = sequence[i+1].Address
		}
		if row.File == nil || !spelling.File(row.File.Name, l.File) || row.Line <= 0 || row.Address >= next {
			continue
		}
		r.known = true
		switch {
		case l.has(row.File.Name, row.Line):
			r.at = append(r.at, row.Address)
		case row.Line < l.First && row.Line > r.before:
			r.before, r.beside[0] = row.Line, row.Address
		case row.Line > l.Last && (r.after == 0 || row.Line < r.after):
			r.after, r.beside[1] = row.Line, row.Address
		}
	}
}

// FrameAt returns where the canonical address of the frame is that executes the instruction at an address: in a register,
// plus an offset; ok is false if that is not known.
func (c *Code) FrameAt(addr uint64) (register insn.Reg, offset int64, ok bool) {
	n, offset, ok := c.Stack.Frame(addr)
	if !ok {
		return 0, 0, false
	}
	register = dw.Register(c.Image.Arch(), uint64(n))
	return register, offset, register != insn.NoReg
}
