package missed

import (
	"fmt"
	"slices"
	"strings"
	"testing"

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
