// Package live joins a session of the loader with the observer of its records. It describes
// probe sites and accesses seen by hardware watchpoints to the observer. It finds names:
// functions, files and lines for stacks, variables for locks, and start routines for
// threads. It searches for hangs, records traces, reports guarded variables to the session,
// and makes the summary of the run.
//
// Only this package and the observer handle records. The package knows no analysis.
package live

import (
	"cmp"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/tracepredict/tracepredict/loader"
	"github.com/tracepredict/tracepredict/observer"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
	"github.com/tracepredict/tracepredict/probes"
	"github.com/tracepredict/tracepredict/probes/field"
	"github.com/tracepredict/tracepredict/probes/symbolize"
	"github.com/tracepredict/tracepredict/probes/variable"
)

// Process is the part of a loader.Session that names needs: the observed process, and those
// that it forked.
type Process interface {
	PID() int
	Segment(pid int, addr uint64) (loader.Segment, bool)
	Segments(pid int) []loader.Segment
	Overlaid(pid int, addr uint64) bool
	Site(index uint32) *probes.Site
	CallStack(place uint32) []uint64
}

// observed is the part of an observer.Observer that names needs.
type observed interface {
	StackOf(event.StackID) (observer.Stack, bool)
	ObjectInfo(event.ObjectID) (run.Object, bool)
	ThreadInfo(event.ThreadID) (run.Thread, bool)
	FuncInfo(event.FuncID) (event.Func, bool)
}

// names finds the names of the stacks, objects, threads and functions of a run; a run.Namer.
// It is not for concurrent use.
type names struct {
	process  Process
	observed observed
	tables   map[*loader.Module]*symbolize.Table
	names    map[*loader.Module]*variable.Names

	arguments map[*loader.Module]*field.Arguments
	members   map[memberKey]variable.Named
}

// newNames returns the names of a process.
func newNames(p Process, o observed) *names {
	return &names{process: p, observed: o, tables: map[*loader.Module]*symbolize.Table{}, names: map[*loader.Module]*variable.Names{},
		arguments: map[*loader.Module]*field.Arguments{}, members: map[memberKey]variable.Named{}}
}

func (r *names) table(m *loader.Module) *symbolize.Table {
	t := r.tables[m]
	if t == nil {
		t = symbolize.New(m.Bin, symbolize.WithModule(m.Path))
		r.tables[m] = t
	}
	return t
}

// Frames returns the frames of a stack; run.Namer.
func (r *names) Frames(p event.StackID) []event.Frame {
	st, ok := r.observed.StackOf(p)
	if !ok {
		return nil
	}
	var frames []event.Frame
	if st.Call > 0 {
		frames = append(frames, inKernel(st.Call-1))
	}
	if site := r.process.Site(st.Site); site != nil && site.Callee != "" {
		frames = append(frames, event.Frame{Function: site.Callee, Module: event.LibraryModule})
	}
	for i, pc := range r.callStack(p, st) {
		frames = append(frames, r.at(int(st.TGID), pc, i > 0)...)
	}
	return frames
}

// callStack returns the addresses of a call stack. The first is that of the observed
// instruction, even if the probe is at another one.
func (r *names) callStack(p event.StackID, st observer.Stack) []uint64 {
	if st.Found != nil {
		return st.Found
	}
	pcs := slices.Clone(r.process.CallStack(uint32(p)))
	if len(pcs) == 0 {
		return nil
	}
	site := r.process.Site(st.Site)
	pcs[0] = r.original(int(st.TGID), pcs[0], site)
	if site != nil && site.Program == probes.ProgramWatch {
		pcs[0] = r.beforeTrap(int(st.TGID), pcs[0])
	}
	return pcs
}

// original returns the address of the instruction that a probe observes. The source line is
// then that of the access, even if the probe was moved to a later instruction.
func (r *names) original(pid int, pc uint64, site *probes.Site) uint64 {
	if site == nil {
		return pc
	}
	seg, ok := r.process.Segment(pid, pc)
	if !ok || pc-seg.Bias != site.Addr {
		return pc
	}
	return site.At + seg.Bias
}

