package trace

import (
	"bytes"
	"io"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/tracepredict/tracepredict/observer/event"
)

// TestEvict checks that names which were evicted at any time are those that the trace has.
func TestEvict(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		all, flushes := randomRun(rt)
		file := write(t, all, flushes...)
		want, _, err := read(file)
		if err != nil {
			t.Fatal(err)
		}
		r, err := NewReader(bytes.NewReader(file), "t.trace")
		if err != nil {
			t.Fatal(err)
		}
		r.Reread(bytes.NewReader(file))
		r.KeepNames(rapid.SampledFrom([]uint64{0, 1, 256, 1 << 12}).Draw(rt, "bytes"))
		var got sample
		every := rapid.IntRange(1, 5).Draw(rt, "every")
		for n := 1; ; n++ {
			e := event.Event{Must: event.ClockOf(1)}
			if err := r.Next(&e); err == io.EOF {
				break
			} else if err != nil {
				t.Fatal(err)
			}
			e.Args = slices.Clone(e.Args)
			if got.events = append(got.events, e); n%every == 0 {
				r.Shrink()
			}
		}
		r.Shrink()
		got.names = r.Names()
		got.summary, _ = r.Summary()
		compare(t, want, got)
		needed := event.NewNames()
		for i := range got.events {
			needed.AddObject(got.events[i].Object)
			needed.AddThread(got.events[i].Thread)
			needed.AddStack(got.events[i].Stack)
		}
		r.Recall(needed)
		compare(t, want, got)
	})
}

// TestEvictedFile checks that names which cannot be read again are unknown.
func TestEvictedFile(t *testing.T) {
	file := write(t, smallRun())
	r, err := NewReader(bytes.NewReader(file), "t.trace")
	if err != nil {
		t.Fatal(err)
	}
	again := bytes.Clone(file)
	r.Reread(bytes.NewReader(again))
	var e event.Event
	for err == nil {
		err = r.Next(&e)
	}
	objects := r.Names().Objects()
	r.Shrink()
	clear(again)
	if o := r.Names().Object(1); objects == 0 || r.Names().Objects() != objects || o.Addr != 0 {
		t.Errorf("%d objects, %+v", objects, o)
	}
}

// TestSkipNames checks that a trace of which the names are skipped has the same events.
func TestSkipNames(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		all, flushes := randomRun(rt)
		file := write(t, all, flushes...)
		want, _, err := read(file)
		if err != nil {
			t.Fatal(err)
		}
		r, err := NewReader(bytes.NewReader(file), "t.trace")
		if err != nil {
			t.Fatal(err)
		}
		r.SkipNames()
		for n := 0; ; n++ {
			var e event.Event
			if err := r.Next(&e); err == io.EOF && n == len(want.events) {
				break
			} else if err != nil {
				t.Fatalf("event %d of %d: %v", n, len(want.events), err)
			}
			if w := &want.events[n]; e.Seq != w.Seq || e.Op != w.Op || e.Thread != w.Thread || e.Object != w.Object || e.Stack != w.Stack || e.Value != w.Value {
				t.Fatalf("event %d: %+v, want %+v", n, e, *w)
			}
		}
		if r.Names().Objects() != want.names.Objects() || r.Names().Threads() != want.names.Threads() {
			t.Fatalf("%d objects and %d threads", r.Names().Objects(), r.Names().Threads())
		}
	})
}
