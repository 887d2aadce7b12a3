package engine_test

import (
	"testing"

	"github.com/tracepredict/tracepredict/analysis/deadlock/goodlock"
	"github.com/tracepredict/tracepredict/analysis/engine"
	"github.com/tracepredict/tracepredict/analysis/happensbefore"
	"github.com/tracepredict/tracepredict/analysis/predict"
	"github.com/tracepredict/tracepredict/analysis/race/eraser"
	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/observer"
	"github.com/tracepredict/tracepredict/observer/event"
)

// BenchmarkPipeline measures the cost of a record from the reader of the ring buffer on: for the
// observer alone, for the observer and one analysis, and for the whole engine. One operation is one
// record, and one event. Two threads use a lock in turns. One time in ten they acquire another
// lock inside and update an observed variable there.
func BenchmarkPipeline(b *testing.B) {
	for _, c := range []struct {
		name  string
		sinks func() []observer.Sink // called for each run, whose events are numbered from 1 again
	}{
		{"observer", func() []observer.Sink { return nil }},
		{"eraser", func() []observer.Sink { return []observer.Sink{eraser.New(eraser.Options{})} }},
		{"happensbefore", func() []observer.Sink { return []observer.Sink{happensbefore.New(happensbefore.Options{})} }},
		{"goodlock", func() []observer.Sink { return []observer.Sink{goodlock.New(goodlock.Options{})} }},
		{"predict", func() []observer.Sink { return []observer.Sink{predict.New(predict.Options{})} }},
		{"all", func() []observer.Sink { return []observer.Sink{engine.New(engine.Options{})} }},
	} {
		b.Run(c.name, func(b *testing.B) {
			o := observer.New(observer.Options{Sites: benchSite, Sinks: c.sinks(), Attached: true})
			for _, tid := range []uint32{1, 2} {
				o.AddTask(bpf.TaskLine{Tid: tid, Tgid: 1}, 0, false)
			}
			records := benchRecords()
			b.ReportAllocs()
			var now uint64
			for i := 0; b.Loop(); i++ {
				r := &records[i%len(records)]
				now++
				r.Time = now
				o.Record(r)
			}
			if got := o.Stats(); got.Events < got.Records || got.UnheldReleases != 0 {
				b.Fatalf("of %d records %d events, %d releases of locks not held", got.Records, got.Events, got.UnheldReleases)
			}
		})
	}
}

const (
	lockSite = iota + 1
	unlockSite
	variableSite
)

var benchSites = [...]observer.SiteInfo{lockSite: {Kind: event.KindMutex}, unlockSite: {Kind: event.KindMutex}, variableSite: {Variable: "x"}}

func benchSite(index uint32) *observer.SiteInfo { return &benchSites[index] }

// benchRecords returns the records of a part of a run that begins and ends in the same state.
func benchRecords() []bpf.Record {
	const outer, inner, variable = 0x1000, 0x2000, 0x3000
	var rs []bpf.Record
	add := func(tid uint32, op bpf.Op, site uint32, object uint64) {
		rs = append(rs, bpf.Record{Tid: tid, Tgid: 1, Op: uint8(op), Site: site, Stack: site*10 + tid, Object: object})
	}
	for i := range 20 {
		tid := uint32(1 + i%2)
		add(tid, bpf.OpAcquire, lockSite, outer)
		if i >= 18 {
			add(tid, bpf.OpAcquire, lockSite, inner)
			add(tid, bpf.OpUpdate, variableSite, variable)
			add(tid, bpf.OpRelease, unlockSite, inner)
		}
		add(tid, bpf.OpRelease, unlockSite, outer)
	}
	return rs
}
