package observer

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/observer/event"
)

func TestInlinedRWLock(t *testing.T) {
	const (
		w              = rustWriteLocked
		writersWaiting = 1 << 31
	)
	at := lockRecords
	acquire, try, release, mark := at(bpf.LockAcquires, bpf.OpUpdate), at(bpf.LockTries, bpf.OpUpdate), at(bpf.LockReleases, bpf.OpUpdate), at(bpf.LockKeeps, bpf.OpUpdate)
	looks, other, update := at(bpf.LockAcquires, bpf.OpRead), at(bpf.LockNone, bpf.OpRead), at(bpf.LockNone, bpf.OpUpdate)
	for _, c := range []struct {
		name    string
		records []bpf.Record
		want    []string
	}{
		{"written", []bpf.Record{looks(1, 10, 0, 0), acquire(2, 10, 0, w), release(3, 10, w, 0), acquire(4, 11, 0, w), release(5, 11, w, 0)},
			[]string{"1 acquire", "1 release", "2 acquire", "2 release"}},
		{"read by two", []bpf.Record{acquire(1, 10, 0, 1), acquire(2, 11, 1, 2), release(3, 10, 2, 1), release(4, 11, 1, 0)},
			[]string{"1 acquire-read", "2 acquire-read", "1 release", "2 release"}},
		{"read again", []bpf.Record{acquire(1, 10, 0, 1), acquire(2, 10, 1, 2), release(3, 10, 2, 1), release(4, 10, 1, 0)},
			[]string{"1 acquire-read", "1 acquire-again", "1 release"}},
		{"waited for by a writer", []bpf.Record{acquire(1, 10, 0, 1), acquire(2, 11, 1, 1|writersWaiting), release(3, 10, 1|writersWaiting, writersWaiting), acquire(4, 11, writersWaiting, w|writersWaiting), release(5, 11, w|writersWaiting, writersWaiting), mark(6, 11, writersWaiting, 0)},
			[]string{"1 acquire-read", "1 release", "2 acquire", "2 release"}},
		{"released by code of no function", []bpf.Record{acquire(1, 10, 0, 1), update(2, 10, 1, 0), acquire(3, 11, 0, w), update(4, 11, w, 0)},
			[]string{"1 acquire-read", "1 release", "2 acquire", "2 release"}},
		{"tried", []bpf.Record{try(1, 10, 0, 1), looks(2, 11, 1, 0), release(3, 10, 1, 0), try(4, 11, 0, w)},
			[]string{"1 acquire-read try", "1 release", "2 acquire try"}},
		{"a writer goes on as a reader", []bpf.Record{acquire(1, 10, 0, w), mark(2, 10, w, 1), acquire(3, 11, 1, 2), release(4, 10, 2, 1), release(5, 11, 1, 0)},
			[]string{"1 acquire", "1 release", "1 acquire-read", "2 acquire-read", "1 release", "2 release"}},
		{"released by who does not hold it", []bpf.Record{acquire(1, 10, 0, 1), release(2, 11, 1, 0)},
			[]string{"1 acquire-read", "1 release inferred", "2 update 0 no source"}},
		{"taken while it is written", []bpf.Record{acquire(1, 10, 0, w), acquire(2, 11, w, 2*w), release(3, 10, 2*w, 0)},
			[]string{"1 acquire", "1 release inferred", "2 update 2147483646 no source", "1 update 0"}},
		{"a number of another word of its functions", []bpf.Record{mark(1, 10, 0, 1), mark(2, 11, 1, 2)}, []string{"1 update 1", "2 update 2"}},
		{"an atomic variable from the beginning", []bpf.Record{other(1, 10, 0, 0), acquire(2, 11, 0, 1), release(3, 11, 1, 0)}, []string{"1 read 0", "2 update 1", "2 update 0"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got, _ := observeLock(rwLockSites, c.records); !slices.Equal(got, c.want) {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}

// TestAfterRelease checks what a word becomes when the constant that is subtracted is not known.
func TestAfterRelease(t *testing.T) {
	for read, want := range map[optional]optional{
		{0, false}: {}, {0, true}: {}, {1, true}: {0, true}, {5 | 1<<31, true}: {4 | 1<<31, true},
		{rustWriteLocked, true}: {0, true}, {rustWriteLocked | 3<<30, true}: {3 << 30, true}, {1 << 31, true}: {},
	} {
		if got := afterRelease(read); got != want {
			t.Errorf("%v: %v, want %v", read, got, want)
		}
	}
}

// TestInlinedRWLockExcludes: whatever accesses come, a writer excludes all others, and only who holds the lock
// releases it.
func TestInlinedRWLockExcludes(t *testing.T) {
	values := []uint64{0, 1, 2, 3, rustWriteLocked, 1 << 31, 1<<31 | 1, 1<<31 | rustWriteLocked}
	rapid.Check(t, func(t *rapid.T) {
		var records []bpf.Record
		value := uint64(0)
		for i := range rapid.IntRange(1, 40).Draw(t, "n") {
			r := syncRecord(uint64(i+1), uint32(10+rapid.IntRange(0, 2).Draw(t, "thread")), bpf.OpUpdate, value, rapid.SampledFrom(values).Draw(t, "value"))
			if r.Site = uint32(rapid.IntRange(0, 4).Draw(t, "use")); rapid.Bool().Draw(t, "read") {
				r.Op, r.Value, r.Extra = uint8(bpf.OpRead), value, 0
			} else {
				value = r.Value
			}
			records = append(records, r)
		}
		var k eventCollector
		o := New(Options{Sinks: []Sink{&k}, Sites: func(i uint32) *SiteInfo { return &rwLockSites[i] }})
		o.threads.process(1).crowded = true
		for i := range records {
			o.Record(&records[i])
		}
		readers, writer := map[event.ThreadID]bool{}, event.ThreadID(0)
		for _, e := range k.events {
			switch e.Op {
			case event.Acquire, event.AcquireRead:
				if writer != 0 || e.Op == event.Acquire && len(readers) > 0 || readers[e.Thread] {
					t.Fatalf("T%d acquires (%s) what T%d and %v hold", e.Thread, e.Op, writer, readers)
				}
				if e.Op == event.Acquire {
					writer = e.Thread
				} else {
					readers[e.Thread] = true
				}
			case event.AcquireAgain:
				if !readers[e.Thread] {
					t.Fatalf("T%d acquires again what it does not hold", e.Thread)
				}
			case event.Release:
				if writer != e.Thread && !readers[e.Thread] {
					t.Fatalf("T%d releases what it does not hold", e.Thread)
				}
				if delete(readers, e.Thread); writer == e.Thread {
					writer = 0
				}
			}
		}
	})
}
