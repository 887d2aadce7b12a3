package engine_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/analysis/engine"
	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/observer"
	"github.com/tracepredict/tracepredict/observer/event"
	runs "github.com/tracepredict/tracepredict/observer/run"
)

// The sites of the records of liveRun.
const (
	mutexSite = iota + 1
	semaphoreSite
	xSite
)

// liveRun is a run that is observed: records in, findings out.
type liveRun struct {
	engine *engine.Engine
	o      *observer.Observer
	full   bool // memory is full, as far as the analyses know
	shrunk int  // how often the observer evicted something
	time   uint64
}

func newLiveRun() *liveRun {
	r := &liveRun{}
	r.engine = engine.New(engine.Options{Full: func() bool { return r.full }})
	sites := [...]observer.SiteInfo{mutexSite: {Kind: event.KindMutex}, semaphoreSite: {Kind: event.KindSemaphore}, xSite: {Variable: "x"}}
	r.o = observer.New(observer.Options{Sites: func(i uint32) *observer.SiteInfo { return &sites[i] }, Sinks: []observer.Sink{r.engine}, Attached: true})
	r.engine.ShrinkBy(func(unused uint64) bool {
		any := r.o.Shrink(unused)
		if any {
			r.shrunk++
		}
		return any
	})
	for _, tid := range []uint32{1, 2} {
		r.o.AddTask(bpf.TaskLine{Tid: tid, Tgid: 1}, 0, false)
	}
	return r
}

// do has a thread do something with an object, at a call stack of its own.
func (r *liveRun) do(tid uint32, op bpf.Op, site uint32, object uint64) {
	r.time++
	r.o.Record(&bpf.Record{Time: r.time, Tid: tid, Tgid: 1, Op: uint8(op), Site: site, Stack: site*10 + tid, Object: object, Sp: 1000})
}

// fill has thread 1 use so many locks and semaphores while memory is full that what was used before is forgotten.
func (r *liveRun) fill() {
	r.full = true
	for i := range uint64(1 << 13) {
		r.do(1, bpf.OpAcquire, mutexSite, 1<<20+64*i)
		r.do(1, bpf.OpRelease, mutexSite, 1<<20+64*i)
		r.do(1, bpf.OpSemPost, semaphoreSite, 1<<30+64*i)
	}
	r.full = false
}

// TestShrinkLive checks that a run which is observed with little memory has no false finding, and still has the true one,
// and that its report says what was forgotten.
func TestShrinkLive(t *testing.T) {
	const lock, semaphore, x = 0x1000, 0x2000, 0x3000
	write := func(r *liveRun, tid uint32) { r.do(tid, bpf.OpWrite, xSite, x) }
	guarded := func(r *liveRun, tid uint32) {
		r.do(tid, bpf.OpAcquire, mutexSite, lock)
		write(r, tid)
		r.do(tid, bpf.OpRelease, mutexSite, lock)
	}
	for name, c := range map[string]struct {
		first, second func(r *liveRun)
		race          bool
	}{
		"lock": {func(r *liveRun) { guarded(r, 1) }, func(r *liveRun) { guarded(r, 2) }, false},
		"semaphore": {
			func(r *liveRun) { write(r, 1); r.do(1, bpf.OpSemPost, semaphoreSite, semaphore) },
			func(r *liveRun) { r.do(2, bpf.OpSemWait, semaphoreSite, semaphore); write(r, 2) }, false,
		},
		"nothing":      {func(r *liveRun) { write(r, 1) }, func(r *liveRun) { write(r, 2) }, true},
		"another lock": {func(r *liveRun) { guarded(r, 1) }, func(r *liveRun) { write(r, 2) }, true},
	} {
		r := newLiveRun()
		c.first(r)
		r.fill()
		c.second(r)
		r.o.Finish()
		in := engine.Ended{Summary: runs.Summary{Events: r.o.Stats().Events}, Names: &runs.Names{}}
		found, err := r.engine.Findings(&in)
		if err != nil {
			t.Fatal(err)
		}
		race := slices.ContainsFunc(found, func(f finding.Finding) bool { return f.Kind == finding.Race && f.Confidence != finding.Potential })
		if race != c.race {
			t.Errorf("%s: race %t: %+v", name, race, found)
		}
		notes := strings.Join(r.engine.Report(&in, found).Run.Notes, "\n")
		if r.shrunk == 0 || !strings.Contains(notes, "memory was full") || !strings.Contains(notes, "semaphores") {
			t.Errorf("%s: the observer evicted something %d times, and the notes are %s", name, r.shrunk, notes)
		}
	}
}
