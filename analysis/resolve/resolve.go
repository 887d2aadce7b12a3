// Package resolve gives names to what the observer identified: places become
// functions, files and lines, locks become the variables that hold them, and
// threads get their start routines. It joins the observer's tables with the
// files that the loader mapped, and answers the questions of analysis/report.
package resolve

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/tracepredict/tracepredict/analysis/report"
	"github.com/tracepredict/tracepredict/loader"
	"github.com/tracepredict/tracepredict/observer"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/probes"
	"github.com/tracepredict/tracepredict/probes/field"
	"github.com/tracepredict/tracepredict/probes/insn"
	"github.com/tracepredict/tracepredict/probes/symbolize"
	"github.com/tracepredict/tracepredict/probes/variable"
)

// Process is what a Resolver must know of the observed process, and of those that
// it forked; a loader.Session is one.
type Process interface {
	PID() int
	Segment(pid int, addr uint64) (loader.Segment, bool)
	Segments(pid int) []loader.Segment
	Site(index uint32) *probes.Site
}

// Observed is what a Resolver must know of the run; an observer.Observer knows
// it.
type Observed interface {
	StackOf(event.PlaceID) (observer.Stack, bool)
	ObjectInfo(event.ObjectID) (observer.Object, bool)
	ThreadInfo(event.ThreadID) (observer.Thread, bool)
}

// Resolver implements report.Resolver for a process. Not for concurrent use.
type Resolver struct {
	process  Process
	observed Observed
	tables   map[*loader.Module]*symbolize.Table
	names    map[*loader.Module]*variable.Names

	arguments map[*loader.Module]*field.Arguments
	members   map[passing]variable.Named
}

// New makes a resolver.
func New(p Process, o Observed) *Resolver {
	return &Resolver{process: p, observed: o, tables: map[*loader.Module]*symbolize.Table{}, names: map[*loader.Module]*variable.Names{},
		arguments: map[*loader.Module]*field.Arguments{}, members: map[passing]variable.Named{}}
}

func (r *Resolver) table(m *loader.Module) *symbolize.Table {
	t := r.tables[m]
	if t == nil {
		t = symbolize.New(m.Bin, symbolize.WithModule(m.Path))
		r.tables[m] = t
	}
	return t
}

// Frames gives the calling chain of a place; report.Resolver.
func (r *Resolver) Frames(p event.PlaceID) []event.Frame {
	st, ok := r.observed.StackOf(p)
	if !ok {
		return nil
	}
	var frames []event.Frame
	if st.Call > 0 {
		frames = append(frames, inKernel(st.Call-1))
	}
	for i, pc := range r.chain(st) {
		frames = append(frames, r.at(int(st.TGID), pc, i > 0)...)
	}
	return frames
}

// chain puts the recorded addresses in order: the probed instruction, the
// return address that lay on top of the stack, then the callers as the frame
// pointers gave them. Those are only as good as the program's use of frame
// pointers: what is no return address of a call ends the chain.
func (r *Resolver) chain(st observer.Stack) []uint64 {
	if st.Found != nil {
		return st.Found
	}
	site := r.process.Site(st.Site)
	if len(st.Frames) == 0 {
		return nil
	}
	pcs := []uint64{r.original(int(st.TGID), st.Frames[0], site)}
	if site != nil && site.Watchpoint {
		pcs[0] = r.beforeTrap(int(st.TGID), st.Caller) // the frame of a stepped copy is elsewhere
	}
	rest := st.Frames[1:]
	if st.Caller != 0 && site != nil && site.BPF.AtEntry != 0 {
		pcs = append(pcs, st.Caller)
		// The kernel may have found the caller too, by its own means.
		if len(rest) > 0 && rest[0] == st.Caller {
			rest = rest[1:]
		}
	}
	if len(pcs) > 1 {
		pcs = r.climb(int(st.TGID), pcs, st.Words, rest)
		if i := slices.Index(rest, pcs[len(pcs)-1]); i >= 0 {
			rest = rest[i+1:]
		}
	}
	for _, pc := range rest {
		if !r.afterCall(int(st.TGID), pc) {
			break
		}
		pcs = append(pcs, pc)
	}
	return pcs
}

// climb follows callers that keep no frame pointer, as libraries' wrappers do,
// for which the frame pointers skip the one above: as long as the distance to a
// function's own return address is certain from its code, that address is among
// the words recorded from the stack. It ends where the frame pointers take over.
func (r *Resolver) climb(pid int, pcs, words, rest []uint64) []uint64 {
	at := 0 // of the last return address in words
	for {
		depth, ok := r.frameDepth(pid, pcs[len(pcs)-1])
		if !ok {
			return pcs
		}
		if at += 1 + int(depth/8); at >= len(words) || !r.afterCall(pid, words[at]) {
			return pcs
		}
		pcs = append(pcs, words[at])
		if slices.Contains(rest, words[at]) {
			return pcs
		}
	}
}

