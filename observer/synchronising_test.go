package observer

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/observer/event"
)

// The sites of the accesses that synchronise: 1 has loads, stores and exchanges, oldSite exchanges
// whose written value is not known, countSite updates of which nothing is known and whose result is
// not used, flagSite the same whose result is used, plainSite updates that are not atomic, and
// storeSite exchanges whose old value is not used.
var syncSites = []SiteInfo{
	{},
	{Variable: "x", Flags: event.Atomic, Sync: &Sync{How: bpf.ValuesBoth, Width: 4, HasInitial: true}},
	{Variable: "x", Flags: event.Atomic, Sync: &Sync{How: bpf.ValuesOld, Width: 4, HasInitial: true}},
	{Variable: "x", Flags: event.Atomic | event.ResultUnused, Sync: &Sync{Width: 4, HasInitial: true}},
	{Variable: "x", Flags: event.Atomic, Sync: &Sync{Width: 4, HasInitial: true}},
	{Variable: "x", Sync: &Sync{Width: 4, HasInitial: true}},
	{Variable: "x", Flags: event.Atomic | event.ResultUnused, Sync: &Sync{How: bpf.ValuesBoth, Width: 4, HasInitial: true, Store: true}},
	{Variable: "x", Flags: event.Atomic, Sync: &Sync{How: bpf.ValuesBoth, Width: 4}},
}

const (
	oldSite = iota + 2
	countSite
	flagSite
	plainSite
	storeSite
	heapSite
)

type eventCollector struct{ events []event.Event }

func (k *eventCollector) Event(e *event.Event) {
	c := *e
	c.Must = e.Must.Clone()
	k.events = append(k.events, c)
}

// observeSync observes records of a process that has had several threads.
func observeSync(records []bpf.Record) ([]event.Event, Stats) {
	var k eventCollector
	o := New(Options{Sinks: []Sink{&k}, Sites: func(i uint32) *SiteInfo { return &syncSites[min(int(i), len(syncSites)-1)] }})
	o.threads.process(1).crowded = true
	for i := range records {
		o.Record(&records[i])
	}
	o.Finish()
	return slices.DeleteFunc(k.events, func(e event.Event) bool { return !e.Op.IsAccess() }), o.Stats()
}

func syncRecord(time uint64, tid uint32, op bpf.Op, read, wrote uint64) bpf.Record {
	r := bpf.Record{Time: time, Tid: tid, Tgid: 1, Op: uint8(op), Object: 0x4000, Site: 1, Flags: bpf.RecValue, Value: wrote, Extra: read, Sp: usualSP}
	if op == bpf.OpRead {
		r.Value, r.Extra = read, 0
	}
	return r
}

func spell(events []event.Event) (out []string) {
	for _, e := range events {
		s := fmt.Sprintf("%d %s %d", e.Thread, e.Op, e.Value)
		if e.Flags&event.NoSource != 0 {
			s += " no source"
		}
		if e.Flags&event.Late != 0 {
			s += " late"
		}
		if e.Flags&event.ResultUnused != 0 {
			s += " unused"
		}
		out = append(out, s)
	}
	return out
}

