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
	"github.com/tracepredict/tracepredict/observer/run"
	"github.com/tracepredict/tracepredict/probes"
	"github.com/tracepredict/tracepredict/probes/field"
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
	Chain(place uint32) []uint64
}

// Observed is what a Resolver must know of the run; an observer.Observer knows
// it.
type Observed interface {
	StackOf(event.StackID) (observer.Stack, bool)
	ObjectInfo(event.ObjectID) (run.Object, bool)
	ThreadInfo(event.ThreadID) (run.Thread, bool)
	FuncInfo(event.FuncID) (event.Func, bool)
}

// Resolver implements run.Namer for a process. Not for concurrent use.
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

// Frames gives the calling chain of a place; run.Namer.
func (r *Resolver) Frames(p event.StackID) []event.Frame {
	st, ok := r.observed.StackOf(p)
	if !ok {
		return nil
	}
	var frames []event.Frame
	if st.Call > 0 {
		frames = append(frames, inKernel(st.Call-1))
	}
	for i, pc := range r.chain(p, st) {
		frames = append(frames, r.at(int(st.TGID), pc, i > 0)...)
	}
	return frames
}

// chain gives the calling chain of a place, from the instruction that the probe stands
// for.
func (r *Resolver) chain(p event.StackID, st observer.Stack) []uint64 {
	if st.Found != nil {
		return st.Found
	}
	pcs := slices.Clone(r.process.Chain(uint32(p)))
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

// Object names an object; run.Namer.
func (r *Resolver) Object(id event.ObjectID) run.Object {
	o, _ := r.observed.ObjectInfo(id)
	if o.Name == "" && o.Addr != 0 {
		r.named(&o)
	}
	return o
}

// Thread names a thread; run.Namer.
func (r *Resolver) Thread(id event.ThreadID) run.Thread {
	t, ok := r.observed.ThreadInfo(id)
	if !ok {
		return t
	}
	if t.StartAddr != 0 {
		if f := r.at(int(t.TGID), t.StartAddr, false); len(f) > 0 {
			t.Start = report.FrameName(f[len(f)-1])
		}
	}
	comm, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/comm", t.TGID, t.TID))
	if err == nil {
		t.Name = strings.TrimSpace(string(comm))
	}
	return t
}

// Func returns what is known of a function; run.Namer.
func (r *Resolver) Func(id event.FuncID) event.Func {
	f, _ := r.observed.FuncInfo(id)
	return f
}
