package live

import (
	"strings"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/loader"
	"github.com/tracepredict/tracepredict/observer"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/probes"
	"github.com/tracepredict/tracepredict/probes/function"
	"github.com/tracepredict/tracepredict/probes/libname"
	"github.com/tracepredict/tracepredict/probes/synctab"
	"github.com/tracepredict/tracepredict/probes/variable"
	"github.com/tracepredict/tracepredict/probes/watchpoint"
)

// kinds translates package synctab's kinds of object.
var kinds = map[synctab.Kind]event.Kind{
	synctab.KindMutex:     event.KindMutex,
	synctab.KindRWLock:    event.KindRWLock,
	synctab.KindSpin:      event.KindSpin,
	synctab.KindCond:      event.KindCond,
	synctab.KindBarrier:   event.KindBarrier,
	synctab.KindSemaphore: event.KindSemaphore,
	synctab.KindOnce:      event.KindOnce,
}

// siteInfo returns what the observer must know of a site.
func (l *Link) siteInfo(index uint32, site *probes.Site) *observer.SiteInfo {
	s := l.Session
	info := &observer.SiteInfo{
		Kind: kinds[site.Kind], Variable: site.Variable, Field: site.Target == probes.TargetField, Inside: site.Inside,
		NoInnerCalls: site.NoInnerCalls, RecordsLockKind: site.RecordsLockKind, ReportsOwnerDead: site.ReportsOwnerDead, Func: eventFunc(s, index, site),
		AtExit: site.AtExit, Repeats: site.Repeats, Traceless: site.Traceless, ObjectName: site.ObjectName, Marks: site.Marks, CountsWaiters: site.CountsWaiters,
	}
	if v, ok := s.Variable(site); ok {
		info.Form = FormOf(&v)
		info.Shift, info.Mask = uint8(v.Bits.Offset), ^uint64(0)>>(64-info.Form.Bits)
		info.Elements = elements(s, &v)
	}
	if n := uint64(site.BPF.Access.Width); site.Program == probes.ProgramWatch && n > 0 {
		info.OneWatchpoint = site.Addr%n == 0
	}
	if site.Try {
		info.Flags |= event.Try
	}
	if site.Timed {
		info.Flags |= event.Timed
	}
	if site.Atomic {
		info.Flags |= event.Atomic
	}
	if site.Polled {
		info.Flags |= event.Polled
	}
	if site.Untyped {
		info.Flags |= event.Untyped
	}
	if site.Wider {
		info.Flags |= event.Wider
	}
	if site.ResultUnused {
		info.Flags |= event.ResultUnused
	}
	if site.Sync {
		info.Sync = syncOf(site)
		info.Sync.Initial, info.Sync.HasInitial = site.Initial, site.HasInitial
	}
	if site.Program == probes.ProgramPointer || site.Program == probes.ProgramPointerAtomic {
		info.Pointer, info.Loads = true, uint8(site.Loads())
		if site.PerhapsAtomic() {
			info.Flags |= event.PerhapsAtomic
		}
		info.Sync = syncOf(site)
	}
	if site.Lock != bpf.LockNone {
		info.Kind, info.Lock = event.KindMutex, site.Lock
		if site.LockType == probes.RustRWLock {
			info.Kind = event.KindRWLock
		}
	}
	if site.Array != nil {
		info.Parts = partsOf(site, s.FollowsPointers())
	}
	if s.FollowsPointers() && info.Sync == nil && !info.Field && site.Method == nil && site.ObservesAccess() && site.BPF.Access.Width <= 8 {
		info.Bytes, info.Loads = site.BPF.Access.Width, uint8(site.Loads())
	}
	if site.Target == probes.TargetCompared && info.Elements == nil {
		// An address of 0 means that only another process's program has the variable. Then Check
		// is 1, which is the address of no access.
		info.Check = max(1, s.VariableAddr(s.PID(), site.Variable))
	}
	return info
}

// elements returns the addresses and names of an array's elements in the first process; nil
// if the variable is no array.
func elements(s *loader.Session, v *variable.Variable) *observer.Elements {
	if v.Array == nil {
		return nil
	}
	at := max(0, strings.LastIndex(v.Name, "[]"))
	return &observer.Elements{Addr: s.VariableAddr(s.PID(), v.Name), Stride: v.Array.Stride, Dims: v.Array.Dims,
		Before: v.Name[:at], After: strings.TrimPrefix(v.Name[at:], "[]")}
}

// partsOf returns the function SiteInfo.Parts of a site. Pointers reports whether accesses through pointers are
// recorded.
func partsOf(site *probes.Site, pointers bool) func(uint64) []observer.Part {
	return func(offset uint64) []observer.Part {
		parts := site.Array.Parts(int64(offset), site.Width)
		out := make([]observer.Part, len(parts))
		for i, p := range parts {
			out[i] = observer.Part{Offset: uint64(p.Offset), Name: p.Name, Wider: site.Loads() > p.Size, Whole: len(parts) == 1 && p.Leaf != nil && p.Offset == int64(offset) && p.Size == site.Width}
			if p.Leaf != nil {
				out[i].Form = FormOf(&p.Leaf.Scalar)
			} else {
				out[i].Loads = uint8(site.Loads())
			}
			if pointers && p.Size <= 8 {
				out[i].Bytes = uint8(p.Size)
			}
		}
		return out
	}
}

