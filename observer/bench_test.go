package observer

import (
	"testing"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/observer/event"
)

// steady returns an observer that has handled each record twice.
func steady(tb testing.TB, text string) (*Observer, []bpf.Record) {
	o := New(Options{Sites: site, Sinks: []Sink{sinkFunc(func(*event.Event) {})}})
	for _, r := range parseRecords(tb, two) {
		o.Record(&r)
	}
	rs := parseRecords(tb, text)
	for range 2 {
		feed(o, rs)
	}
	return o, rs
}

func feed(o *Observer, rs []bpf.Record) {
	for i := range rs {
		o.Record(&rs[i])
	}
}

var steadyRuns = []struct{ name, text string }{
	{"lock", "11 acquire A\n11 release A\n12 acquire A\n12 release A"},
	{"recursive", "11 acquire A\n11 acquire A\n11 release A\n11 release A"},
	{"rwlock", "11 acquire-read R\n12 acquire-read R\n11 release R kind=rwlock\n12 release R kind=rwlock"},
	{"access", "11 write X value=1\n12 read X value=1\n11 update X kind=atomic value=2\n12 read X value=3"},
	{"lock and access", "11 acquire A\n11 read X value=1\n11 write X value=1\n11 release A\n12 acquire A\n12 read X value=1\n12 write X value=1\n12 release A"},
	{"semaphore", "11 sem-post P\n12 sem-wait P"},
}

// TestSteadyStateAllocatesNothing: a thread's ordinary records cost no memory.
func TestSteadyStateAllocatesNothing(t *testing.T) {
	for _, c := range steadyRuns {
		o, rs := steady(t, c.text)
		if n := testing.AllocsPerRun(100, func() { feed(o, rs) }); n != 0 {
			t.Errorf("%s: %v allocations", c.name, n)
		}
	}
}

// BenchmarkRecord measures the cost of one record.
func BenchmarkRecord(b *testing.B) {
	for _, c := range steadyRuns {
		b.Run(c.name, func(b *testing.B) {
			o, rs := steady(b, c.text)
			b.ReportAllocs()
			b.ResetTimer()
			for i := 0; i < b.N; i++ {
				o.Record(&rs[i%len(rs)])
			}
		})
	}
}

// kept counts what an observer holds but for what reports may name.
func kept(o *Observer) map[string]int {
	n := map[string]int{
		"threads": len(o.threads.live), "by thread pointer": len(o.threads.process(1).byTP), "objects": len(o.threads.process(1).objects),
		"variables": len(o.threads.process(1).vars), "stacks": len(o.stacks.recorded) + len(o.stacks.found),
	}
	for _, t := range o.threads.process(1).byTP {
		for ; t != nil; t = t.previous {
			n["namesakes"]++
		}
	}
	for _, t := range o.threads.live {
		n["held"] += len(t.held)
		n["on own stacks"] += len(t.ownStack)
		for c := t.once; c != nil; c = c.outer {
			n["calls of once"]++
		}
	}
	for _, obj := range o.threads.process(1).objects {
		n["users of once"] += len(obj.onceUsers)
		n["readers"] += len(obj.shared)
	}
	return n
}

// TestMemory: what is kept does not grow with the run.
func TestMemory(t *testing.T) {
	for _, c := range []struct{ name, text string }{
		{"joined threads", "1 fork 20 tp=p7\n20 exit\n1 join p7 entered=999999"},
		{"joined threads told of late", "1 fork 20 tp=p7\n1 join p7 entered=999999\n20 exit"},
		{"detached threads", "1 fork 20 tp=p7\n20 exit\n1 fork 20 tp=p8\n20 exit"},
		{"threads with locks on their stacks", "1 fork 20 tp=0x100000\n20 acquire A\n20 release A\n20 init A\n20 init A\n20 exit"},
		{"locks made and destroyed", "1 init A\n1 acquire A\n1 destroy A"},
		{"locks made anew", "1 init A\n1 acquire A"},
		{"once", "11 once O sp=90\n11 once O sp=90 leave"},
		{"once left by an exception", "11 once O sp=90\n12 once Q sp=90\n11 acquire A sp=200\n11 release A sp=200"},
		{"once in an ending thread", "1 fork 20 tp=p7\n20 once O\n20 exit"},
		{"waits left", "11 acquire A\n11 wait C with=A sp=90\n11 release A sp=200"},
		{"execve", "1 acquire A\n1 fork 20\n20 write X value=3\n1 once O\n1 exec 1"},
	} {
		o, rs := steady(t, c.text)
		for range 20 {
			feed(o, rs)
		}
		before := kept(o)
		for range 200 {
			feed(o, rs)
		}
		for what, n := range kept(o) {
			if n > before[what] {
				t.Errorf("%s: %d %s, %d before", c.name, n, what, before[what])
			}
		}
	}
}
