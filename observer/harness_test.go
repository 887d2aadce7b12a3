package observer

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/observer/event"
)

// Records as text, a line each: thread, operation, operand and what differs
// from the usual. Objects are capital letters, thread pointers p1, p2, …; the
// time is the line's number.
//
//	1 fork 11 tp=p1
//	11 acquire A
//	11 wait C with=A sp=90
//	11 wait C with=A sp=90 leave

// The sites that the records come from, by index.
var testSites = []SiteInfo{
	{},
	{Kind: event.KindMutex}, {Kind: event.KindRWLock}, {Kind: event.KindSpin}, {Kind: event.KindCond}, {Kind: event.KindBarrier},
	{Kind: event.KindSemaphore}, {Kind: event.KindOnce},
	{Kind: event.KindMutex, Flags: event.Try},
	{Variable: "x"},
	{Variable: "x", Check: 'X' << 12},
	{Variable: "x", Flags: event.Atomic},
	{Variable: "x", Shift: 3, Mask: 0x1f},
	{Kind: event.KindRWLock, RecordsLockKind: true},
	{Kind: event.KindMutex, ReportsOwnerDead: true}, {Kind: event.KindCond, ReportsOwnerDead: true},
	{Kind: event.KindMutex, Marks: true}, {Kind: event.KindCond, Marks: true, CountsWaiters: true},
	{Variable: "state of struct conn", Field: true, Inside: 8},
	{Pointer: true, Sync: &Sync{How: bpf.ValuesBoth, Width: 8}},
	{Pointer: true, Flags: event.Atomic, Sync: &Sync{How: bpf.ValuesBoth, Width: 4}},
	{Variable: "c", Bytes: 1}, {Variable: "s", Bytes: 2}, {Variable: "i", Bytes: 4}, {Variable: "l", Bytes: 8},
	{Pointer: true, Loads: 8}, {Variable: "u", Bytes: 2, Loads: 2}, {Variable: "x", AtExit: true}, {Kind: event.KindSemaphore, Flags: event.Try},
	{Variable: "x", OneWatchpoint: true},
}

var siteNames = map[string]uint32{
	"mutex": 1, "rwlock": 2, "spin": 3, "cond": 4, "barrier": 5, "sem": 6, "once": 7, "try": 8, "var": 9, "checked": 10, "atomic": 11, "bits": 12, "made": 13, "robust": 14, "waits": 15, "marks": 16, "counts": 17, "field": 18, "pointer": 19, "half": 20, "char": 21, "short": 22, "int": 23, "long": 24, "loads8": 25, "loads2": 26, "exit": 27, "tries": 28, "alone": 29, "none": 0,
}

var usualSite = map[bpf.Op]string{
	bpf.OpAcquire: "mutex", bpf.OpAcquireRead: "rwlock", bpf.OpRelease: "mutex", bpf.OpWait: "cond", bpf.OpSignal: "cond", bpf.OpBroadcast: "cond",
	bpf.OpBarrier: "barrier", bpf.OpSemPost: "sem", bpf.OpSemWait: "sem", bpf.OpOnce: "once", bpf.OpGuardAcquire: "once", bpf.OpGuardRelease: "once",
	bpf.OpInit: "mutex", bpf.OpDestroy: "mutex", bpf.OpRead: "var", bpf.OpWrite: "var", bpf.OpUpdate: "var", bpf.OpTouch: "var",
}

const usualSP = 1000

func site(index uint32) *SiteInfo {
	if int(index) < len(testSites) {
		return &testSites[index]
	}
	return nil
}

func number(tb testing.TB, s string) uint64 {
	tb.Helper()
	if len(s) == 1 && s[0] >= 'A' && s[0] <= 'Z' {
		return uint64(s[0]) << 12
	}
	if rest, ok := strings.CutPrefix(s, "p"); ok {
		return number(tb, rest) << 32
	}
	n, err := strconv.ParseUint(s, 0, 64)
	if err != nil {
		tb.Fatal(err)
	}
	return n
}

func parseRecords(tb testing.TB, text string) []bpf.Record {
	tb.Helper()
	var rs []bpf.Record
	for _, line := range strings.Split(text, "\n") {
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		op, ok := bpf.ParseOp(fields[1])
		if !ok {
			tb.Fatalf("no operation %q", fields[1])
		}
		r := bpf.Record{Time: uint64(len(rs) + 1), Tid: uint32(number(tb, fields[0])), Tgid: 1, Op: uint8(op), Sp: usualSP, Site: siteNames[usualSite[op]]}
		if op == bpf.OpFork || op == bpf.OpExit || op == bpf.OpExec {
			r.Sp = 0
		}
		rest := fields[2:]
		if len(rest) > 0 && !strings.Contains(rest[0], "=") {
			r.Object, rest = number(tb, rest[0]), rest[1:]
		}
		for _, f := range rest {
			setField(tb, &r, f)
		}
		rs = append(rs, r)
	}
	return rs
}