// checkIn returns SiteInfo.Check for a site in another process.
func (l *Link) checkIn(tgid, index uint32) uint64 {
	site := l.Session.Site(index)
	if site == nil {
		return 1
	}
	return max(1, l.Session.VariableAddr(int(tgid), site.Variable))
}

// lifeOf returns a function's effect on the lifetime of its instance.
func lifeOf(fn *function.Function) event.Life {
	switch {
	case fn.Constructor:
		return event.LifeBegin
	case fn.Destructor:
		return event.LifeEnd
	}
	return event.LifeNone
}

// eventFunc returns the description of the function whose calls a site records; nil for other
// sites.
func eventFunc(s *loader.Session, index uint32, site *probes.Site) *event.Func {
	fn := site.Method
	if fn == nil {
		return nil
	}
	f := &event.Func{Name: fn.Name, Module: s.SiteModule(index), Result: fn.ResultType, ReturnsAddress: fn.ReturnsAddress, Life: lifeOf(fn)}
	for _, p := range fn.Params {
		f.Params = append(f.Params, event.Param{Name: p.Name, Type: p.Type, Index: p.Index, Stored: p.Stored != 0, Element: p.Element})
	}
	patterns := s.Patterns()
	for _, i := range fn.Patterns {
		f.Patterns = append(f.Patterns, event.Pattern{Pattern: patterns[i].Text, Return: patterns[i].Return})
	}
	return f
}

// classes translates the class of a variable's values.
var classes = map[variable.Class]event.FormClass{
	variable.Int: event.FormSigned, variable.Uint: event.FormUnsigned, variable.Bool: event.FormBool, variable.Enum: event.FormUnsigned,
	variable.Pointer: event.FormPointer, variable.Float: event.FormFloat,
}

// FormOf returns the form in which reports write the values of a variable. It has at most as
// many bits as are watched.
func FormOf(v *variable.Variable) *event.Form {
	bits := 8 * min(max(v.Size, 1), 8)
	if v.Bits.Size > 0 {
		bits = min(v.Bits.Size, 64)
	}
	f := &event.Form{Class: classes[v.Class], Bits: uint8(bits)}
	switch {
	case v.Char && v.Class == variable.Int:
		f.Class = event.FormChar
	case v.Char:
		f.Class = event.FormUChar
	case v.Class == variable.Enum && v.Signed:
		f.Class = event.FormSigned
	}
	mask := ^uint64(0) >> (64 - bits)
	var names []event.Name
	for _, c := range v.Constants {
		names = append(names, event.Name{Value: uint64(c.Value) & mask, Text: c.Name})
	}
	f.Names = event.SortNames(names)
	return f
}

// Touch classifies an access that a hardware watchpoint saw, by decoding the code of the
// program or of the kernel.
func (l *Link) Touch(r observer.Trap) observer.Touch {
	s := l.Session
	hint := watchpoint.Hint{Source: r.Source, Dest: r.Dest}
	if r.Kernel {
		before, at, ok := s.KernelCode(r.IP)
		if !ok {
			return observer.Touch{}
		}
		a, ok := watchpoint.InKernel(before, at, hint)
		return touchOf(r, a, ok)
	}
	seg, ok := s.Segment(int(r.TGID), r.IP-1)
	if !ok {
		return observer.Touch{}
	}
	if libname.Loader(seg.Module.Path) {
		return observer.Touch{Relocation: true}
	}
	width := 0
	if site := s.Site(r.Site); site != nil {
		width = int(site.BPF.Access.Width)
	}
	a, ok := watchpoint.Before(seg.Module.Bin, r.IP-seg.Bias, r.Object-seg.Bias, width, hint)
	t := touchOf(r, a, ok)
	t.Wider = ok && width > 0 && probes.Wider(a.Width, width) && !a.Repeats
	return t
}

func touchOf(r observer.Trap, a watchpoint.Access, ok bool) observer.Touch {
	t := observer.Touch{Atomic: a.Atomic, Repeats: a.Repeats}
	if a.Repeats {
		t.Last = r.IP + uint64(a.Len)
	}
	switch {
	case !ok:
	case a.Read && a.Write:
		t.Op = event.Update
	case a.Write:
		t.Op = event.Write
	default:
		t.Op = event.Read
	}
	return t
}

// beforeTrap returns the address of the instruction that had been executed when the
// instruction pointer was pc. For an access by the kernel, that is the system call
// instruction.
func (r *names) beforeTrap(pid int, pc uint64) uint64 {
	seg, ok := r.process.Segment(pid, pc-1)
	if !ok {
		return pc
	}
	a, ok := watchpoint.Before(seg.Module.Bin, pc-seg.Bias, 0, 0, watchpoint.Hint{})
	if !ok {
		return pc - 1
	}
	return a.Addr + seg.Bias
}

// syncOf returns the description of an access that synchronises.
func syncOf(site *probes.Site) *observer.Sync {
	return &observer.Sync{
		Store: site.Store, How: site.Values, Delta: site.Delta, Width: site.BPF.Access.Width, Adds: site.Adds, Test: observer.Test(site.Test),
	}
}
