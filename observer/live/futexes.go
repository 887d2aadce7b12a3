package live

import (
	"strings"

	"github.com/tracepredict/tracepredict/loader"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
	"github.com/tracepredict/tracepredict/probes/code"
	"github.com/tracepredict/tracepredict/probes/futexcall"
)

// FutexWaits returns the waits in the kernel for futexes, after the observation, and how many were lost: had no room, or no
// end that was seen.
func (l *Link) FutexWaits() (waits []run.FutexWait, lost uint64, err error) {
	all, err := l.Session.FutexWaits()
	if err != nil {
		return nil, 0, err
	}
	f := futexes{Link: l, threads: l.threadIDs(), kinds: map[uint32]run.FutexKind{}, named: map[futexWord]string{}, tails: map[*loader.Module]map[uint64]string{}}
	for i := range all.Sums {
		s := &all.Sums[i]
		w := run.FutexWait{Kind: f.kind(s.Stack), Thread: f.threads[s.Thread], Word: s.Word, Stack: event.StackID(s.Stack), Waker: event.StackID(s.Waker), Waits: int64(s.Waits), Time: int64(s.Ns)}
		if s.Word != 0 {
			w.Name = f.name(futexWord{uint32(s.Thread >> 32), s.Word})
		}
		waits = append(waits, w)
	}
	return waits, all.Lost + all.Unended, nil
}

// threadIDs returns the threads of the run by the kernel's IDs, as bpf.FutexKey has them. The last one that had an ID has it.
func (l *Link) threadIDs() map[uint64]event.ThreadID {
	ids := map[uint64]event.ThreadID{}
	for id := range l.Observer.Stats().Threads {
		if t, ok := l.Observer.ThreadInfo(event.ThreadID(id + 1)); ok {
			ids[uint64(t.TGID)<<32|uint64(t.TID)] = event.ThreadID(id + 1)
		}
	}
	return ids
}

// futexWord is a word in the memory of a process.
type futexWord struct {
	tgid uint32
	addr uint64
}

// futexes finds the names of waits for futexes.
type futexes struct {
	*Link
	threads map[uint64]event.ThreadID
	kinds   map[uint32]run.FutexKind // by call stack
	named   map[futexWord]string
	tails   map[*loader.Module]map[uint64]string // see tailOf
}

// kind returns what threads with a call stack wait for: the innermost function that shows it does.
func (f *futexes) kind(stack uint32) run.FutexKind {
	kind, known := f.kinds[stack]
	if !known {
		kind = f.findKind(event.StackID(stack))
		f.kinds[stack] = kind
	}
	return kind
}

func (f *futexes) findKind(stack event.StackID) run.FutexKind {
	st, ok := f.observed.StackOf(stack)
	if !ok {
		return run.FutexOther
	}
	for i, pc := range f.callStack(stack, st) {
		for _, frame := range f.at(int(st.TGID), pc, i > 0) {
			function := frame.Function
			if function == "" {
				function = f.tailOf(int(st.TGID), pc)
			}
			if kind := run.FutexKindOf(function); kind != "" {
				return kind
			}
		}
	}
	return run.FutexOther
}

// tailOf returns the function that waits and that ends in the function without a name at an address, which is on the call
// stack in its place; "" if there is none.
func (f *futexes) tailOf(pid int, pc uint64) string {
	seg, ok := f.process.Segment(pid, pc)
	if !ok {
		return ""
	}
	tails, known := f.tails[seg.Module]
	if !known {
		tails = tailsIn(seg.Module)
		f.tails[seg.Module] = tails
	}
	fn, ok := seg.Module.Bin.FunctionAt(pc - seg.Bias)
	if !ok {
		return ""
	}
	return tails[fn.Lo]
}

// tailsIn returns the names of the functions of a file that wait for futexes, by the functions in which these end.
func tailsIn(m *loader.Module) map[uint64]string {
	names := map[uint64]string{}
	var entries []uint64
	for _, s := range m.Bin.Symbols() {
		if s.Addr != 0 && names[s.Addr] == "" && run.FutexKindOf(s.Name) != "" {
			names[s.Addr] = s.Name
			entries = append(entries, s.Addr)
		}
	}
	if len(entries) == 0 {
		return nil
	}
	tails := map[uint64]string{}
	for to, entry := range futexcall.Tails(code.NewImage(m.Bin), entries) {
		tails[to] = names[entry]
	}
	return tails
}

// name returns the name of the variable that a word is in: of a condition or the like, of which the word is a part, that of
// the whole.
func (f *futexes) name(w futexWord) string {
	name, known := f.named[w]
	if !known {
		name, _, _ = strings.Cut(f.variable(int(w.tgid), w.addr).Name, ".__")
		f.named[w] = name
	}
	return name
}
