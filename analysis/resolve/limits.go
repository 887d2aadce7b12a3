package resolve

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/tracepredict/tracepredict/loader"
	"github.com/tracepredict/tracepredict/observer"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
	"github.com/tracepredict/tracepredict/probes"
	"github.com/tracepredict/tracepredict/probes/synctab"
	"github.com/tracepredict/tracepredict/probes/variable"
)

// kinds translates the table's kinds of object.
var kinds = map[synctab.Kind]event.Kind{
	synctab.KindMutex:     event.KindMutex,
	synctab.KindRWLock:    event.KindRWLock,
	synctab.KindSpin:      event.KindSpin,
	synctab.KindCond:      event.KindCond,
	synctab.KindBarrier:   event.KindBarrier,
	synctab.KindSemaphore: event.KindSemaphore,
	synctab.KindOnce:      event.KindOnce,
}

// SiteInfo says of a site what the observer must know; ok is false if the
// session has no such site.
func SiteInfo(s *loader.Session, index uint32) (info observer.SiteInfo, ok bool) {
	site := s.Site(index)
	if site == nil {
		return info, false
	}
	info.Kind = kinds[site.Kind]
	info.Variable, info.Field, info.Inside = site.Variable, site.Target == probes.TargetField, site.Inside
	if v, ok := s.Variable(site); ok {
		info.Form = formOf(&v)
		info.Shift, info.Mask = uint8(v.Bits.Offset), ^uint64(0)>>(64-info.Form.Bits)
		info.Elements = elements(s, &v)
	}
	if site.Try {
		info.Flags |= event.Try
	}
	info.Alone, info.TellsKind, info.TellsDead = site.Alone, site.TellsKind, site.TellsDead
	if site.Timed {
		info.Flags |= event.Timed
	}
	if site.Atomic {
		info.Flags |= event.Atomic
	}
	info.Func = eventFunc(s, index, site)
	if site.Sync {
		info.Sync = &observer.Sync{How: site.Values, Delta: site.Delta, Width: site.BPF.Width, Initial: site.Initial, HasInitial: site.HasInitial}
	}
	if site.Array != nil {
		info.Parts = partsOf(site)
	}
	if site.Target == probes.TargetCompared && info.Elements == nil {
		info.Check = max(1, s.VariableAddr(s.PID(), site.Variable)) // 1 is no address: of another process's program
	}
	return info, true
}

// elements says where the elements of an array are in the first process; nil of
// another variable.
func elements(s *loader.Session, v *variable.Variable) *observer.Elements {
	if v.Array == nil {
		return nil
	}
	at := max(0, strings.LastIndex(v.Name, "[]"))
	return &observer.Elements{Addr: s.VariableAddr(s.PID(), v.Name), Stride: v.Array.Stride, Dims: v.Array.Dims,
		Before: v.Name[:at], After: strings.TrimPrefix(v.Name[at:], "[]")}
}

// partsOf says what an access of an array's element touches.
func partsOf(site *probes.Site) func(uint64) []observer.Part {
	return func(offset uint64) []observer.Part {
		parts := site.Array.Parts(int64(offset), site.Width)
		out := make([]observer.Part, len(parts))
		for i, p := range parts {
			out[i] = observer.Part{Offset: uint64(p.Offset), Name: p.Name, Whole: len(parts) == 1 && p.Leaf != nil && p.Offset == int64(offset) && p.Size == site.Width}
			if p.Leaf != nil {
				out[i].Form = formOf(&p.Leaf.Scalar)
			}
		}
		return out
	}
}

// CheckIn gives SiteInfo.Check for a site in another process.
func CheckIn(s *loader.Session, tgid, index uint32) uint64 {
	site := s.Site(index)
	if site == nil {
		return 1
	}
	return max(1, s.VariableAddr(int(tgid), site.Variable))
}