func setField(tb testing.TB, r *bpf.Record, field string) {
	tb.Helper()
	key, value, _ := strings.Cut(field, "=")
	switch key {
	case "leave":
		r.Flags |= bpf.RecLeave
	case "failed":
		r.Flags |= bpf.RecFailed
	case "process":
		r.Flags |= bpf.RecProcess
	case "shared":
		r.Flags |= bpf.RecShared
	case "kernel":
		r.Flags |= bpf.RecKernel
	case "left": // of a string that goes to the variable
		r.Result |= int32(number(tb, value))*bpf.TouchCount | bpf.TouchDest
	case "call": // by the kernel, in that one of the thread's system calls
		r.Flags |= bpf.RecKernel
		r.Result |= bpf.TouchCall | int32(number(tb, value))*bpf.TouchCount
	case "part":
		r.Result |= int32(number(tb, value)) * bpf.TouchPart
	case "of": // the process of the thread
		r.Tgid = uint32(number(tb, value))
	case "lost":
		r.Value = number(tb, value)
	case "value":
		r.Flags |= bpf.RecValue
		r.Value = number(tb, value)
	case "with", "tp", "start", "size":
		r.Value = number(tb, value)
	case "stack":
		r.Stack = uint32(number(tb, value))
	case "sp":
		r.Sp = number(tb, value)
	case "orders": // the value of a load or store, or what an update wrote
		r.Flags |= bpf.RecOrders | bpf.RecValue
		r.Value = number(tb, value)
	case "past": // the time of the access
		r.Flags |= bpf.RecPast
		r.Value = number(tb, value)
	case "entered", "bytes":
		r.Extra = number(tb, value)
	case "time":
		r.Time = number(tb, value)
	case "result":
		r.Result = int32(number(tb, value))
	case "place":
		r.Stack = uint32(number(tb, value))
	case "kind":
		r.Site = siteNames[value]
	default:
		tb.Fatalf("no field %q", field)
	}
}

// listener keeps the events as text and checks whether they can be a run.
type listener struct {
	o       *Observer
	lines   []string
	checker *checker
	broken  []string
}

func newListener() *listener { return listenWith(Options{}) }

// listenWith returns the listener of an observer with these options, besides sites and sinks.
func listenWith(opts Options) *listener {
	l := &listener{checker: newChecker()}
	opts.Sites, opts.Sinks = site, []Sink{l}
	l.o = New(opts)
	return l
}

func (l *listener) Event(e *event.Event) {
	l.lines = append(l.lines, l.line(e))
	if err := l.checker.event(e); err != nil {
		l.broken = append(l.broken, fmt.Sprintf("event %d (%s): %v", e.Seq, l.line(e), err))
	}
}

var flagNames = []struct {
	flag event.Flags
	name string
}{
	{event.Try, "try"}, {event.TimedOut, "timed-out"}, {event.Atomic, "atomic"}, {event.InCondWait, "in-wait"}, {event.Inferred, "inferred"},
	{event.NoSource, "no-source"}, {event.Freed, "freed"}, {event.Given, "given"}, {event.Past, "past"}, {event.Wider, "wider"},
	{event.AfterHole, "after-hole"}, {event.MayWait, "may-wait"}, {event.Kernel, "kernel"}, {event.Repeated, "repeated"},
}

func (l *listener) name(id event.ObjectID) string {
	info, _ := l.o.ObjectInfo(id)
	if letter := info.Addr >> 12; info.Kind == event.KindChannel && (letter < 'A' || letter > 'Z') {
		return fmt.Sprintf("%s%d", strings.ReplaceAll(info.Name, " ", "-"), id)
	}
	return fmt.Sprintf("%c%d", rune(info.Addr>>12), id)
}

func (l *listener) line(e *event.Event) string {
	s := fmt.Sprintf("T%d %s", e.Thread, e.Op)
	if e.Peer != 0 {
		s += fmt.Sprintf(" T%d", e.Peer)
	}
	if e.Object != 0 {
		s += " " + l.name(e.Object)
	}
	if e.Object2 != 0 {
		s += " " + l.name(e.Object2)
	}
	if e.Flags&event.HasValue != 0 {
		s += fmt.Sprintf(" =%d", e.Value)
	}
	for _, f := range flagNames {
		if e.Flags&f.flag != 0 {
			s += " " + f.name
		}
	}
	return s
}

