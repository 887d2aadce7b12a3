package kept_test

import (
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/kept"
	_ "github.com/tracepredict/tracepredict/internal/fixedseed"
	"github.com/tracepredict/tracepredict/observer/event"
)

// lost are the fields of an event that a log does not keep.
var lost = []string{"Func", "Args", "Must", "Since"}

// filled returns an event of which each field that a log keeps has another value than in other events.
func filled(seq uint64) event.Event {
	e := event.Event{Seq: seq}
	v := reflect.ValueOf(&e).Elem()
	for i := range v.NumField() {
		f := v.Field(i)
		if name := v.Type().Field(i).Name; name != "Seq" && f.CanUint() && !slices.Contains(lost, name) {
			f.SetUint((seq*31 + uint64(i)) % 200)
		}
	}
	return e
}

// TestLog compares a log, from which events are removed, with a slice of the events that were added.
func TestLog(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var log kept.Log
		var plain []event.Event
		full, seq := rapid.IntRange(0, 200).Draw(t, "full"), uint64(0)
		for range rapid.IntRange(0, 200).Draw(t, "events") {
			seq += 1 + seq%3
			e := filled(seq)
			log.Add(&e, full)
			plain = append(plain, e)
		}
		cut := rapid.IntRange(0, len(plain)).Draw(t, "cut")
		log, plain = slices.Delete(log, 0, cut), plain[cut:]
		if diff := cmp.Diff(plain, log.Events(), cmp.Comparer(sameEvent)); diff != "" && len(plain) > 0 {
			t.Fatalf("(-want +got):\n%s", diff)
		}
		asked := rapid.Uint64Range(0, seq+2).Draw(t, "seq")
		index := slices.IndexFunc(plain, func(e event.Event) bool { return e.Seq >= asked })
		if index < 0 {
			index = len(plain)
		}
		if got := log.Index(asked); got != index {
			t.Fatalf("event %d is at %d, want %d", asked, got, index)
		}
		found := log.Find(asked)
		if is := index < len(plain) && plain[index].Seq == asked; (found != nil) != is {
			t.Fatalf("event %d: %+v", asked, found)
		}
		if found != nil {
			if diff := cmp.Diff(finding.StepOf(&plain[index]), found.Step()); diff != "" {
				t.Fatalf("(-want +got):\n%s", diff)
			}
		}
	})
}

func sameEvent(a, b event.Event) bool { return reflect.DeepEqual(a, b) }

// TestAllFieldsAreKept: an event of the run has no field but those that a log keeps, and those that it is known to lose.
func TestAllFieldsAreKept(t *testing.T) {
	have, keep := reflect.TypeFor[event.Event](), reflect.TypeFor[kept.Event]()
	for i := range have.NumField() {
		name := have.Field(i).Name
		if _, is := keep.FieldByName(name); is == slices.Contains(lost, name) {
			t.Errorf("%s is kept: %v", name, is)
		}
	}
}

// TestNoGrowthBeyondFull: a log that is said to be full at some events has room for no more, and loses none as it grows.
func TestNoGrowthBeyondFull(t *testing.T) {
	var log kept.Log
	for i := range 5000 {
		e := filled(uint64(i + 1))
		log.Add(&e, 5000)
	}
	if cap(log) != 5000 {
		t.Errorf("room for %d events", cap(log))
	}
	for i := range log {
		if want := filled(uint64(i + 1)); !reflect.DeepEqual(log[i].Event(), want) {
			t.Fatalf("event %d is %+v, want %+v", i+1, log[i], want)
		}
	}
}
