package engine_test

import (
	"runtime"
	"testing"

	"github.com/tracepredict/tracepredict/analysis/deadlock/goodlock"
	"github.com/tracepredict/tracepredict/analysis/happensbefore"
	"github.com/tracepredict/tracepredict/analysis/predict"
	"github.com/tracepredict/tracepredict/analysis/race/eraser"
	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/observer"
	"github.com/tracepredict/tracepredict/observer/event"
)

// small is the analyses with bounds so low that a short run reaches them.
type small struct {
	history  *predict.History
	eraser   *eraser.Analysis
	order    *happensbefore.Analysis
	goodlock *goodlock.Analysis
}

func newSmall() *small {
	return &small{predict.New(predict.Options{Sections: 16, Events: 1 << 13}), eraser.New(eraser.Options{}), happensbefore.New(happensbefore.Options{}), goodlock.New(goodlock.Options{})}
}

func (s *small) Event(e *event.Event) {
	s.history.Event(e)
	s.order.Event(e)
	s.eraser.Event(e)
	s.goodlock.Event(e)
}

func (s *small) Remember(n *event.Names) {
	s.history.Remember(n)
	s.order.Remember(n)
	s.eraser.Remember(n)
	s.goodlock.Remember(n)
}

// server is a program that creates a thread for each request. Kernel thread ids, stacks and memory
// are reused, as in a real process.
type server struct {
	o     *observer.Observer
	now   uint64
	count uint64
}

func (s *server) record(tid uint64, op bpf.Op, site uint32, object uint64, more bpf.Record) {
	s.now += 100
	r := more
	r.Time, r.Tid, r.Tgid, r.Op, r.Site, r.Object = s.now, uint32(tid), 1, uint8(op), site, object
	r.Stack = site*10 + uint32(op)
	s.o.Record(&r)
}

// The ways in which the thread of a request ends.
const (
	joined = iota
	detached
	bornDetached // detached by an attribute, which no record shows
	endings
)

// request emits the records of one request: a thread, which acquires the common lock and, within
// it, a lock of its own, created in memory that other threads' locks have used. One request in
// twenty writes a variable there.
func (s *server) request(ending int, destroys bool) {
	s.count++
	tid, tp := 10+s.count%5000, 1<<32+s.count%3<<24
	const common, variable = 0x1000, 0x2000
	own := uint64(0x10000 + s.count%16*64)
	if !destroys {
		own = tp - 128 // on the thread's stack: a std::mutex, for which no destroy is recorded
	}
	sp := bpf.Record{Sp: tp - 256}
	s.record(1, bpf.OpCreate, 0, 0, bpf.Record{Value: 77})
	s.record(1, bpf.OpFork, 0, tid, bpf.Record{Value: tp})
	if ending == detached {
		s.record(1, bpf.OpDetach, 0, tp, bpf.Record{})
	}
	if destroys {
		s.record(tid, bpf.OpInit, lockSite, own, sp)
	}
	s.record(tid, bpf.OpAcquire, lockSite, common, sp)
	s.record(tid, bpf.OpAcquire, lockSite, own, sp)
	if s.count%20 == 0 {
		s.record(tid, bpf.OpWrite, variableSite, variable, sp)
	}
	s.record(tid, bpf.OpRelease, unlockSite, own, sp)
	s.record(tid, bpf.OpRelease, unlockSite, common, sp)
	if destroys {
		s.record(tid, bpf.OpDestroy, lockSite, own, sp)
	}
	s.record(tid, bpf.OpExit, 0, 0, bpf.Record{})
	if ending == joined {
		s.record(1, bpf.OpJoin, 0, tp, bpf.Record{Extra: s.now})
	}
}

// named returns the number of threads whose names the observer still has.
func named(o *observer.Observer) int {
	n := 0
	for id := range o.Stats().Threads {
		if _, ok := o.ThreadInfo(event.ThreadID(id + 1)); ok {
			n++
		}
	}
	return n
}

// warm is the number of requests after which all bounds are reached.
const warm = 3000

// TestMemoryDoesNotGrowWithChurn checks that short-lived threads and locks leave nothing in memory
// except what findings may name.
func TestMemoryDoesNotGrowWithChurn(t *testing.T) {
	if testing.Short() {
		t.Skip("millions of events")
	}
	sink := newSmall()
	before := live()
	s := &server{o: observer.New(observer.Options{Sites: benchSite, Sinks: []observer.Sink{sink}})}
	var peak [2]uint64
	for i, until := range []uint64{warm, churn} {
		for s.count < until {
			for range 2000 {
				s.request(int(s.count)%endings, s.count%2 == 0)
			}
			peak[i] = max(peak[i], live()-before)
		}
	}
	t.Logf("%d KB after %d threads, %d KB after %d; %+v", peak[0]>>10, warm, peak[1]>>10, churn, s.o.Stats())
	if peak[1] > peak[0]+peak[0]/5 {
		t.Errorf("memory grew from %d to %d bytes", peak[0], peak[1])
	}
	if st := s.o.Stats(); st.UnheldReleases+st.InferredReleases+st.UnknownJoins != 0 || st.Threads < churn {
		t.Errorf("%+v", st)
	}
	if known := named(s.o); known > 50_000 {
		t.Errorf("%d threads are still known by name", known)
	}
	runtime.KeepAlive(sink)
}