// checker checks the rules that each run must obey.
type checker struct {
	seq       uint64
	begun     map[event.ThreadID]bool
	ended     map[event.ThreadID]bool
	joined    map[event.ThreadID]bool
	forked    map[event.ThreadID]bool
	holder    map[event.ObjectID]event.ThreadID
	readers   map[event.ObjectID][]event.ThreadID
	asleep    map[event.ThreadID]event.ObjectID
	destroyed map[event.ObjectID]bool
	used      map[event.ObjectID]bool
}

func newChecker() *checker {
	return &checker{
		begun: map[event.ThreadID]bool{}, ended: map[event.ThreadID]bool{}, joined: map[event.ThreadID]bool{}, forked: map[event.ThreadID]bool{},
		holder: map[event.ObjectID]event.ThreadID{}, readers: map[event.ObjectID][]event.ThreadID{}, asleep: map[event.ThreadID]event.ObjectID{},
		destroyed: map[event.ObjectID]bool{}, used: map[event.ObjectID]bool{},
	}
}

func (c *checker) event(e *event.Event) error {
	c.seq++
	if e.Seq != c.seq {
		return fmt.Errorf("its number is %d, want %d", e.Seq, c.seq)
	}
	if e.Epoch == 0 || !e.Before(e.Slot, e.Epoch) {
		return fmt.Errorf("it is not in its own clock")
	}
	if err := c.life(e); err != nil {
		return err
	}
	if (e.Op == event.UseDestroyed || e.Op == event.DestroyAgain) && !c.destroyed[e.Object] {
		return fmt.Errorf("the object is not gone")
	}
	if c.destroyed[e.Object] && e.Op != event.Wake && e.Op != event.UseDestroyed && e.Op != event.DestroyAgain { // a condition may be destroyed once all are woken
		return fmt.Errorf("the object is gone")
	}
	err := c.object(e)
	c.used[e.Object] = true
	return err
}

func (c *checker) life(e *event.Event) error {
	if e.Thread == 0 || c.ended[e.Thread] {
		return fmt.Errorf("the thread has ended")
	}
	if (e.Op == event.Begin) == c.begun[e.Thread] {
		return fmt.Errorf("first and only the first event of a thread is its begin")
	}
	c.begun[e.Thread] = true
	switch e.Op {
	case event.End:
		c.ended[e.Thread] = true
	case event.Fork:
		if c.begun[e.Peer] || c.forked[e.Peer] {
			return fmt.Errorf("the child lives already")
		}
		c.forked[e.Peer] = true
	case event.Join:
		if !c.ended[e.Peer] || c.joined[e.Peer] {
			return fmt.Errorf("the thread has not ended, or was joined")
		}
		c.joined[e.Peer] = true
	}
	return nil
}

func (c *checker) object(e *event.Event) error {
	id := e.Object
	switch e.Op {
	case event.Acquire:
		if c.holder[id] != 0 || len(c.readers[id]) > 0 {
			return fmt.Errorf("the lock is held by %d, readers %v", c.holder[id], c.readers[id])
		}
		c.holder[id] = e.Thread
	case event.AcquireRead:
		if c.holder[id] != 0 || slices.Contains(c.readers[id], e.Thread) {
			return fmt.Errorf("the lock is held by %d, readers %v", c.holder[id], c.readers[id])
		}
		c.readers[id] = append(c.readers[id], e.Thread)
	case event.Release:
		return c.release(e)
	case event.ReleaseUnheld:
		if c.holder[id] == e.Thread || slices.Contains(c.readers[id], e.Thread) {
			return fmt.Errorf("the thread holds the lock")
		}
	case event.Wait:
		if c.asleep[e.Thread] != 0 {
			return fmt.Errorf("the thread sleeps already")
		}
		if c.holder[e.Object2] == e.Thread {
			return fmt.Errorf("the thread sleeps with the mutex")
		}
		c.asleep[e.Thread] = id
	case event.Wake:
		if c.asleep[e.Thread] != id {
			return fmt.Errorf("the thread sleeps at %d", c.asleep[e.Thread])
		}
		delete(c.asleep, e.Thread)
	case event.Init:
		if c.used[id] {
			return fmt.Errorf("the object was used before")
		}
	case event.Destroy:
		c.destroyed[id] = true
	}
	return nil
}

func (c *checker) release(e *event.Event) error {
	if c.holder[e.Object] == e.Thread {
		delete(c.holder, e.Object)
		return nil
	}
	i := slices.Index(c.readers[e.Object], e.Thread)
	if i < 0 {
		return fmt.Errorf("the lock is held by %d, readers %v", c.holder[e.Object], c.readers[e.Object])
	}
	c.readers[e.Object] = slices.Delete(c.readers[e.Object], i, i+1)
	return nil
}
