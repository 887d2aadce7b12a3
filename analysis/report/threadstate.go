package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/internal/plural"
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
	// Blocks are the locks that the thread holds, and others wait for.
	Blocks []Blocks
}

// Blocks is a lock for which threads wait.
type Blocks struct {
	Object  string // as in a sentence
	Threads []event.ThreadID
}

// AddThreadStates adds the states of the threads of the process, in the order of threads. The
// report then describes this moment, not a run.
func (r *Report) AddThreadStates(states []run.ThreadState, names run.Namer) {
	b := newBuilder(names)
	r.ThreadStates = []ThreadState{}
	for _, s := range states {
		d := ThreadState{
			Thread: b.thread(s.Thread), Stopped: s.Stopped, Call: Clean(s.Call), By: s.By, Ended: s.Ended,
			Step: Step{Step: finding.Step{Thread: s.Thread, Op: s.Op, Peer: s.Peer, Readers: s.Readers}, Stack: b.stack(s.Stack)},
		}
		if s.Name != "" {
			d.Thread.Name = Clean(s.Name)
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
	r.addBlocks()
}

// addBlocks enters whom the threads that wait for locks wait for.
func (r *Report) addBlocks() {
	at := map[event.ThreadID]int{}
	for i := range r.ThreadStates {
		at[r.ThreadStates[i].Thread.ID] = i
	}
	for i := range r.ThreadStates {
		d := &r.ThreadStates[i]
		if !d.Step.Op.IsAcquire() || d.Step.Object == nil {
			continue
		}
		for _, by := range d.By {
			if j, known := at[by]; known {
				r.ThreadStates[j].blocks(Quoted(d.Step.Object), d.Thread.ID)
			}
		}
	}
}

func (d *ThreadState) blocks(object string, thread event.ThreadID) {
	at := slices.IndexFunc(d.Blocks, func(b Blocks) bool { return b.Object == object })
	if at < 0 {
		at = len(d.Blocks)
		d.Blocks = append(d.Blocks, Blocks{Object: object})
	}
	d.Blocks[at].Threads = append(d.Blocks[at].Threads, thread)
}

// Phrase returns what the thread does, as "waits for 'm', which T2 holds".
func (d *ThreadState) Phrase() string {
	switch {
	case d.Step.Op != event.None:
		text := waitsFor(d.Step)
		if len(d.By) > 0 && d.Step.Op != event.Join {
			text += ", which " + ThreadNumbers(d.By, len(d.By)) + map[bool]string{true: " holds", false: " hold"}[len(d.By) == 1]
		}
		if d.Ended {
			text += ", and the thread that held it has ended"
		}
		if d.Step.Flags&event.Timed != 0 {
			text += ", for a limited time"
		}
		return text
	case d.Stopped:
		return "is stopped" + d.blocked()
	case d.Call != "":
		return "is in " + d.Call + d.blocked()
	}
	return "runs" + d.blocked()
}

// blocked returns who waits for what the thread holds, as ", while T3 and T4 wait for 'm', which it holds"; "" if nobody
// does.
func (d *ThreadState) blocked() string {
	var parts []string
	for _, b := range d.Blocks {
		wait := map[bool]string{true: " waits for ", false: " wait for "}[len(b.Threads) == 1]
		parts = append(parts, ThreadNumbers(b.Threads, len(b.Threads))+wait+b.Object)
	}
	if len(parts) == 0 {
		return ""
	}
	return ", while " + strings.Join(parts, ", ") + ", which it holds"
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
		parts = append(parts, plural.Counted(uint64(counts[many]), one, many))
	}
	threads := plural.Counted(uint64(len(all)), "thread", "threads") + ": " + strings.Join(parts, ", ")
	if locks == 0 {
		return "no thread waits for a lock; " + threads
	}
	return threads
}

// GroupStates groups threads that do the same at the same source location; groups that wait for a lock come first.
func GroupStates(all []ThreadState) [][]ThreadState {
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
	fmt.Fprintf(&b, "%s|%s|%t|%v|%t|%v", sort, cmp.Or(d.Thread.Start, d.Thread.Name), d.Thread.Main, d.By, d.Ended, d.Blocks)
	if o := d.Step.Object; o != nil {
		name := o.Name
		if o.Anonymous || o.Numbered {
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