// frameDepth gives how far the stack pointer at the call that returns to pc lies
// below the function's return address, in bytes. What instructions add to the
// stack pointer is summed from the function's start; ok is false if control
// does not simply fall through to the call, or one of them sets it.
func (r *Resolver) frameDepth(pid int, pc uint64) (depth int64, ok bool) {
	seg, ok := r.process.Segment(pid, pc)
	if !ok {
		return 0, false
	}
	bin, end := seg.Module.Bin, pc-seg.Bias
	f, ok := bin.FunctionAt(end - 1)
	if !ok || end-f.Lo > maxPrologue {
		return 0, false
	}
	code, err := bin.Bytes(f.Lo, int(end-f.Lo))
	if err != nil {
		return 0, false
	}
	for addr := f.Lo; addr < end; {
		in, err := insn.Decode(bin.Arch(), code[addr-f.Lo:], addr)
		if err != nil || in.SPLost || !in.Known && in.Kind == insn.Plain {
			return 0, false
		}
		addr += uint64(in.Len)
		switch in.Kind {
		case insn.Jump, insn.IndirectJump, insn.Return, insn.Stop:
			return 0, false
		case insn.Call, insn.IndirectCall:
			if addr == end {
				return depth, depth >= 0 && depth%8 == 0
			}
		}
		depth -= in.SPChange
	}
	return 0, false
}

// maxPrologue bounds how much of a function is read for frameDepth, in bytes.
const maxPrologue = 4096

// original moves the address of a probe back to the instruction that it
// stands for, so that the line is that of the access and not of a later one.
func (r *Resolver) original(pid int, pc uint64, site *probes.Site) uint64 {
	if site == nil {
		return pc
	}
	seg, ok := r.process.Segment(pid, pc)
	if !ok || pc-seg.Bias != site.Addr {
		return pc
	}
	return site.At + seg.Bias
}

// afterCall reports whether the instruction before pc is a call.
func (r *Resolver) afterCall(pid int, pc uint64) bool {
	seg, ok := r.process.Segment(pid, pc)
	if !ok {
		return false
	}
	arch, addr := seg.Module.Bin.Arch(), pc-seg.Bias
	lengths := []int{5, 2, 3, 6, 7, 4, 8}
	if arch == insn.ARM64 {
		lengths = []int{4}
	}
	for _, n := range lengths {
		code, err := seg.Module.Bin.Bytes(addr-uint64(n), n)
		if err != nil || len(code) < n {
			continue
		}
		in, err := insn.Decode(arch, code, addr-uint64(n))
		if err == nil && in.Len == n && (in.Kind == insn.Call || in.Kind == insn.IndirectCall) {
			return true
		}
	}
	return false
}

// at names an address; a return address is named by its call.
func (r *Resolver) at(pid int, pc uint64, isReturn bool) []event.Frame {
	seg, ok := r.process.Segment(pid, pc)
	if !ok {
		return []event.Frame{{Addr: pc}}
	}
	addr := pc - seg.Bias
	look := addr
	if isReturn {
		look = symbolize.CallSite(addr)
	}
	var frames []event.Frame
	for _, f := range r.table(seg.Module).Frames(look) {
		frames = append(frames, event.Frame{Function: f.Function, File: f.File, Line: f.Line, Start: f.Start, Module: seg.Module.Path,
			Offset: f.Offset, Inlined: f.Inlined, Addr: pc})
	}
	return frames
}

// Object names an object; report.Resolver.
func (r *Resolver) Object(id event.ObjectID) report.ObjectInfo {
	info := r.unnamed(id)
	if info.Name == "" && info.Addr != 0 {
		o, _ := r.observed.ObjectInfo(id)
		r.named(&info, o)
	}
	return info
}

// unnamed is Object without the search for a variable that holds the object.
func (r *Resolver) unnamed(id event.ObjectID) report.ObjectInfo {
	o, _ := r.observed.ObjectInfo(id)
	return report.ObjectInfo{Name: o.Variable, Addr: o.Addr, Kind: o.Kind, Init: o.Init, First: o.First, FirstThread: o.FirstThread, Form: o.Form}
}

// Thread names a thread; report.Resolver.
func (r *Resolver) Thread(id event.ThreadID) report.ThreadInfo {
	t, ok := r.observed.ThreadInfo(id)
	if !ok {
		return report.ThreadInfo{}
	}
	info := report.ThreadInfo{ID: id, TID: t.TID, Parent: t.Parent, Created: t.Created, Main: t.TID == t.TGID, PID: t.TGID}
	if t.Start != 0 {
		if f := r.at(int(t.TGID), t.Start, false); len(f) > 0 {
			info.Start = f[len(f)-1].Function
		}
	}
	comm, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/comm", t.TGID, t.TID))
	if err == nil {
		info.Name = strings.TrimSpace(string(comm))
	}
	return info
}
