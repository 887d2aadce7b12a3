// Package ownlocks finds the libraries that take locks all the time and for themselves alone: no section of theirs has an
// event in it, so that none of their locks can be part of a deadlock, guard what is observed, or order it. They cost most of
// what an observation costs.
package ownlocks

import (
	"slices"

	"github.com/tracepredict/tracepredict/observer/event"
)

// Bounds from which on a module costs enough to be left out.
const (
	minSections = 50_000 // of the module
	minRate     = 5_000  // of its sections a second
	minShare    = 8      // its acquisitions and releases are at least this part of all events

	maxStacks = 256 // distinct call stacks of its acquisitions; a module with more is not left out
)

// Options are what a Finder needs to know of a run.
type Options struct {
	// Module returns the number of the module whose code made the call at a call stack; 0: of one that is never left
	// out. It is not known until the call stack has been found, and is asked for again then.
	Module func(event.StackID) (number int, known bool)
	// Found is called, once for each, with a module that takes locks for itself alone, and the call stacks at which it
	// acquired them.
	Found func(module int, at []event.StackID)
}

// Finder counts the sections of modules. It is an observer.Sink.
type Finder struct {
	opts    Options
	events  uint64
	numbers []int32 // of modules, by StackID; see number
	modules []module
	held    [][]hold // by thread
}

// hold is a lock that a thread holds, and the number of the module that acquired it; 0: another one.
type hold struct {
	object event.ObjectID
	module int32
}

// module is what is known of a module.
type module struct {
	over     bool // it is not, or no longer, to be left out
	sections uint64
	began    uint64 // time of its first acquisition, ns
	stacks   []event.StackID
}

// New returns a Finder.
func New(opts Options) *Finder { return &Finder{opts: opts, modules: make([]module, 1)} }

// notKnown, in Finder.numbers, is a call stack of which no module is known yet.
const notKnown = -1

// Event implements observer.Sink.
func (f *Finder) Event(e *event.Event) {
	f.events++
	for int(e.Thread) >= len(f.held) {
		f.held = append(f.held, nil)
	}
	held := f.held[e.Thread]
	switch e.Op {
	case event.Acquire, event.AcquireRead:
		for i := range held {
			f.mixed(held[i].module)
		}
		m := f.number(e.Stack)
		if len(held) > 0 { // within a section of whatever module: an order of two locks
			f.mixed(m)
		}
		f.held[e.Thread] = append(held, hold{e.Object, m})
		f.count(m, e)
	case event.Release:
		if i := slices.IndexFunc(held, func(h hold) bool { return h.object == e.Object }); i >= 0 {
			if e.Flags&event.InCondWait != 0 {
				f.mixed(held[i].module)
			}
			f.held[e.Thread] = slices.Delete(held, i, i+1)
		}
	case event.End:
		f.held[e.Thread] = nil
	default:
		for i := range held {
			f.mixed(held[i].module)
		}
	}
}

// Remember implements observer.Rememberer: no names are asked for.
func (f *Finder) Remember(*event.Names) {}

// number returns the number of the module that a call stack is of; 0 if it is not known.
func (f *Finder) number(id event.StackID) int32 {
	if int(id) < len(f.numbers) && f.numbers[id] != notKnown {
		return f.numbers[id]
	}
	if id == 0 || id > event.StackID(maxNumbers) {
		return 0
	}
	for int(id) >= len(f.numbers) {
		f.numbers = append(f.numbers, notKnown)
	}
	n, known := f.opts.Module(id)
	if !known {
		return 0
	}
	f.numbers[id] = int32(n)
	for n >= len(f.modules) {
		f.modules = append(f.modules, module{})
	}
	if m := &f.modules[n]; n > 0 && len(m.stacks) < maxStacks {
		m.stacks = append(m.stacks, id)
	} else {
		m.over = true
	}
	return f.numbers[id]
}

// maxNumbers bounds the IDs of call stacks that are looked at.
const maxNumbers = 1 << 20

// mixed notes that a section of a module has something in it, or is in another one.
func (f *Finder) mixed(number int32) {
	if number > 0 {
		f.modules[number].over = true
	}
}

// count adds a section to those of a module, and calls Options.Found once if there are enough.
func (f *Finder) count(number int32, e *event.Event) {
	m := &f.modules[number]
	if number == 0 || m.over {
		return
	}
	if m.sections++; m.sections == 1 {
		m.began = e.Time
	}
	if m.sections < minSections || m.sections%1024 != 0 || 2*m.sections < f.events/minShare {
		return
	}
	if took := e.Time - m.began; took == 0 || m.sections*1_000_000_000/took < minRate {
		return
	}
	m.over = true
	f.opts.Found(int(number), m.stacks)
}
