package live

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/loader"
	"github.com/tracepredict/tracepredict/observer"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
	"github.com/tracepredict/tracepredict/probes"
	"github.com/tracepredict/tracepredict/probes/field"
	"github.com/tracepredict/tracepredict/probes/futex"
	"github.com/tracepredict/tracepredict/probes/insn"
	"github.com/tracepredict/tracepredict/probes/variable"
)

// This file names objects on the heap or on a stack, which are part of no static variable.
// The code that passed the object's address to the function that initialised it, or first
// used it, shows what the object is a part of: if the code adds 0x28 to a register that, by
// the debug information, contains a struct job *, the object is the member of struct job at
// that offset. If a function only passes on its own argument, the search continues in its
// caller. Each step must be certain; the first one that is not ends the search.

// maxPassed bounds the number of functions that are followed to their callers.
const maxPassed = 8

// member returns the type and member that an object is, as struct job.mu, or the function on
// whose stack it lies; an empty name if neither is known. The result is the same for all
// objects of a kind that were initialised or first seen with the same stack.
func (r *names) member(o *run.Object) variable.Named {
	for _, p := range []event.StackID{o.Init, o.First} {
		key := memberKey{stack: p, kind: o.Kind}
		if p == 0 || p == o.Init && o.Kind == event.KindVariable {
			continue
		}
		if p == o.First && o.Kind == event.KindVariable {
			key.at = o.FirstAt
		}
		named, ok := r.members[key]
		if !ok {
			named = r.memberAt(key)
			r.members[key] = named
		}
		if named.Name != "" {
			return named
		}
	}
	return variable.Named{}
}

// memberKey is the call stack of a call that receives an object of a kind.
type memberKey struct {
	stack event.StackID
	kind  event.Kind
	at    int64 // run.Object.FirstAt
}

// passedObject describes the address of an object as an argument of a function.
type passedObject struct {
	module   *loader.Module
	function uint64 // its entry, as linked
	argument int    // number of the argument, from 1
	offset   int64  // the object's offset from the argument, in bytes
	// viaHolder reports that the argument points to a C++ lock holder, such as a
	// std::unique_lock, and the object is the lock that the holder refers to.
	viaHolder bool
}

// memberAt returns the name of the object passed to the function at the innermost frame of a
// stack.
func (r *names) memberAt(key memberKey) variable.Named {
	p, kind := key.stack, key.kind
	st, ok := r.observed.StackOf(p)
	if kind == event.KindVariable {
		return r.memberAccessed(p, st, key.at)
	}
	if st.Found != nil {
		return r.memberOfWait(int(st.TGID), st.Found, kind)
	}
	site := r.process.Site(st.Site)
	if ok && st.Call == 0 && site != nil && site.Lock != bpf.LockNone {
		if site.LockType == probes.RustRWLock {
			return variable.Named{Name: run.RustRWLock}
		}
		return variable.Named{Name: run.RustMutex}
	}
	if !ok || st.Call > 0 || site == nil || site.Argument == 0 || bpf.Op(site.BPF.Op) == bpf.OpWait && kind == event.KindMutex {
		return variable.Named{}
	}
	pcs := r.callStack(p, st)
	if len(pcs) < 2 {
		return variable.Named{}
	}
	seg, ok := r.process.Segment(int(st.TGID), pcs[0])
	if !ok || pcs[0]-seg.Bias != site.At {
		return variable.Named{}
	}
	return r.followCallers(int(st.TGID), pcs[1:], passedObject{module: seg.Module, function: site.At, argument: site.Argument})
}

