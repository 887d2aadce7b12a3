package elf

import "github.com/tracepredict/tracepredict/probes/insn"

// CalledBefore names the function that is called by the instruction that ends at addr,
// an address as linked: an import, by its linkage table's stub or slot, or a function
// of the file. It is "" where there is no call, or one whose target is not in the
// code.
func (f *File) CalledBefore(addr uint64) string {
	lengths := []int{5, 6, 7, 2, 3, 4} // of calls on x86-64, the likeliest first
	if f.arch == insn.ARM64 {
		lengths = []int{4}
	}
	for _, n := range lengths {
		at := addr - uint64(n)
		code, err := f.Bytes(at, n)
		if err != nil || len(code) < n {
			continue
		}
		in, err := insn.Decode(f.arch, code, at)
		if err != nil || in.Len != n || in.Kind != insn.Call && in.Kind != insn.IndirectCall {
			continue
		}
		if name := f.callee(&in, f.PLTTargets()); name != "" {
			return name
		}
		if in.Kind == insn.Call {
			if name := f.shortestName(in.Target); name != "" {
				return name
			}
		}
	}
	return ""
}

// FunctionName names the function that has addr in its extent; "" if no symbol stands
// where that begins.
func (f *File) FunctionName(addr uint64) string {
	fn, ok := f.FunctionAt(addr)
	if !ok {
		return ""
	}
	return f.shortestName(fn.Lo)
}

// shortestName returns the shortest name that a function has which begins at addr, as
// pthread_join of ___pthread_join; "" if none does.
func (f *File) shortestName(addr uint64) string {
	symbols := f.Symbols()
	best := ""
	for i := searchSymbol(symbols, addr); i < len(symbols) && symbols[i].Addr == addr; i++ {
		if s := &symbols[i]; (s.Kind == Func || s.Kind == IFunc) && (best == "" || len(s.Name) < len(best)) {
			best = s.Name
		}
	}
	return best
}
