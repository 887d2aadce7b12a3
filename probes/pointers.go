package probes

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/insn"
	"github.com/tracepredict/tracepredict/probes/variable"
)

// Code that has the address of an atomic variable may access it through a pointer. A plain load or
// store through a pointer looks like any other, and is not observed, but orders threads. So where
// such an address goes to where it is not followed, a probe records that: from then on, any thread
// may have accessed the variable unobserved. If a word of data holds the address, this is so from
// the beginning.

// atomicPointer is a place from which on an atomic variable may be accessed unobserved.
type atomicPointer struct {
	variable string
	addr     uint64
	how      variable.EscapeKind
	callee   string
	followed bool // as UnseenProbe.Followed
}

// pointersTo records where the address of an atomic variable goes to where it is not followed. C++ code that
// accesses a variable of an atomic type through a pointer is observed; other code may not be.
func (b *builder) pointersTo(v variable.Variable, res variable.Result) {
	name, seen := v.Name, !v.AtomicByUse && b.seesPointers()
	for _, e := range res.Escapes {
		_, imported := b.stubs[e.Callee]
		if seen && !imported && e.Kind != variable.InData && b.inCPlusPlus(e.Addr) {
			continue
		}
		p := atomicPointer{variable: name, addr: e.Addr, how: e.Kind, followed: b.followsPointers() && e.Kind == variable.Passed && e.Callee != 0 && !imported}
		if e.Callee != 0 {
			p.callee = b.functionName(e.Callee)
		}
		if !b.goesToKernel(p) && !b.inRuntime(p) && (e.Kind == variable.InData || !b.ofRustRuntime(e.Addr)) {
			b.pointers = append(b.pointers, p)
		}
	}
	for _, addr := range slices.Concat(res.Unknown, res.Undecoded) {
		b.pointers = append(b.pointers, atomicPointer{variable: name, addr: addr, how: variable.NotUnderstood})
	}
}

// inCPlusPlus reports whether the function around an instruction is one of C++.
func (b *builder) inCPlusPlus(addr uint64) bool {
	frames := b.plan.frames(addr)
	outer := frames[len(frames)-1]
	return strings.HasPrefix(outer.Linkage, "_Z") || slices.Contains([]string{".cc", ".cpp", ".cxx", ".C"}, path.Ext(outer.File))
}

// goesToKernel reports whether an address is an argument of a system call, as of a futex. What that
// orders is a matter of its own.
func (b *builder) goesToKernel(p atomicPointer) bool {
	if p.how != variable.Passed {
		return false
	}
	in, err := b.image.Decode(p.addr)
	return p.callee == "syscall" || err == nil && in.Kind == insn.Syscall || b.waitsForAtomic(p.addr)
}

// inRuntime reports whether a pointer is in code of the C or C++ library in a static program.
func (b *builder) inRuntime(p atomicPointer) bool {
	if p.how == variable.InData || !b.plan.File.Static() {
		return false
	}
	fn, ok := b.plan.File.FunctionAt(p.addr)
	return ok && b.ofRuntime(fn)
}

// pointerProbes plans the probes of the instructions from which on atomic variables may be accessed
// through pointers. What can have no probe counts from the beginning.
func (b *builder) pointerProbes(occupied func(uint64) bool) (probes []UnseenProbe) {
	for _, p := range b.pointers {
		if p.how != variable.InData {
			probe, ok := b.unseenProbe(elf.UnseenSite{Addr: p.addr, What: elf.UnseenPointer}, occupied)
			if ok && len(probes) < maxPointers {
				probe.Variable, probe.Followed = p.variable, p.followed
				probes = append(probes, probe)
				continue
			}
		}
		b.pointed(p)
	}
	return probes
}

// maxPointers bounds the probes of pointers to atomic variables in one file.
const maxPointers = 512

// pointed adds a variable to those that may be accessed unobserved from the beginning on.
func (b *builder) pointed(p atomicPointer) {
	if slices.ContainsFunc(b.plan.Pointed, func(x Pointed) bool { return x.Variable == p.variable }) {
		return
	}
	e := b.escapeAt(p.addr, p.how)
	e.Callee = p.callee
	b.plan.Pointed = append(b.plan.Pointed, Pointed{p.variable, fmt.Sprintf("pointer to %s, %s", p.variable, e)})
}

// Pointed is an atomic variable that may be accessed unobserved from the beginning on.
type Pointed struct {
	Variable string
	Where    string // one pointer to it, and where that is
}
