package report

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

// ThreadState is a run.ThreadState with names.
type ThreadState struct {
	Thread  Thread
	Step    Step // Op, Object, Peer, Flags, Stack
	Stopped bool
	Call    string
	By      []event.ThreadID
	Ended   bool
}

// AddThreadStates adds the states of the threads of the process, in the order of threads. The
// report then describes this moment, not a run.
func (r *Report) AddThreadStates(states []run.ThreadState, names run.Namer) {
	b := newBuilder(names)
	r.ThreadStates = []ThreadState{}
	for _, s := range states {
		d := ThreadState{
			Thread: b.thread(s.Thread), Stopped: s.Stopped, Call: clean(s.Call), By: s.By, Ended: s.Ended,
			Step: Step{Step: finding.Step{Thread: s.Thread, Op: s.Op, Peer: s.Peer, Readers: s.Readers}, Stack: b.stack(s.Stack)},
		}
		if s.Object != 0 {
			d.Step.Object = b.object(s.Object)
		}
		if s.Timed {
			d.Step.Flags = event.Timed
		}
		r.ThreadStates = append(r.ThreadStates, d)
	}
	slices.SortStableFunc(r.ThreadStates, func(a, b ThreadState) int { return cmp.Compare(a.Thread.ID, b.Thread.ID) })
}

// phrase returns what the thread does, as "waits for 'm', which T2 holds".
func (d *ThreadState) phrase() string {
	switch {
	case d.Step.Op != event.None:
		text := waitsFor(d.Step)
		if len(d.By) > 0 && d.Step.Op != event.Join {
			text += ", which " + threadNumbers(d.By, len(d.By)) + map[bool]string{true: " holds", false: " hold"}[len(d.By) == 1]
		}
		if d.Ended {
			text += ", and the thread that held it has ended"
		}
		if d.Step.Flags&event.Timed != 0 {
			text += ", for a limited time"
		}
		return text
	case d.Stopped:
		return "is stopped"
	case d.Call != "":
		return "is in " + d.Call
	}
	return "runs"
}

// category returns phrases for the category of what the thread does, for one thread and for
// several. StateCounts counts threads by category.
func (d *ThreadState) category() (one, many string) {
	switch op := d.Step.Op; {
	case op.IsAcquire():
		return "waits for a lock", "wait for locks"
	case op == event.Wait && d.Step.Object == nil:
		return "waits to be woken", "wait to be woken"
	case op == event.Wait:
		return "waits on a condition", "wait on conditions"
	case op == event.SemWait:
		return "waits for a semaphore", "wait for semaphores"
	case op == event.BarrierArrive:
		return "waits at a barrier", "wait at barriers"
	case op == event.Join:
		return "waits for a thread to end", "wait for threads to end"
	case d.Stopped:
		return "is stopped", "are stopped"
	case d.Call != "":
		return "in " + d.Call, "in " + d.Call
	}
	return "runs", "run"
}

// StateCounts returns a text with the number of threads in each category, as "no thread waits
// for a lock; 4 threads: 1 in epoll_wait(2), 3 wait on conditions".
func StateCounts(all []ThreadState) string {
	counts, order, locks := map[string]int{}, []ThreadState(nil), 0
	for _, d := range all {
		_, key := d.category()
		if counts[key]++; counts[key] == 1 {
			order = append(order, d)
		}
		if d.Step.Op.IsAcquire() {
			locks++
		}
	}
	var parts []string
	for _, d := range order {
		one, many := d.category()
		parts = append(parts, counted(uint64(counts[many]), one, many))
	}
	threads := counted(uint64(len(all)), "thread", "threads") + ": " + strings.Join(parts, ", ")
	if locks == 0 {
		return "no thread waits for a lock; " + threads
	}
	return threads
}

// statesHead prints the first lines of a report with ThreadStates.
func (p *printer) statesHead(r Report) {
	style, verdict := p.style.title, "no hang in"
	if len(r.Findings) > 0 {
		style, verdict = p.style.bad, "a hang in"
		if r.Findings[0].Confidence == finding.Potential {
			verdict = "perhaps a hang in"
		}
	}
	p.para(style, 0, 2, fmt.Sprintf("tracepredict: %s %s (pid %d): %s", verdict, cmp.Or(r.Run.Called, path.Base(r.Run.Program)), r.Run.PID, StateCounts(r.ThreadStates)))
	p.notes(&r.Run)
}

// maxStateGroups is the number of groups of threads that the text shows.
const maxStateGroups = 50

// threadStates prints what the threads do. Threads that do the same at the same source location are
// one group; groups that wait for a lock come first.
func (p *printer) threadStates(r Report) {
	groups := groupStates(r.ThreadStates)
	for i, g := range groups {
		p.out.WriteByte('\n')
		if i == maxStateGroups {
			p.para(unchanged, 3, 5, fmt.Sprintf("and %s more, see --format json", counted(uint64(len(groups)-i), "group of threads", "groups of threads")))
			return
		}
		p.para(p.style.title, 3, 5, who(g)+tids(g)+": "+eachOf(len(g))+g[0].phrase())
		if s := g[0].Step.Stack; len(s.Frames) > 0 {
			p.indented(p.stack(s, p.width-3))
		}
	}
}

