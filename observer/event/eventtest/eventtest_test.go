package eventtest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tracepredict/tracepredict/observer/event"
)

// line writes an event as the tests expect it.
func line(e *event.Event, n *Names) string {
	s := n.Threads[e.Thread] + " " + e.Op.String()
	if e.Object != 0 {
		s += " " + n.Objects[e.Object]
	}
	if e.Peer != 0 {
		s += " " + n.Threads[e.Peer]
	}
	return s
}

func lines(events []event.Event, n *Names) string {
	var out []string
	for i := range events {
		out = append(out, line(&events[i], n))
	}
	return strings.Join(out, "\n")
}

func TestSTD(t *testing.T) {
	text := "main|fork(1)|a\n\n# note\nmain|req(l)|7\nmain|acq(l)|7\nmain|acq(l)|8\nmain|rel(l)|9\nmain|rel(l)|10\nT1|rd(x)|11\nmain|join(T1)|12\n"
	events, names, err := ParseSTD(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	want := "main fork T1\nmain acquire l\nmain release l\nT1 read x\nmain join T1"
	if diff := cmp.Diff(want, lines(events, names)); diff != "" {
		t.Error(diff)
	}
	if e := events[1]; e.Seq != 5 || names.Stacks[e.Stack] != "7" {
		t.Errorf("the acquire is event %d at %s", e.Seq, names.Stacks[e.Stack])
	}
	if last := events[4]; !last.Before(events[3].Slot, events[3].Epoch) {
		t.Error("the join is not stamped")
	}
	if names.Thread("T1") != events[3].Thread || names.object("nobody") != 0 {
		t.Error("names are not found")
	}
}

func TestSTDErrors(t *testing.T) {
	if _, _, err := ParseSTD(strings.NewReader("\nT1|acq|3")); err == nil || !strings.Contains(err.Error(), "trace:2: ") {
		t.Errorf("%v", err)
	}
	if _, _, err := ReadSTD("testdata/none.std"); err == nil {
		t.Error("no error for a file that is not there")
	}
}

func TestCases(t *testing.T) {
	tests := map[string]string{
		"wait_notify":            "T1 acquire m\nT1 release m\nT1 wait cond:c\nT2 write data\nT2 acquire m\nT2 write ready\nT2 broadcast cond:c\nT2 release m\nT2 write done\nT1 wake cond:c\nT1 acquire m\nT1 read ready\nT1 release m\nT1 write data",
		"missed_signal_smallest": "W acquire m\nW release m\nW wait cond:m\nS acquire m\nS broadcast cond:m\nS release m\nW wake cond:m\nW acquire m\nW release m",
	}
	for name, want := range tests {
		c, err := ReadCase(filepath.Join("testdata", name+".json"))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, lines(c.Events, c.Names)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	c, err := ReadCase("testdata/reentrant_lock.json")
	if err != nil {
		t.Fatal(err)
	}
	depth := map[event.ObjectID]int{}
	for _, e := range c.Events {
		if e.Op == event.Acquire {
			depth[e.Object]++
		}
		if e.Op == event.Release {
			depth[e.Object]--
		}
		if depth[e.Object] > 1 {
			t.Errorf("event %d acquires a lock again", e.Seq)
		}
	}
}

func FuzzCase(f *testing.F) {
	files, err := filepath.Glob("testdata/*.json")
	if err != nil {
		f.Fatal(err)
	}
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte(`{"events":[{"op":"wake","thread":"a","object":"m"},{"op":"read","value":1.5}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if len(text) > 1<<14 {
			t.Skip()
		}
		c, err := parseCase(text)
		if err == nil {
			lines(c.Events, c.Names)
		}
	})
}
