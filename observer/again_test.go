package observer

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tracepredict/tracepredict/observer/event"
)

// TestThreadKeys has thread 11 write a variable and handle keys, and thread 12 do so before it writes the
// variable: the first write comes before the second in every schedule if thread 12 gets a key that thread 11
// has deleted.
func TestThreadKeys(t *testing.T) {
	for _, c := range []struct {
		name, records string
		messages      []string
		ordered       bool
	}{
		{"the key again", "11 key-delete 5\n12 key-create A with=6", []string{"T2 send key2", "T3 receive key2"}, true},
		{"the first key", "11 key-delete 0\n12 key-create A with=1", []string{"T2 send key2", "T3 receive key2"}, true},
		{"another key", "11 key-delete 5\n12 key-create A with=7", []string{"T2 send key2"}, false},
		{"no key", "11 key-delete 5\n12 key-create A with=6 failed", []string{"T2 send key2"}, false},
		{"a key that cannot be read", "11 key-delete 5\n12 key-create A with=0", []string{"T2 send key2"}, false},
		{"a key that was not deleted", "11 key-create A with=6\n12 key-create A with=6", nil, false},
		{"through a third thread", "11 key-delete 5\n1 key-create A with=6\n1 key-delete 5\n12 key-create A with=6",
			[]string{"T2 send key2", "T1 receive key2", "T1 send key2", "T3 receive key2"}, true},
	} {
		t.Run(strings.ReplaceAll(c.name, " ", "-"), func(t *testing.T) {
			l := newListener()
			var writes []event.Event
			l.o = New(Options{Sites: site, Sinks: []Sink{l, sinkFunc(func(e *event.Event) {
				if e.Op == event.Write {
					w := *e
					w.Must = e.Must.Clone()
					writes = append(writes, w)
				}
			})}})
			text := "1 fork 11 tp=p1\n1 fork 12 tp=p2\n11 write X value=1\n" + c.records + "\n12 write X value=2"
			for _, r := range parseRecords(t, text) {
				l.o.Record(&r)
			}
			if got := writes[1].Before(writes[0].Slot, writes[0].Epoch); got != c.ordered {
				t.Errorf("ordered: %v, want %v", got, c.ordered)
			}
			var messages []string
			for _, line := range l.lines {
				if strings.Contains(line, " key") {
					messages = append(messages, line)
				}
			}
			if diff := cmp.Diff(c.messages, messages); diff != "" {
				t.Errorf("messages expected (-), found (+):\n%s", diff)
			}
		})
	}
}

// TestThreadKeyOfOne checks that a process with one thread records nothing of keys.
func TestThreadKeyOfOne(t *testing.T) {
	l := newListener()
	for _, r := range parseRecords(t, "1 key-create A with=6\n1 key-delete 5\n1 key-create A with=6\n1 key-delete 5") {
		l.o.Record(&r)
	}
	if diff := cmp.Diff([]string{"T1 begin inferred"}, l.lines); diff != "" {
		t.Errorf("events expected (-), found (+):\n%s", diff)
	}
}
