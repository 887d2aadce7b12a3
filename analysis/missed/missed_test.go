package missed

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/analysis/part"
	"github.com/tracepredict/tracepredict/observer/event"
)

// The channels of two signals, and a variable.
const (
	usr1 event.ObjectID = 1 + iota
	usr2
	flag
)

func of(t event.ThreadID, op event.Op, object event.ObjectID) event.Event {
	e := event.Event{Thread: t, Op: op, Object: object, Slot: uint32(t)}
	switch {
	case op == event.Send || op == event.Receive:
		e.Kind = event.KindChannel
	case op.IsAccess():
		e.Kind = event.KindVariable
	}
	return e
}

func with(e event.Event, flags event.Flags) event.Event {
	e.Flags |= flags
	return e
}

// found returns the findings of a run: the numbers of the sleep and of the signal, and the count.
func found(run []event.Event) []string {
	a := New()
	for i := range run {
		e := run[i]
		e.Seq, e.Epoch = uint64(i+1), event.Epoch(i+1)
		if e.Stack == 0 {
			e.Stack = event.StackID(i + 1)
		}
		a.Event(&e)
		a.Remember(event.NewNames())
	}
	var out []string
	for _, f := range a.Finish() {
		out = append(out, fmt.Sprintf("%d misses %d, %d times", f.Evidence[0].Seq, f.Lost[0].Seq, f.Count))
	}
	return out
}

// TestPause checks which signals may come before a sleep. Thread 1 sends signals, and thread 2 sleeps.
func TestPause(t *testing.T) {
	pause, resume := of(2, event.Pause, 0), of(2, event.Resume, 0)
	sends, comes, works := of(1, event.Send, usr1), of(2, event.Receive, usr1), of(2, event.Acquire, 9)
	join := of(1, event.Join, 0)
	join.Peer = 2
	for _, tt := range []struct {
		name string
		run  []event.Event
		want string
	}{
		{"one signal", []event.Event{pause, sends, comes, resume, works}, "1 misses 2, 1 times"},
		{"its thread ends", []event.Event{pause, sends, comes, resume, of(2, event.End, 0)}, "1 misses 2, 1 times"},
		{"it sleeps again", []event.Event{pause, sends, comes, resume, pause}, ""},
		{"the handler does not return", []event.Event{pause, sends, comes, of(2, event.End, 0)}, ""},
		{"nobody sent it", []event.Event{pause, comes, resume, works}, ""},
		{"it was sent before", []event.Event{sends, pause, comes, resume, works}, ""},
		{"the thread itself sent it", []event.Event{pause, of(2, event.Send, usr1), comes, resume, works}, ""},
		{"two signals in one sleep", []event.Event{pause, sends, sends, comes, resume, works}, ""},
		{"two kinds of signal in one sleep", []event.Event{pause, sends, comes, of(1, event.Send, usr2), of(2, event.Receive, usr2), resume, works}, ""},
		{"another one later", []event.Event{pause, sends, comes, resume, works, sends}, ""},
		{"another one for others later", []event.Event{pause, sends, comes, resume, works, of(1, event.Send, usr2)}, "1 misses 2, 1 times"},
		{"the sender looks what came of it", []event.Event{pause, sends, comes, of(2, event.Write, flag), resume, works, of(1, event.Read, flag)}, ""},
		{"the sender joins, and looks", []event.Event{pause, sends, comes, resume, works, of(2, event.Write, flag), join, of(1, event.Read, flag)}, "1 misses 2, 1 times"},
		{"the sender looks at something else", []event.Event{pause, sends, comes, of(2, event.Write, flag), resume, works, of(1, event.Read, 8)}, "1 misses 2, 1 times"},
		{"the sender's wait is over", []event.Event{pause, sends, comes, resume, works, with(of(1, event.Wake, 7), event.TimedOut)}, ""},
		{"events were lost", []event.Event{pause, sends, comes, with(resume, event.AfterHole), works}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := strings.Join(found(tt.run), "; "); got != tt.want {
				t.Errorf("found %q, want %q", got, tt.want)
			}
		})
	}
	var twice []event.Event
	for round := range event.ObjectID(2) {
		for i, e := range []event.Event{pause, sends, comes, resume, works} {
			e.Stack = event.StackID(i + 1)
			if e.Kind == event.KindChannel {
				e.Object += 10 * round
			}
			twice = append(twice, e)
		}
	}
	if got := found(twice); !slices.Equal(got, []string{"1 misses 2, 2 times"}) {
		t.Errorf("found %q of two alike", got)
	}
}

// TestAtomics checks which stores are found: thread 1 stores, and thread 2 waits; call stack 1 is that of a wait, 2 that of
// a notification.
func TestAtomics(t *testing.T) {
	at := func(t event.ThreadID, op event.Op, object event.ObjectID, stack event.StackID, value uint64) event.Event {
		e := with(of(t, op, object), event.Atomic|event.HasValue)
		e.Stack, e.Value = stack, value
		return e
	}
	stores, waits := at(1, event.Write, flag, 9, 1), at(2, event.Read, flag, 1, 1)
	learns := func(e event.Event) event.Event {
		e.Since = 1 // the epoch, too, once it is given
		return e
	}
	many := []event.Event{stores, learns(waits)}
	for i := range maxPairs {
		many = append(many, at(3, event.Read, 8, event.StackID(10+i), 0))
	}
	for _, tt := range []struct {
		name string
		run  []event.Event
		want int
	}{
		{"a store alone", []event.Event{stores, learns(waits)}, 1},
		{"the value that it had before", []event.Event{at(1, event.Write, flag, 9, 1), stores, learns(waits)}, 0},
		{"the thread knew of it", []event.Event{stores, waits}, 0},
		{"its own", []event.Event{at(2, event.Write, flag, 9, 1), learns(waits)}, 0},
		{"no wait", []event.Event{stores, learns(at(2, event.Read, flag, 3, 1))}, 0},
		{"a notification by the same thread", []event.Event{stores, at(1, event.Read, 8, 2, 0), learns(waits)}, 0},
		{"a notification by another thread", []event.Event{stores, learns(waits), at(3, event.Read, 8, 2, 0)}, 0},
		{"a notification before", []event.Event{at(1, event.Read, 8, 2, 0), stores, learns(waits)}, 1},
		{"a notification by the thread that waits", []event.Event{stores, learns(waits), at(2, event.Read, 8, 2, 0)}, 1},
		{"more loads than are kept", append(many, at(3, event.Read, 8, 2, 0)), 0},
		{"a store that was not seen", []event.Event{stores, with(learns(waits), event.NoSource)}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := NewPart(&part.Shared{Known: part.Known{AtomicWait: func(s event.StackID) (waits, notifies bool) { return s == 1, s == 2 }}})
			for i := range tt.run {
				e := tt.run[i]
				e.Seq, e.Epoch = uint64(i+1), event.Epoch(i+1)
				e.Since *= e.Epoch
				p.Event(&e)
				p.Remember(event.NewNames())
			}
			var out part.Outcome
			if p.Finish(&out); len(out.Findings) != tt.want {
				t.Errorf("%d findings, want %d", len(out.Findings), tt.want)
			}
		})
	}
}