// memberAccessed returns the name of what the instruction of a stack accesses through a pointer, or of what a
// library function accesses that it calls, or a string instruction, from bytes behind the address that it is given.
func (r *names) memberAccessed(p event.StackID, st observer.Stack, from int64) variable.Named {
	pcs := r.callStack(p, st)
	if len(pcs) == 0 {
		return variable.Named{}
	}
	seg, ok := r.process.Segment(int(st.TGID), pcs[0])
	if !ok {
		return variable.Named{}
	}
	at := pcs[0] - seg.Bias
	if site := r.process.Site(st.Site); site != nil && site.Argument > 0 {
		a, ok := r.argumentsOf(seg.Module).At(at, site.Argument)
		if site.Callee != "" {
			from += site.BPF.ObjectDisp
		}
		return r.dataMember(seg.Module, a, ok, from)
	}
	code, err := seg.Module.Bin.Bytes(at, seg.Module.Bin.Arch().MaxLen())
	if err != nil {
		return variable.Named{}
	}
	in, err := insn.Decode(seg.Module.Bin.Arch(), code, at)
	if err != nil || in.NMem != 1 {
		return variable.Named{}
	}
	m := in.Mem[0]
	a, ok := r.argumentsOf(seg.Module).Register(at, m.Base)
	if (!ok || a.Type == 0) && m.Index != insn.NoReg && m.Scale <= 1 {
		a, ok = r.argumentsOf(seg.Module).Register(at, m.Index) // which of the two is the pointer is not said
	}
	named := r.dataMember(seg.Module, a, ok, m.Disp)
	elements := m.Scale <= 1 || a.Type != 0 && int64(m.Scale) == r.namesOf(seg.Module).Size(a.Type)
	if m.Index != insn.NoReg && !elements && !strings.Contains(named.Name, "[") {
		return variable.Named{} // compilers add what lies before an array to the index
	}
	return named
}

// dataMember returns the name of what lies some bytes behind the address that an argument has, if that is
// known.
func (r *names) dataMember(m *loader.Module, a field.Argument, known bool, from int64) variable.Named {
	if !known || a.Type == 0 {
		return variable.Named{}
	}
	named, _ := r.namesOf(m).DataMember(a.Type, a.At+from, a.Local)
	if a.Local != "" {
		named.Name = fmt.Sprintf("%s on the stack of %s", named.Name, a.Function)
	}
	return named
}

// memberOfWait returns the name of the object that a thread was found waiting for: the one
// that it passed to the function of the C library in which it waits.
func (r *names) memberOfWait(pid int, pcs []uint64, kind event.Kind) variable.Named {
	for i := 1; i < min(len(pcs), maxInLibrary); i++ {
		seg, ok := r.process.Segment(pid, pcs[i])
		lib, ok2 := r.process.Segment(pid, pcs[i-1])
		if !ok || !ok2 {
			break
		}
		name := seg.Module.Bin.CalledBefore(pcs[i] - seg.Bias)
		argument := futex.Argument(name, futexKinds[kind])
		if argument == 0 {
			continue
		}
		for _, f := range lib.Module.Bin.Lookup(name) { // each symbol version of the function
			if named := r.followCallers(pid, pcs[i:], passedObject{module: lib.Module, function: f.Addr, argument: argument}); named.Name != "" {
				return named
			}
		}
		break
	}
	return variable.Named{}
}

// followCallers follows an argument back through the callers that only pass it on, and returns
// the name of the object. Pcs are the return addresses of the function's frame and of the
// frames outside it.
func (r *names) followCallers(pid int, pcs []uint64, what passedObject) variable.Named {
	for i, n := 0, 0; i < len(pcs) && n < maxPassed; n++ {
		seg, ok := r.process.Segment(pid, pcs[i])
		if !ok {
			break
		}
		at, direct, ok := r.passes(seg.Module, pcs[i]-seg.Bias, what)
		if !ok {
			break
		}
		named, next := r.follow(seg.Module, at, what)
		if named.Name != "" || next.argument == 0 {
			return named
		}
		if what = next; direct {
			i++
		}
	}
	return variable.Named{}
}

// passes returns the address of the instruction that enters the function: the call before a
// return address (direct is true), or the tail-call jump in the function which that call
// enters.
func (r *names) passes(m *loader.Module, ret uint64, to passedObject) (at uint64, direct, ok bool) {
	for _, in := range callsBefore(m, ret) {
		if enters(m, &in, to) {
			return in.Addr, true, true
		}
		if in.Kind != insn.Call {
			continue
		}
		if at, ok := tail(m, in.Target, to); ok {
			return at, false, true
		}
	}
	return 0, false, false
}

// callsBefore decodes the calls that end at an address.
func callsBefore(m *loader.Module, ret uint64) (out []insn.Inst) {
	arch := m.Bin.Arch()
	for n := uint64(2); n <= 8 && n <= ret; n++ {
		code, err := m.Bin.Bytes(ret-n, int(n))
		if err != nil || uint64(len(code)) < n {
			continue
		}
		in, err := insn.Decode(arch, code, ret-n)
		if err == nil && uint64(in.Len) == n && (in.Kind == insn.Call || in.Kind == insn.IndirectCall) {
			out = append(out, in)
		}
	}
	return out
}