// at returns the frames at an address, with inlined functions, innermost first. For a return
// address, they are the frames at its call.
func (r *names) at(pid int, pc uint64, isReturn bool) []event.Frame {
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

// Object returns an object with its names; run.Namer.
func (r *names) Object(id event.ObjectID) run.Object {
	o, _ := r.observed.ObjectInfo(id)
	if o.Name == "" && o.Addr != 0 {
		r.setNames(&o)
	}
	if o.Kind == event.KindField && o.Init == 0 {
		o.Member = cmp.Or(r.variable(int(o.TGID), o.Addr).Name, r.inModule(int(o.TGID), o.Addr))
	}
	return o
}

// Thread returns a thread with its names; run.Namer.
func (r *names) Thread(id event.ThreadID) run.Thread {
	t, ok := r.observed.ThreadInfo(id)
	if !ok {
		return t
	}
	if t.StartAddr != 0 {
		if f := r.at(int(t.TGID), t.StartAddr, false); len(f) > 0 {
			t.Start = run.FrameName(f[len(f)-1])
		}
	}
	return t
}

// nameOf returns the name of a living thread, "" if that cannot be read.
func nameOf(tgid, tid uint32) string {
	comm, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/comm", tgid, tid))
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(string(comm), "\n")
}

// Func returns what is known of a function; run.Namer.
func (r *names) Func(id event.FuncID) event.Func {
	f, _ := r.observed.FuncInfo(id)
	return f
}

func (r *names) namesOf(m *loader.Module) *variable.Names {
	n := r.names[m]
	if n == nil {
		n = variable.NewNames(m.Bin)
		r.names[m] = n
	}
	return n
}

// setNames sets the names of an object: the variable that contains it, or the type and member
// that it is, and its class. The class of an object of unknown type is the source location
// at which it was initialised.
func (r *names) setNames(o *run.Object) {
	if o.Kind == event.KindVariable {
		if o.Name = probes.LibraryState(o.Addr); o.Name != "" {
			return
		}
	}
	v := r.variable(int(o.TGID), o.Addr)
	if o.Name, o.Class = v.Name, v.Class; o.Name != "" {
		return
	}
	m := r.member(o)
	o.Member, o.Class = m.Name, m.Class
	o.Block.Element = elementSize(&o.Block, m)
	if o.Member == "" {
		o.Name = r.inModule(int(o.TGID), o.Addr)
	}
	if o.Kind == event.KindVariable {
		return // Init is where its memory was allocated, as is that of other variables
	}
	if f := run.OwnFrame(r.Frames(o.Init)); o.Class == "" && f.Function != "" {
		o.Class = fmt.Sprintf("%s initialised in %s", o.Kind, f.Function)
		if f.File != "" && f.Line > 0 {
			o.Class += fmt.Sprintf(" at %s:%d", path.Base(f.File), f.Line)
		}
	}
}

// elementSize returns run.Block.Element of a block in which a member of a type lies.
func elementSize(b *run.Block, m variable.Named) uint64 {
	size, at := uint64(max(m.Size, 0)), uint64(max(m.At, 0))
	if size == 0 || b.Size <= size || b.Size%size != 0 || b.Offset < at || (b.Offset-at)%size != 0 {
		return 0
	}
	return size
}

// inModule returns the location of an object in the data of a module, as module+0x…; "" if it
// lies on the heap or a stack.
func (r *names) inModule(pid int, addr uint64) string {
	for _, seg := range slices.Backward(r.process.Segments(pid)) {
		if linked := addr - seg.Bias; seg.Module.Bin.IsData(linked) {
			return fmt.Sprintf("%s+%#x", path.Base(seg.Module.Path), linked)
		}
	}
	return ""
}

// variable returns the variable of static storage at an address of the process. Its name is
// the one in a specification, if that has one, or else includes the member or element at
// the address.
func (r *names) variable(pid int, addr uint64) variable.Named {
	for _, seg := range slices.Backward(r.process.Segments(pid)) { // the latest program's, after an execve
		linked := addr - seg.Bias
		t := r.table(seg.Module)
		base, off, ok := t.Data(linked)
		var named variable.Named
		if ok {
			named = r.namesOf(seg.Module).Static(base, linked-off, off, t.SharesName(linked))
		}
		if plan := seg.Module.Plan; plan != nil {
			if name, ok := plan.Object(linked); ok {
				named.Name = name
			}
		}
		if named.Name != "" {
			return named
		}
	}
	return variable.Named{}
}