// eachOf returns the word that precedes a phrase for what several threads do.
func eachOf(n int) string {
	if n > 1 {
		return "each "
	}
	return ""
}

// who returns the threads of a group, as "T1 main thread" or "T2, T3 and 5 more (worker)".
func who(g []ThreadState) string {
	if len(g) == 1 {
		return g[0].Thread.label()
	}
	ids := each(g, func(d ThreadState) event.ThreadID { return d.Thread.ID })
	text := threadNumbers(ids, len(ids))
	if name := cmp.Or(g[0].Thread.Start, g[0].Thread.Name); name != "" {
		text += " (" + name + ")"
	}
	return text
}

// maxTIDs is the number of kernel ids of a group that the text shows.
const maxTIDs = 8

// tids returns the kernel ids of a group, by which ps, top and debuggers know threads, as ",
// tid 4153"; "" if they are not known.
func tids(g []ThreadState) string {
	var all []string
	for _, d := range g {
		if d.Thread.TID != 0 {
			all = append(all, strconv.Itoa(int(d.Thread.TID)))
		}
	}
	switch {
	case len(all) == 0:
		return ""
	case len(all) == 1:
		return ", tid " + all[0]
	case len(all) > maxTIDs:
		return fmt.Sprintf(", tids %s and %d more", strings.Join(all[:maxTIDs], " "), len(all)-maxTIDs)
	}
	return ", tids " + strings.Join(all, " ")
}

func groupStates(all []ThreadState) [][]ThreadState {
	var groups [][]ThreadState
	at := map[string]int{}
	for _, d := range all {
		key := d.key()
		i, ok := at[key]
		if !ok {
			i = len(groups)
			at[key], groups = i, append(groups, nil)
		}
		groups[i] = append(groups[i], d)
	}
	slices.SortStableFunc(groups, func(a, b []ThreadState) int {
		return boolRank(!a[0].Step.Op.IsAcquire()) - boolRank(!b[0].Step.Op.IsAcquire())
	})
	return groups
}

func boolRank(b bool) int {
	if b {
		return 1
	}
	return 0
}

// key is equal for threads that do the same. Each thread of a pool may wait on a condition of
// its own, so which condition it is makes no difference; which lock it is does.
func (d *ThreadState) key() string {
	_, sort := d.category()
	var b strings.Builder
	fmt.Fprintf(&b, "%s|%s|%t|%v|%t", sort, cmp.Or(d.Thread.Start, d.Thread.Name), d.Thread.Main, d.By, d.Ended)
	if o := d.Step.Object; o != nil {
		name := o.Name
		if o.Anonymous || o.numbered {
			name = ""
		}
		fmt.Fprintf(&b, "|%s|%s", o.Kind, name)
		if d.Step.Op.IsAcquire() {
			fmt.Fprintf(&b, "|%x", o.Addr)
		}
	}
	for _, f := range d.Step.Stack.Frames {
		fmt.Fprintf(&b, "|%s:%s:%d:%x", f.Module, f.Function, f.Line, f.Offset)
	}
	return b.String()
}

type jsonThreadState struct {
	Thread    event.ThreadID   `json:"thread"`
	TID       uint32           `json:"tid"`
	Name      string           `json:"name"`
	Start     string           `json:"start"`
	Main      bool             `json:"main"`
	State     string           `json:"state"`     // "running", "stopped", "asleep"
	Call      string           `json:"call"`      // the system call that it sleeps in
	Operation string           `json:"operation"` // the operation that it attempts by the call; "" if unknown
	Object    string           `json:"object,omitempty"`
	Peer      event.ThreadID   `json:"peer,omitempty"`
	Timed     bool             `json:"timed"`
	By        []event.ThreadID `json:"held_by"`
	Ended     bool             `json:"holder_ended"`
	Readers   int              `json:"readers,omitempty"`
	Stack
}

func (e *encoder) threadState(d ThreadState) jsonThreadState {
	e.step(&d.Step, sideFrames)
	out := jsonThreadState{
		Thread: d.Thread.ID, TID: d.Thread.TID, Name: d.Thread.Name, Start: d.Thread.Start, Main: d.Thread.Main, State: "running",
		Call: d.Call, Peer: d.Step.Peer, Timed: d.Step.Flags&event.Timed != 0, By: each(d.By, unchanged), Ended: d.Ended,
		Readers: d.Step.Readers, Object: d.Step.Name, Stack: d.Step.Stack,
	}
	if d.Stopped {
		out.State = "stopped"
	} else if d.Call != "" {
		out.State = "asleep"
	}
	if d.Step.Op != event.None {
		out.Operation = d.Step.Op.String()
	}
	return out
}
