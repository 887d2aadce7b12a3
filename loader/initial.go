package loader

import (
	"encoding/binary"
	"slices"

	"github.com/tracepredict/tracepredict/probes/variable"
)

// VariableValue is a watched variable with a value.
type VariableValue struct {
	Variable variable.Variable
	Addr     uint64 // in the process
	Value    uint64 // the bytes of the variable, at most 8, little-endian, zero-extended
}

// InitialValues returns the variables of the first process that the user named, each with the
// initial value that its file contains. It leaves out variables that the dynamic linker fills.
func (a *Spaces) InitialValues() []VariableValue {
	return a.namedValues(func(v *variable.Variable, _ uint64) (uint64, bool) { return v.File.Initial(v.Addr, v.Size) })
}

// ValuesNow returns the variables of the first process that the user named, each with its
// present value in memory. It leaves out variables whose memory cannot be read.
func (a *Spaces) ValuesNow() []VariableValue {
	pid := a.PID()
	return a.namedValues(func(v *variable.Variable, addr uint64) (uint64, bool) {
		var b [8]byte
		ok := a.ReadMemory(pid, addr, b[:min(max(v.Size, 1), 8)])
		return binary.LittleEndian.Uint64(b[:]), ok
	})
}

// namedValues returns the variables of the first process that the user named and for which value
// returns a value.
func (a *Spaces) namedValues(value func(v *variable.Variable, addr uint64) (uint64, bool)) []VariableValue {
	a.mu.Lock()
	segments := slices.Clone(a.first.segments)
	a.mu.Unlock()
	var out []VariableValue
	seen := map[string]bool{} // by name; the program's own variable comes before a library's
	for _, seg := range segments {
		for i := range seg.Module.Plan.Variables {
			v := &seg.Module.Plan.Variables[i]
			if seen[v.Name] {
				continue
			}
			seen[v.Name] = true
			if x, ok := value(v, v.Addr+seg.Bias); ok {
				out = append(out, VariableValue{*v, v.Addr + seg.Bias, x})
			}
		}
	}
	return out
}
