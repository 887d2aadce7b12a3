package probes

import (
	"slices"

	"github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/insn"
	"github.com/tracepredict/tracepredict/probes/pointer"
)

// escapedLocals returns the accesses of thread-local variables whose address the file's code makes: it may hand the
// address to another thread, which accesses the variable through a pointer. All others are private to their thread.
// An object that no symbol describes extends upwards from the address.
func (b *builder) escapedLocals(found *pointer.Census) []pointer.Access {
	if len(found.Taken) == 0 {
		return nil
	}
	objects, unknown := b.plan.File.ThreadLocals(), found.TakesUnknown()
	var escaped []elf.ThreadLocal
	for _, offset := range found.Taken {
		i := slices.IndexFunc(objects, func(o elf.ThreadLocal) bool { return o.Contains(offset) })
		if i < 0 {
			escaped = append(escaped, elf.ThreadLocal{Offset: offset, Size: -offset})
			continue
		}
		escaped = append(escaped, objects[i])
	}
	return slices.DeleteFunc(slices.Clone(found.Local), func(a pointer.Access) bool {
		m := a.Operand
		if unknown || m.Base != insn.NoReg || m.Index != insn.NoReg {
			return false
		}
		return !slices.ContainsFunc(escaped, func(o elf.ThreadLocal) bool {
			return m.Disp < o.Offset+o.Size && o.Offset < m.Disp+int64(m.Size)
		})
	})
}