// enters reports whether an instruction calls or jumps to the function: by its address, or
// through the PLT or GOT of a dynamically linked program.
func enters(m *loader.Module, in *insn.Inst, to passedObject) bool {
	name := ""
	switch in.Kind {
	case insn.Call, insn.Jump:
		if m == to.module && in.Target == to.function {
			return true
		}
		name = m.Bin.PLTTargets()[in.Target]
	case insn.IndirectCall, insn.IndirectJump:
		if in.NMem == 1 && in.Mem[0].Fixed {
			name = m.Bin.GOTSlots()[in.Mem[0].Addr]
		}
	}
	if name == "" {
		return false
	}
	for _, s := range to.module.Bin.Lookup(name) {
		if s.Addr == to.function {
			return true
		}
	}
	return false
}

// maxPrologue bounds the size, in bytes, of functions that tail reads.
const maxPrologue = 4096

// tail returns the address of the only jump to the function to in the function at entry;
// false if there is none or more than one.
func tail(m *loader.Module, entry uint64, to passedObject) (at uint64, ok bool) {
	fn, known := m.Bin.FunctionAt(entry)
	if !known || fn.Lo != entry || fn.Hi-fn.Lo > maxPrologue {
		return 0, false
	}
	code, err := m.Bin.Bytes(fn.Lo, int(fn.Hi-fn.Lo))
	if err != nil {
		return 0, false
	}
	for _, in := range insn.DecodeRun(nil, m.Bin.Arch(), code, fn.Lo, nil) {
		if in.Kind != insn.Jump && in.Kind != insn.IndirectJump || !enters(m, &in, to) {
			continue
		}
		if ok {
			return 0, false
		}
		at, ok = in.Addr, true
	}
	return at, ok
}

// follow returns the name of the object passed at an instruction, or else the argument of the
// surrounding function that it was passed in. Both results are zero if neither is known.
func (r *names) follow(m *loader.Module, at uint64, what passedObject) (variable.Named, passedObject) {
	a, ok := r.argumentsOf(m).At(at, what.argument)
	if !ok {
		return variable.Named{}, passedObject{}
	}
	if a.Type != 0 && !what.viaHolder {
		if named, ok := r.namesOf(m).Member(a.Type, a.At+what.offset, a.Local); ok {
			if a.Local != "" {
				named.Name = fmt.Sprintf("%s on the stack of %s", named.Name, a.Function)
			}
			return named, passedObject{}
		}
	}
	next := passedObject{module: m, function: a.Entry, argument: a.Param, offset: what.offset + a.ParamAt, viaHolder: what.viaHolder}
	switch holder(r.linkage(m, a.Entry)) {
	case holderMade:
		next.argument, next.offset, next.viaHolder = 2, 0, false
	case holderLocks:
		next.argument, next.offset, next.viaHolder = 1, 0, true
	}
	return variable.Named{}, next
}

func (r *names) argumentsOf(m *loader.Module) *field.Arguments {
	a := r.arguments[m]
	if a == nil {
		a = field.NewArguments(m.Bin)
		r.arguments[m] = a
	}
	return a
}

// linkage returns the linked name of the function at an address.
func (r *names) linkage(m *loader.Module, entry uint64) string {
	frames := r.table(m).Frames(entry)
	return frames[len(frames)-1].Linkage
}

type holderRole uint8

const (
	noHolder    holderRole = iota
	holderMade             // a constructor, whose second argument is the lock
	holderLocks            // lock(), whose first argument is a holder that refers to the lock
)

// holders are C++'s classes that hold one lock, in the form that follows std in mangled names.
var holders = []string{"10lock_guardI", "11unique_lockI", "11shared_lockI"}

// holder returns the role of a function, by its mangled name, as a constructor or as lock() of
// a C++ lock holder. A holder refers to the lock that its constructor received (C++23,
// [thread.lock]).
func holder(linkage string) holderRole {
	rest, ok := strings.CutPrefix(linkage, "_ZNSt")
	if i := strings.Index(rest, "__1"); i == 1 { // LLVM's library: _ZNSt3__110lock_guardI…
		rest = rest[len("3__1"):]
	}
	if !ok || !slices.ContainsFunc(holders, func(h string) bool { return strings.HasPrefix(rest, h) }) {
		return noHolder
	}
	switch {
	case strings.Contains(rest, "EC1ERS") || strings.Contains(rest, "EC2ERS") || strings.Contains(rest, "EC1ERT") || strings.Contains(rest, "EC2ERT"):
		return holderMade
	case strings.HasSuffix(rest, "E4lockEv"):
		return holderLocks
	}
	return noHolder
}
