package verdict

import (
	"slices"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/finding/reason"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

// On x86-64 the loads and stores of atomic built-ins are plain moves, and a variable of a plain type may be accessed by
// nothing else. Its use shows that: one thread writes data and then stores the variable, and another thread loads what
// was stored, branches on it, and then accesses the same data, which no lock guards and which are in no race themselves.
// So a race on such a flag is in doubt.

// flagOf returns the reason for doubt that the variable of a race is a flag by its use. All are the findings of which
// this is one: what they race on is no data that a flag hands over.
func (j *Judge) flagOf(f *finding.Finding, all []finding.Finding) reason.Reason {
	if f.Kind != finding.Race || j.Run.Names == nil || j.Run.Code == nil || !f.Confidence.AtLeast(finding.Predicted) || !j.movesPlainly(f) {
		return reason.Reason{}
	}
	if j.flags == nil {
		j.flags = handOvers(j.Record, all)
	}
	for _, h := range j.flags[f.Objects[0]] {
		if j.Run.Code.Branches(h.read) {
			return reason.Reason{What: reason.PerhapsFlag, Thread: h.reader, Other: h.writer, Object: h.data, Stack: h.at}
		}
	}
	return reason.Reason{}
}

// movesPlainly reports whether the accesses of a race are loads and stores that the program makes itself, of which
// nothing shows that they are no atomic ones.
func (j *Judge) movesPlainly(f *finding.Finding) bool {
	for i := range f.Evidence {
		e := &f.Evidence[i]
		frames := j.Run.Names.Frames(e.Stack)
		if e.Op != event.Read && e.Op != event.Write || e.Flags&event.Freed != 0 || len(frames) > 0 && run.InLibrary(frames[0]) {
			return false
		}
	}
	return true
}

// handOver is a use of a flag: the reader loaded it at a call stack, and then accessed data that the writer had accessed
// before it stored the flag.
type handOver struct {
	writer, reader event.ThreadID
	read           event.StackID
	data           event.ObjectID
	at             event.StackID // of the reader's access of the data
}

const (
	maxFlags     = 1 << 10 // variables that are looked at
	maxHandOvers = 8       // of one flag, each from another call stack
	maxRecent    = 48      // accesses of data of one thread that are kept
)

// flagFinder finds what flags hand over.
type flagFinder struct {
	flags   map[event.ObjectID]*flag
	threads map[event.ThreadID]*flagThread
	racing  map[event.ObjectID]bool
	found   map[event.ObjectID][]handOver
}

// flag is a variable that may be a flag.
type flag struct {
	value  uint64
	valued bool
	writer event.ThreadID // of the last store, if that changed the value; else 0
	data   []dataAccess   // those of the writer before it
}

// dataAccess is what a thread did with data lately.
type dataAccess struct {
	object event.ObjectID
	wrote  bool
	held   []event.ObjectID
}

// flagThread is what a thread did lately.
type flagThread struct {
	held   []event.ObjectID
	recent []dataAccess
	looked []look
}

// look is the latest load of a flag by a thread that saw what another one had stored.
type look struct {
	flag   event.ObjectID
	writer event.ThreadID
	read   event.StackID
	data   []dataAccess
}

// handOvers returns what flags handed over in a run, by flag. Candidates are the variables of races.
func handOvers(record Record, races []finding.Finding) map[event.ObjectID][]handOver {
	f := flagFinder{
		flags: map[event.ObjectID]*flag{}, threads: map[event.ThreadID]*flagThread{}, racing: map[event.ObjectID]bool{},
		found: map[event.ObjectID][]handOver{},
	}
	for i := range races {
		r := &races[i]
		if r.Kind != finding.Race || !r.Confidence.AtLeast(finding.Likely) {
			continue
		}
		f.racing[r.Objects[0]] = true
		if r.Confidence.AtLeast(finding.Predicted) && len(f.flags) < maxFlags {
			f.flags[r.Objects[0]] = &flag{}
		}
	}
	if len(f.flags) > 0 {
		for e := range record.Kept {
			f.event(e)
		}
	}
	return f.found
}

// event processes the next event of the run.
func (f *flagFinder) event(e *event.Event) {
	t := f.threads[e.Thread]
	if t == nil {
		t = &flagThread{}
		f.threads[e.Thread] = t
	}
	switch {
	case e.Op.IsAcquire():
		t.held = append(t.held, e.Object)
	case e.Op == event.Release:
		if i := slices.Index(t.held, e.Object); i >= 0 {
			t.held = slices.Delete(t.held, i, i+1)
		}
	case e.Op.IsAccess() && f.flags[e.Object] != nil:
		f.ofFlag(t, e)
	case e.Op.IsAccess() && !f.racing[e.Object]:
		f.ofData(t, e)
	case e.Op.IsAccess() || e.Op == event.Begin || e.Op == event.Init || e.Op == event.Destroy || e.Op.IsCall():
	default: // other synchronisation may order what came before
		t.recent, t.looked = t.recent[:0], t.looked[:0]
	}
}

// ofFlag processes an access of a variable that may be a flag.
func (f *flagFinder) ofFlag(t *flagThread, e *event.Event) {
	x := f.flags[e.Object]
	bothKnown := x.valued && e.Flags&event.HasValue != 0 // those of accesses through pointers are not
	t.looked = slices.DeleteFunc(t.looked, func(l look) bool { return l.flag == e.Object })
	switch {
	case !e.Op.IsWrite():
		if !(bothKnown && x.value != e.Value) && x.writer != 0 && x.writer != e.Thread && e.Flags&(event.NoSource|event.Late) == 0 {
			t.looked = append(t.looked, look{e.Object, x.writer, e.Stack, x.data})
		}
		return
	case bothKnown && x.value == e.Value || e.Op != event.Write:
		x.writer, x.data = 0, nil
	default:
		x.writer, x.data = e.Thread, slices.Clone(t.recent)
	}
	x.value, x.valued = e.Value, e.Flags&event.HasValue != 0
}

// ofData processes an access of another variable.
func (f *flagFinder) ofData(t *flagThread, e *event.Event) {
	for _, l := range t.looked {
		for _, d := range l.data {
			if d.object == e.Object && (d.wrote || e.Op.IsWrite()) && !overlap(d.held, t.held) {
				f.add(l, e)
			}
		}
	}
	if e.Flags&event.Atomic != 0 {
		return
	}
	if i := slices.IndexFunc(t.recent, func(d dataAccess) bool { return d.object == e.Object }); i >= 0 {
		d := &t.recent[i]
		d.wrote = d.wrote || e.Op.IsWrite()
		d.held = slices.DeleteFunc(slices.Clone(d.held), func(l event.ObjectID) bool { return !slices.Contains(t.held, l) })
		return
	}
	if len(t.recent) == maxRecent {
		t.recent = slices.Delete(t.recent, 0, 1)
	}
	t.recent = append(t.recent, dataAccess{e.Object, e.Op.IsWrite(), slices.Clone(t.held)})
}

// add records what a flag handed over to the thread of e, once for each call stack of the load.
func (f *flagFinder) add(l look, e *event.Event) {
	all := f.found[l.flag]
	if len(all) < maxHandOvers && !slices.ContainsFunc(all, func(h handOver) bool { return h.read == l.read }) {
		f.found[l.flag] = append(all, handOver{writer: l.writer, reader: e.Thread, read: l.read, data: e.Object, at: e.Stack})
	}
}

// overlap reports whether two sets have an element in common.
func overlap(a, b []event.ObjectID) bool {
	return slices.ContainsFunc(a, func(x event.ObjectID) bool { return slices.Contains(b, x) })
}