// Summary says of a run what reports and traces tell of it: with what limits
// its result, that is what was lost, and what nobody saw.
func Summary(s *loader.Session, o *observer.Observer, lost loader.Lost) run.Summary {
	st := o.Stats()
	sum := run.Summary{PID: s.PID(), Became: s.Became(), Events: st.Events, Lost: lost.Records, Holed: st.Holed, Threads: st.Threads, Notes: notes(s, o, lost), Unseen: unseenSync(s), Unfollowed: lost.Pending}
	if ps := s.Processes(); len(ps) > 1 {
		for _, p := range ps {
			sum.Processes = append(sum.Processes, run.Process(p))
		}
	}
	if sum.Unseen != "" {
		sum.Notes = append(sum.Notes, sum.Unseen+": what is predicted is potential at most, which --confidence potential shows")
	}
	if busy := s.TooBusy(); len(busy) > 0 {
		sum.Notes = append(sum.Notes, tooBusy(busy))
		sum.Unseen = cmp.Or(sum.Unseen, fmt.Sprintf("%s is accessed too often to be observed to the end, and may so order any two events", busy[0]))
	}
	if paths := s.Unobserved(); len(paths) > 0 && sum.Unseen == "" {
		sum.Unseen = fmt.Sprintf("%s is not observed, and may so order any two events", paths[0])
	}
	if lost.Records > 0 {
		sum.Unseen = fmt.Sprintf("%d events were lost, and what they did may order the two sides", lost.Records)
	}
	sum.Executed = executed(s, o.Executed())
	for id := event.ThreadID(1); ; id++ {
		t, ok := o.ThreadInfo(id)
		if !ok {
			return sum
		}
		if t.Unsure > 0 {
			sum.Unsure = append(sum.Unsure, run.Unsure{Thread: id, Until: t.Unsure})
		}
	}
}

// tooBusy says what was left out for its cost, and how to have it all the same.
func tooBusy(variables []string) string {
	which, them := fmt.Sprintf("the atomic variable %s was", variables[0]), "it"
	if n := len(variables); n > 1 {
		which, them = fmt.Sprintf("%d atomic variables (%s and others) were", n, variables[0]), "them"
	}
	return which + " accessed too often to be observed to the end: --watch observes " + them + " whatever the cost"
}

func notes(s *loader.Session, o *observer.Observer, lost loader.Lost) []string {
	var notes []string
	add := func(n uint64, format string) {
		if n > 0 {
			notes = append(notes, fmt.Sprintf(format, n))
		}
	}
	st := o.Stats()
	add(lost.Pending, "%d calls could not be followed to their return")
	add(lost.Stacks+lost.Places, "%d places have no calling chain")
	add(lost.Cut, "%d calling chains may be cut short: the ring buffer had no room for the stacks of so many new places at a time, or more than 64 chains lead to a place")
	add(st.Untold, "%d accesses that a hardware watchpoint saw were made by code that does not tell read from write: taken for a write where the value had changed")
	add(lost.Blocks, "%d blocks of memory were allocated while too many were followed: that they were freed was not seen")
	add(st.Contradicted, "%d reads saw another value than the last write recorded: they carry no order")
	if o.Attached() {
		add(st.UnheldReleases, "%d releases were of locks that were not seen to be taken: held since before the observation began")
	} else {
		add(st.UnheldReleases, "%d releases were made by threads that were not seen to hold the lock")
	}
	add(st.InferredReleases, "%d locks were taken although no release by their holder was seen")
	if st.Children == 1 {
		notes = append(notes, "a process that the program started was not observed: --follow observes such too")
	} else {
		add(st.Children, "%d processes that the program started were not observed: --follow observes such too")
	}
	for _, p := range s.Unmatched() {
		notes = append(notes, fmt.Sprintf("%q matched no function of the program or of any library that it loaded", p.Text))
	}
	return append(notes, s.Notes()...)
}

// maxExecuted bounds the places of which a summary tells. What a finding rests on is
// when the first of all was executed; the others only help to name one.
const maxExecuted = 128

// executed names the places that were executed, the earliest first.
func executed(s *loader.Session, places []run.Executed) []run.Executed {
	slices.SortStableFunc(places, func(a, b run.Executed) int { return cmp.Compare(first(a), first(b)) })
	places = places[:min(len(places), maxExecuted)]
	for i := range places {
		e := &places[i]
		e.Place = "synchronisation"
		if plan, place, ok := s.Place(e.Number); ok {
			e.Place = plan.Describe(place)
		}
	}
	return places
}

// first is the number of the first event that a place may have ordered.
func first(e run.Executed) uint64 {
	at := e.Left
	for _, h := range e.Hits {
		if at == 0 || h.Since < at {
			at = h.Since
		}
	}
	return at
}

// unseenSync looks for synchronisation in the program's own code that no probe
// sees: atomic instructions and futex calls. System libraries are left out:
// theirs implement the calls that are observed.
func unseenSync(s *loader.Session) string {
	for _, m := range s.Modules() {
		if probes.RuntimeLibrary(m.Path) {
			continue
		}
		n, first, what := s.UnseenIn(m)
		if n > 0 {
			return fmt.Sprintf("code of %s synchronises by itself at %d places that are not observed (the first: %s in %s), and may so order any two events",
				path.Base(m.Path), n, what, first)
		}
	}
	return ""
}
