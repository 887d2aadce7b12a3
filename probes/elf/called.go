package elf

import "github.com/tracepredict/tracepredict/probes/insn"

// CalledBefore returns the name of the function that is called by the instruction that ends at
// addr, an address as linked: an import, by its stub or slot, or a function of the file. It returns
// "" if there is no call, or the code does not determine its target.
func (f *File) CalledBefore(addr uint64) string {
	lengths := []int{5, 6, 7, 2, 3, 4} // lengths of calls on x86-64, the most frequent first
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

// FunctionName returns the name of the function whose extent contains addr; "" if no symbol is at
// the beginning of the extent.
func (f *File) FunctionName(addr uint64) string {
	fn, ok := f.FunctionAt(addr)
	if !ok {
		return ""
	}
	return f.shortestName(fn.Lo)
}

// shortestName returns the shortest name of a function that begins at addr, for example
// pthread_join instead of ___pthread_join; "" if there is none.
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
