package observer

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/observer/event"
)

// lockSites are the sites of the accesses of an inlined lock, by their use; the last one is a load that is not
// the lock's.
var lockSites = []SiteInfo{
	{Variable: "x", Flags: event.Atomic, Sync: &Sync{How: bpf.ValuesBoth, Width: 4, HasInitial: true}},
	{Kind: event.KindMutex, Lock: bpf.LockAcquires, Variable: "x", Flags: event.Atomic, Sync: &Sync{How: bpf.ValuesBoth, Width: 4, HasInitial: true}},
	{Kind: event.KindMutex, Lock: bpf.LockTries, Variable: "x", Flags: event.Atomic, Sync: &Sync{How: bpf.ValuesBoth, Width: 4, HasInitial: true}},
	{Kind: event.KindMutex, Lock: bpf.LockReleases, Variable: "x", Flags: event.Atomic, Sync: &Sync{How: bpf.ValuesBoth, Width: 4, HasInitial: true}},
	{Kind: event.KindMutex, Lock: bpf.LockKeeps, Variable: "x", Flags: event.Atomic, Sync: &Sync{How: bpf.ValuesBoth, Width: 4, HasInitial: true}},
}

// rwLockSites are those of an inlined read-write lock.
var rwLockSites = func() (sites []SiteInfo) {
	for _, s := range lockSites {
		if s.Kind == event.KindMutex {
			s.Kind = event.KindRWLock
		}
		sites = append(sites, s)
	}
	return sites
}()

// observeLock observes records of a process that has had several threads, and spells the events of objects.
func observeLock(sites []SiteInfo, records []bpf.Record) (out []string, o *Observer) {
	var k eventCollector
	o = New(Options{Sinks: []Sink{&k}, Sites: func(i uint32) *SiteInfo { return &sites[min(int(i), len(sites)-1)] }})
	o.threads.process(1).crowded = true
	for i := range records {
		o.Record(&records[i])
	}
	o.Finish()
	for _, e := range k.events {
		if e.Object == 0 {
			continue
		}
		s := fmt.Sprintf("%d %s", e.Thread, e.Op)
		if e.Op.IsAccess() {
			s += fmt.Sprintf(" %d", e.Value)
		}
		for _, f := range []struct {
			flag event.Flags
			name string
		}{{event.Try, " try"}, {event.Inferred, " inferred"}, {event.NoSource, " no source"}, {event.Late, " late"}} {
			if e.Flags&f.flag != 0 {
				s += f.name
			}
		}
		out = append(out, s)
	}
	return out, o
}

// lockRecords returns a function that makes records of accesses of an inlined lock, for one use and operation.
func lockRecords(use bpf.LockUse, op bpf.Op) func(time uint64, tid uint32, from, to uint64) bpf.Record {
	return func(time uint64, tid uint32, from, to uint64) bpf.Record {
		r := syncRecord(time, tid, op, from, to)
		r.Site = uint32(use)
		return r
	}
}