func TestSynchronising(t *testing.T) {
	w := func(time uint64, tid uint32, v uint64) bpf.Record { return syncRecord(time, tid, bpf.OpWrite, 0, v) }
	r := func(time uint64, tid uint32, v uint64) bpf.Record { return syncRecord(time, tid, bpf.OpRead, v, 0) }
	u := func(time uint64, tid uint32, from, to uint64) bpf.Record {
		return syncRecord(time, tid, bpf.OpUpdate, from, to)
	}
	at := func(site uint32, time uint64, tid uint32, from, to uint64) bpf.Record {
		r := u(time, tid, from, to)
		r.Site = site
		return r
	}
	heap := func(r bpf.Record) bpf.Record { r.Site = heapSite; return r }
	const late = maxWaitTime + 10
	tests := []struct {
		name    string
		records []bpf.Record
		want    []string
	}{
		{"in order", []bpf.Record{w(1, 10, 1), r(2, 11, 1)}, []string{"1 write 1", "2 read 1"}},
		{"the initial value", []bpf.Record{r(1, 11, 0), w(2, 10, 1)}, []string{"1 read 0", "2 write 1"}},
		{"a store recorded after the load", []bpf.Record{r(1, 11, 1), w(2, 10, 1)}, []string{"2 write 1", "1 read 1"}},
		{"what follows the load waits too", []bpf.Record{r(1, 11, 1), r(2, 11, 1), r(3, 12, 0), w(4, 10, 1)}, []string{"3 write 1", "1 read 1", "1 read 1", "2 read 0 late"}},
		{"not the next record of its thread", []bpf.Record{r(1, 11, 2), w(2, 10, 1), w(3, 10, 2), r(late, 12, 2)}, []string{"1 read 2 no source late", "2 write 1", "2 write 2", "3 read 2"}},
		{"a load recorded after the next store", []bpf.Record{w(1, 10, 1), w(2, 10, 2), r(3, 11, 1)}, []string{"1 write 1", "1 write 2", "2 read 1 late"}},
		{"a load of an earlier value again, recorded before its store", []bpf.Record{w(1, 10, 1), w(2, 10, 2), r(3, 11, 1), w(4, 10, 1)}, []string{"1 write 1", "1 write 2", "1 write 1", "2 read 1"}},
		{"the same, long before any such store", []bpf.Record{w(1, 10, 1), w(2, 10, 2), r(3, 11, 1), w(maxLateTime+4, 10, 1)}, []string{"1 write 1", "1 write 2", "2 read 1 late", "1 write 1"}},
		{"of one that has seen that store", []bpf.Record{w(1, 10, 1), w(2, 10, 2), r(3, 11, 2), r(4, 11, 1), w(5, 12, 1)}, []string{"1 write 1", "1 write 2", "2 read 2", "3 write 1", "2 read 1"}},
		{"a lock handed over before its release was recorded", []bpf.Record{u(1, 10, 0, 1), u(2, 11, 0, 1), w(3, 10, 0), w(4, 11, 0)},
			[]string{"1 update 1", "1 write 0", "2 update 1", "2 write 0"}},
		{"an exchange that changes nothing reads", []bpf.Record{u(1, 10, 0, 1), u(2, 11, 1, 1)}, []string{"1 update 1", "2 read 1"}},
		{"a chain of counts", []bpf.Record{u(1, 12, 2, 3), u(2, 11, 1, 2), u(3, 10, 0, 1)}, []string{"3 update 1", "2 update 2", "1 update 3"}},
		{"nobody stored it", []bpf.Record{r(1, 11, 9), r(late, 11, 0)}, []string{"1 read 9 no source late", "1 read 0"}},
		{"an exchange whose value is seen later", []bpf.Record{at(oldSite, 1, 10, 0, 0), r(2, 11, 7), r(3, 12, 7), u(4, 10, 7, 8)},
			[]string{"1 update 0", "2 read 7", "3 read 7", "1 update 8"}},
		{"an exchange whose value is seen later, and then contradicted", []bpf.Record{at(oldSite, 1, 10, 0, 0), r(2, 11, 7), r(3, 12, 6), r(late, 12, 7)},
			[]string{"1 update 0", "2 read 7", "3 read 6 no source late", "3 read 7"}},
		{"a load before an exchange of unknown value", []bpf.Record{w(1, 10, 3), at(oldSite, 2, 10, 3, 0), r(3, 11, 3)}, []string{"1 write 3", "1 update 0", "2 read 3 late"}},
		{"an update of which only the result is known", []bpf.Record{at(flagSite, 1, 10, 0, 4), r(2, 11, 4)}, []string{"1 update 4 no source late", "2 read 4"}},
		{"the same without a use of the result", []bpf.Record{at(countSite, 1, 10, 0, 4), r(2, 11, 4)}, []string{"1 update 4 unused", "2 read 4"}},
		{"an update that is not atomic", []bpf.Record{w(1, 10, 3), at(plainSite, 2, 10, 0, 4), r(3, 11, 4)}, []string{"1 write 3", "1 update 4", "2 read 4"}},
		{"an exchange whose old value is not used", []bpf.Record{at(storeSite, 1, 10, 0, 1), at(storeSite, 2, 11, 1, 1), r(3, 12, 1)}, []string{"1 write 1", "2 write 1", "3 read 1"}},
		{"such exchanges in the order of their values", []bpf.Record{at(storeSite, 1, 10, 2, 3), at(storeSite, 2, 11, 0, 2), r(3, 12, 3)}, []string{"1 write 2", "2 write 3", "3 read 3"}},
		{"an initial value that was not known", []bpf.Record{heap(r(1, 11, 7)), heap(w(2, 10, 1)), heap(r(3, 11, 1))}, []string{"1 read 7", "2 write 1", "1 read 1"}},
		{"the first load of such a variable, recorded before its store", []bpf.Record{heap(r(1, 11, 1)), heap(w(2, 10, 1))}, []string{"2 write 1", "1 read 1"}},
		{"the same value, stored long after it was loaded", []bpf.Record{heap(r(1, 11, 1)), heap(w(maxFirstTime+2, 10, 1))}, []string{"1 read 1", "2 write 1"}},
		{"one that polls, and whose load of the initial value was recorded after the store", []bpf.Record{heap(w(1, 10, 1)), heap(r(2, 11, 0)), heap(r(3, 11, 1))}, []string{"1 write 1", "2 read 0 late", "2 read 1"}},
		{"one that polls, and sees another value next", []bpf.Record{heap(w(1, 10, 1)), heap(r(2, 11, 7)), heap(r(3, 11, 8)), heap(r(late, 12, 1))}, []string{"1 write 1", "2 read 7 no source late", "2 read 8 no source late", "3 read 1"}},
		{"one that polls after it has seen the store", []bpf.Record{heap(w(1, 10, 1)), heap(r(2, 11, 1)), heap(r(3, 11, 0)), heap(r(4, 11, 1)), heap(r(late, 12, 1))}, []string{"1 write 1", "2 read 1", "2 read 0 no source late", "2 read 1", "3 read 1"}},
		{"the run ends", []bpf.Record{r(1, 11, 9)}, []string{"1 read 9 no source late"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			events, stats := observeSync(tt.records)
			got := spell(events)
			// Threads are numbered as they come; a record that waits has made its thread known.
			if len(got) != len(tt.want) || !sameUpToThreads(got, tt.want) {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
			if n := uint64(len(tt.records)); stats.Records != n {
				t.Errorf("%d records counted, want %d", stats.Records, n)
			}
		})
	}
}

// TestPassed: a load for whose store no time is left, and what follows it, are kept back no longer, though no record comes.
func TestPassed(t *testing.T) {
	var k eventCollector
	o := New(Options{Sinks: []Sink{&k}, Sites: func(i uint32) *SiteInfo { return &syncSites[min(int(i), len(syncSites)-1)] }})
	o.threads.process(1).crowded = true
	for _, r := range []bpf.Record{syncRecord(1, 10, bpf.OpRead, 9, 0), syncRecord(2, 11, bpf.OpWrite, 0, 1)} {
		o.Record(&r)
	}
	accesses := func() []string {
		return spell(slices.DeleteFunc(slices.Clone(k.events), func(e event.Event) bool { return !e.Op.IsAccess() }))
	}
	if o.Passed(1 + maxWaitTime); len(accesses()) != 0 {
		t.Errorf("early: %q", accesses())
	}
	if o.Passed(2 + maxWaitTime); !slices.Equal(accesses(), []string{"1 read 9 no source late", "2 write 1"}) {
		t.Errorf("later: %q", accesses())
	}
	o.Passed(3 + maxWaitTime)
	o.Finish()
	if len(accesses()) != 2 {
		t.Errorf("in the end: %q", accesses())
	}
}

// TestOwnStores checks that a load of the first thread of a program, while it is the only one, saw a store of
// that thread, and that this is not known of any other.
func TestOwnStores(t *testing.T) {
	w := func(time uint64, tid uint32, v uint64) bpf.Record { return syncRecord(time, tid, bpf.OpWrite, 0, v) }
	r := func(time uint64, tid uint32, v uint64) bpf.Record { return syncRecord(time, tid, bpf.OpRead, v, 0) }
	u := syncRecord(3, 1, bpf.OpUpdate, 7, 8)
	unread := syncRecord(3, 1, bpf.OpUpdate, 0, 8)
	unread.Site = flagSite
	for _, tt := range []struct {
		name    string
		records []bpf.Record
		want    []string
	}{
		{"a load", []bpf.Record{w(1, 1, 1), r(2, 1, 7)}, []string{"1 write 1", "1 write 7", "1 read 7"}},
		{"an exchange", []bpf.Record{w(1, 1, 1), u}, []string{"1 write 1", "1 write 7", "1 update 8"}},
		{"an update that does not show what it read", []bpf.Record{w(1, 1, 1), unread}, []string{"1 write 1", "1 update 8"}},
		{"an earlier value again", []bpf.Record{w(1, 1, 1), w(2, 1, 2), r(3, 1, 1)}, []string{"1 write 1", "1 write 2", "1 write 1", "1 read 1"}},
		{"with another thread", []bpf.Record{w(1, 1, 1), {Time: 2, Tid: 1, Tgid: 1, Op: uint8(bpf.OpFork), Object: 2}, r(3, 1, 7)}, []string{"1 write 1", "1 read 7 no source late"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var k eventCollector
			o := New(Options{Sinks: []Sink{&k}, Sites: func(i uint32) *SiteInfo { return &syncSites[i] }})
			for i := range tt.records {
				o.Record(&tt.records[i])
			}
			o.Finish()
			if got := spell(slices.DeleteFunc(k.events, func(e event.Event) bool { return !e.Op.IsAccess() })); !slices.Equal(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// sameUpToThreads compares everything except the numbers of threads.
func sameUpToThreads(a, b []string) bool {
	return slices.EqualFunc(a, b, func(x, y string) bool { return x[1:] == y[1:] })
}

// TestSourcesAreRight lets threads access a variable one after the other. Each makes its
// record at some time before its next access. For any delays, a load with a source has the
// store that it saw as its source, a late load comes after that store, and if no store is
// blind (without a read), each load has a source.
func TestSourcesAreRight(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		blind := rapid.Bool().Draw(t, "stores")
		threads := uint32(rapid.IntRange(2, 4).Draw(t, "threads"))
		pending := map[uint32]*bpf.Record{}
		var records []bpf.Record
		now, value, fresh := uint64(1), uint64(0), uint64(0)
		flush := func(tid uint32) {
			if r := pending[tid]; r != nil {
				now++
				r.Time = now
				records = append(records, *r)
				delete(pending, tid)
			}
		}
		for range rapid.IntRange(1, 40).Draw(t, "accesses") {
			tid := 10 + uint32(rapid.IntRange(0, int(threads)-1).Draw(t, "thread"))
			flush(tid)
			op := bpf.OpRead
			if k := rapid.IntRange(0, 2).Draw(t, "operation"); k == 1 && blind {
				op = bpf.OpWrite
			} else if k > 0 {
				op = bpf.OpUpdate
			}
			old := value
			if op != bpf.OpRead {
				fresh++ // no value is written twice
				value = fresh
			}
			r := syncRecord(0, tid, op, old, value)
			pending[tid] = &r
			if rapid.Bool().Draw(t, "at once") {
				flush(tid)
			}
		}
		for tid := range threads {
			flush(10 + tid)
		}
		events, _ := observeSync(records)
		if len(events) != len(records) {
			t.Fatalf("%d events of %d records", len(events), len(records))
		}
		checkSources(t, events, records, blind)
	})
}

func checkSources(t *rapid.T, events []event.Event, records []bpf.Record, blind bool) {
	old := map[uint64]uint64{} // written → read, of updates
	for _, r := range records {
		if bpf.Op(r.Op) == bpf.OpUpdate {
			old[r.Value] = r.Extra
		}
	}
	last := uint64(0)
	seen := map[uint64]bool{0: true}
	for i, e := range events {
		read := e.Value
		if e.Op == event.Update {
			read = old[e.Value]
		}
		switch {
		case e.Op == event.Write:
		case e.Flags&event.NoSource != 0 && !blind && last-read < recentStores:
			t.Fatalf("event %d has no source: %q", i, spell(events))
		case e.Flags&event.NoSource != 0:
		case e.Flags&event.Late != 0 && !seen[read]:
			t.Fatalf("event %d is late, and before what it saw: %q", i, spell(events))
		case e.Flags&event.Late == 0 && read != last:
			t.Fatalf("event %d saw %d, and stands behind %d: %q", i, read, last, spell(events))
		}
		if e.Op.IsWrite() {
			last = e.Value
			seen[last] = true
		}
	}
}

// TestGuardLookedAt checks that a thread that reads a set guard of a static object is ordered
// after the initialisation, without a call. A read of an unset guard is only a read.
func TestGuardLookedAt(t *testing.T) {
	guard := func(time uint64, op bpf.Op) bpf.Record {
		return bpf.Record{Time: time, Tid: 11, Tgid: 1, Op: uint8(op), Object: 0x4000, Result: 1, Sp: usualSP}
	}
	var k eventCollector
	o := New(Options{Sinks: []Sink{&k}, Sites: func(i uint32) *SiteInfo { return &syncSites[min(int(i), len(syncSites)-1)] }})
	for _, r := range []bpf.Record{
		syncRecord(1, 11, bpf.OpRead, 0, 0), guard(2, bpf.OpGuardAcquire), guard(3, bpf.OpGuardRelease),
		syncRecord(4, 12, bpf.OpRead, 1, 0), syncRecord(5, 12, bpf.OpRead, 0, 0),
	} {
		o.Record(&r)
	}
	o.Finish()
	var got []string
	for _, e := range k.events {
		if e.Op.IsAccess() || e.Kind == event.KindOnce {
			got = append(got, fmt.Sprintf("%d %s", e.Thread, e.Op))
		}
	}
	want := []string{"1 read", "1 once-enter", "1 once-done", "2 once-leave", "2 read"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