func TestInlinedLock(t *testing.T) {
	at := lockRecords
	acquire, try, release, mark := at(bpf.LockAcquires, bpf.OpUpdate), at(bpf.LockTries, bpf.OpUpdate), at(bpf.LockReleases, bpf.OpUpdate), at(bpf.LockKeeps, bpf.OpUpdate)
	fails, tries, looks := at(bpf.LockAcquires, bpf.OpRead), at(bpf.LockTries, bpf.OpRead), at(bpf.LockKeeps, bpf.OpRead)
	store, read, write, update := at(bpf.LockReleases, bpf.OpWrite), at(bpf.LockNone, bpf.OpRead), at(bpf.LockNone, bpf.OpWrite), at(bpf.LockNone, bpf.OpUpdate)
	for _, c := range []struct {
		name    string
		records []bpf.Record
		want    []string
	}{
		{"acquired and released", []bpf.Record{acquire(1, 10, 0, 1), release(2, 10, 1, 0), acquire(3, 11, 0, 1), release(4, 11, 1, 0)},
			[]string{"1 acquire", "1 release", "2 acquire", "2 release"}},
		{"released by a store", []bpf.Record{acquire(1, 10, 0, 1), store(2, 10, 0, 0), acquire(3, 11, 0, 1)}, []string{"1 acquire", "1 release", "2 acquire"}},
		{"waited for", []bpf.Record{acquire(1, 10, 0, 1), fails(2, 11, 1, 0), looks(3, 11, 1, 0), acquire(4, 11, 1, 2), release(5, 10, 2, 0), acquire(6, 11, 0, 2), release(7, 11, 2, 0)},
			[]string{"1 acquire", "1 release", "2 acquire", "2 release"}},
		{"marked as waited for", []bpf.Record{acquire(1, 10, 0, 1), mark(2, 11, 1, 2), release(3, 10, 2, 0)}, []string{"1 acquire", "1 release"}},
		{"handed over before its release was recorded", []bpf.Record{acquire(1, 10, 0, 1), acquire(2, 11, 0, 1), release(3, 10, 1, 0), release(4, 11, 1, 0)},
			[]string{"1 acquire", "1 release", "2 acquire", "2 release"}},
		{"tried", []bpf.Record{try(1, 10, 0, 1), tries(2, 11, 1, 0), release(3, 10, 1, 0), try(4, 11, 0, 1)},
			[]string{"1 acquire try", "2 acquire-failed try", "1 release", "2 acquire try"}},
		{"waited for before it was seen to be held", []bpf.Record{fails(1, 11, 1, 0), write(2, 10, 0, 0), acquire(3, 11, 0, 1)}, []string{"2 write 0", "1 update 1"}},
		{"an atomic variable from the beginning", []bpf.Record{write(1, 10, 0, 0), acquire(2, 11, 0, 1), release(3, 11, 1, 0)},
			[]string{"1 write 0", "2 update 1", "2 update 0"}},
		{"released by who does not hold it, from the beginning", []bpf.Record{release(1, 10, 0, 0), acquire(2, 11, 0, 1)}, []string{"1 read 0", "2 update 1"}},
		{"released by another thread", []bpf.Record{acquire(1, 10, 0, 1), store(2, 11, 0, 0), acquire(3, 10, 0, 1), store(4, 10, 0, 0)},
			[]string{"1 acquire", "1 release inferred", "2 write 0", "1 update 1", "1 write 0"}},
		{"looked at by others", []bpf.Record{acquire(1, 10, 0, 1), read(2, 11, 1, 0), read(3, 12, 1, 0), release(4, 10, 1, 0), read(5, 11, 0, 0)},
			[]string{"1 acquire", "2 read 1 no source", "3 read 1 no source", "1 release", "1 update 0 no source", "2 read 0"}},
		{"used as a flag when free", []bpf.Record{acquire(1, 10, 0, 1), release(2, 10, 1, 0), update(3, 11, 0, 7), read(4, 10, 7, 0)},
			[]string{"1 acquire", "1 release", "2 update 7 no source", "1 read 7"}},
		{"a release that was not seen", []bpf.Record{acquire(1, 10, 0, 1), acquire(maxWaitTime+9, 11, 0, 1), release(3*maxWaitTime, 11, 1, 0)},
			[]string{"1 acquire", "1 release inferred", "2 update 1 no source late", "2 update 0"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, _ := observeLock(lockSites, c.records)
			if !slices.Equal(got, c.want) {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}

// TestInlinedLockExcludes: whatever accesses come, no two threads hold the lock, none acquires what it
// holds, and only who holds it releases it.
func TestInlinedLockExcludes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var records []bpf.Record
		value := uint64(0)
		for i := range rapid.IntRange(1, 40).Draw(t, "n") {
			r := syncRecord(uint64(i+1), uint32(10+rapid.IntRange(0, 2).Draw(t, "thread")), bpf.OpUpdate, value, uint64(rapid.IntRange(0, 2).Draw(t, "value")))
			r.Site = uint32(rapid.IntRange(0, 4).Draw(t, "use"))
			switch rapid.IntRange(0, 3).Draw(t, "op") {
			case 0:
				r.Op, r.Value, r.Extra = uint8(bpf.OpRead), value, 0
			case 1:
				r.Op = uint8(bpf.OpWrite)
				value = r.Value
			default:
				value = r.Value
			}
			records = append(records, r)
		}
		var k eventCollector
		o := New(Options{Sinks: []Sink{&k}, Sites: func(i uint32) *SiteInfo { return &lockSites[i] }})
		o.threads.process(1).crowded = true
		for i := range records {
			o.Record(&records[i])
		}
		holder := event.ThreadID(0)
		for _, e := range k.events {
			switch e.Op {
			case event.Acquire:
				if holder != 0 {
					t.Fatalf("T%d acquires what T%d holds", e.Thread, holder)
				}
				holder = e.Thread
			case event.AcquireFailed:
				if holder == 0 {
					t.Fatalf("T%d fails to acquire what nobody holds", e.Thread)
				}
			case event.Release:
				if holder != e.Thread {
					t.Fatalf("T%d releases what T%d holds", e.Thread, holder)
				}
				holder = 0
			}
		}
	})
}
