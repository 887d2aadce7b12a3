package std

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

func readAll(text string, opts ReaderOptions) ([]event.Event, *Reader, error) {
	r := NewReader(strings.NewReader(text), "t.std", opts)
	var events []event.Event
	for {
		var e event.Event
		if err := r.Next(&e); err == io.EOF {
			return events, r, nil
		} else if err != nil {
			return events, r, err
		}
		events = append(events, e)
	}
}

// describe returns the events as text, one a line.
func describe(events []event.Event, n *run.Names) string {
	var b strings.Builder
	for i := range events {
		e := &events[i]
		fmt.Fprintf(&b, "%s %s", n.Thread(e.Thread).Name, e.Op)
		for _, id := range []event.ObjectID{e.Object, e.Object2} {
			if id != 0 {
				fmt.Fprintf(&b, " %s", n.Object(id).Name)
			}
		}
		if e.Peer != 0 {
			fmt.Fprintf(&b, " %s", n.Thread(e.Peer).Name)
		}
		if e.Flags&event.InCondWait != 0 {
			b.WriteString(" in-wait")
		}
		if e.Stack != 0 {
			fmt.Fprintf(&b, " at %s", Location(n.Frames(e.Stack)))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// TestGolden reads testdata/*.std. The golden file beside each has its events, and the lines that
// they are written as in each dialect. STD_UPDATE=1 in the environment renews the golden files.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.std")
	if err != nil || len(files) < 4 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			events, r, err := readAll(string(text), ReaderOptions{})
			var got strings.Builder
			got.WriteString(describe(events, r.Names()))
			if err != nil {
				fmt.Fprintf(&got, "error: %v\n", err)
			}
			s, _ := r.Summary()
			for _, n := range s.Notes {
				fmt.Fprintf(&got, "note: %s\n", n)
			}
			for _, d := range Dialects() {
				out, left := rewrite(t, events, r.Names(), d)
				fmt.Fprintf(&got, "\n%s:\n%s%s\n", d, out, left)
			}
			golden := strings.TrimSuffix(file, ".std") + ".golden"
			if os.Getenv("STD_UPDATE") == "1" {
				if err := os.WriteFile(golden, []byte(got.String()), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got.String()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// fataler is a *testing.T or a *rapid.T.
type fataler interface {
	Helper()
	Fatal(...any)
}

func rewrite(t fataler, events []event.Event, n *run.Names, d Dialect) (text, left string) {
	t.Helper()
	var out bytes.Buffer
	w := NewWriter(&out, WriterOptions{Dialect: d, Names: n})
	for i := range events {
		w.Event(&events[i])
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String(), w.Omissions()
}

func TestRefused(t *testing.T) {
	for _, c := range []struct {
		text, want string
		strict     bool // only a strict Reader rejects it
	}{
		{text: "T1|acq(l)\n", want: "t.std:1: \"T1|acq(l)\" has 2 fields"},
		{text: "a|b|c|d", want: "has 4 fields"},
		{text: "# x\n\nT1|acq|3", want: "t.std:3: \"acq\": want operation(operand)"},
		{text: "T1|acq()|3", want: "want operation(operand)"},
		{text: "T1|acq(a b)|3", want: "want operation(operand)"},
		{text: "T1|acq(a)x|3", want: "want operation(operand)"},
		{text: "T1|fly(l)|3", want: "unknown operation \"fly\""},
		{text: "T1|dummy(l)|3", want: "unknown operation \"dummy\""},
		{text: "T1|sync(l)|3", want: "unknown operation \"sync\""},
		{text: "|acq(l)|3", want: "names no thread"},
		{text: "  #0 f a.c:3\n", want: "no event before"},
		{text: strings.Repeat("x", maxLine+1), want: "longer than"},
		{text: "T1|acq(l)|1\nT2|acq(l)|2\n", want: "t.std:2: T2 takes l, which T1 has since line 1"},
		{text: "T1|rel(l)|1\n", want: "T1 releases l, which nobody has"},
		{text: "T1|acq(l)|1\nT2|rel(l)|2\n", want: "T2 releases l, which T1 has since line 1"},
		{text: "T2|r(x)|1\nT1|fork(T2)|2\n", want: "t.std:2: T2 acts in line 1, before its fork"},
		{text: "T1|fork(T2)|1\nT1|fork(T2)|2\n", want: "T2 was forked already in line 1"},
		{text: "T1|fork(T2)|1\nT1|join(T2)|2\nT2|r(x)|3\n", want: "t.std:3: T2 acts after it was joined in line 2"},
		{text: "T1|join(T2)|2\nT1|fork(T2)|3\n", want: "T2 was joined already"},
		{text: "T1|fork(T1)|1\n", want: "forks itself"},
		{text: "T1|join(T1)|1\n", want: "joins itself"},
		{text: "T1|wait(c)|1\nT1|wait(c)|2\n", want: "waits already"},
		{text: "T1|acq(l)|1\nT1|acq(l)|2\n", want: "T1 takes l, which it has since line 1", strict: true},
		{text: "T1|req(l)|1\n", want: "operation \"req\" is not RAPID's", strict: true},
		{text: "T1|rd(x)|1\n", want: "operation \"rd\" is not RAPID's", strict: true},
		{text: "T1|wait(c)|1\n", want: "operation \"wait\" is not RAPID's", strict: true},
		{text: "T1|r(x)|a.c:3\n", want: "is not a number", strict: true},
		{text: "T1|r(x)|4294967298\n", want: "is not a number of 32 bits", strict: true},
		{text: "T1|r(x)|3\n# a comment\n", want: "t.std:2:", strict: true},
		{text: "T1|r(x)|3\n\nT1|r(x)|3\n", want: "t.std:2:", strict: true},
		{text: "T1|r(x)|3\n  a stack\n", want: "t.std:2:", strict: true},
	} {
		for _, strict := range []bool{false, true} {
			_, _, err := readAll(c.text, ReaderOptions{Strict: strict})
			if c.strict && !strict {
				if err != nil {
					t.Errorf("%q: %v", c.text, err)
				}
				continue
			}
			var wrong *Error
			found := err != nil && strings.Contains(err.Error(), c.want)
			if !errors.As(err, &wrong) || !found && strict == c.strict { // a strict Reader may find another error first
				t.Errorf("%q, strict %v: %v, want %q", c.text, strict, err, c.want)
			}
		}
	}
}

// TestNumericOperands: a bare number in fork and join is the thread of that name, with or without
// a T, whichever the trace has first.
func TestNumericOperands(t *testing.T) {
	for text, want := range map[string]string{
		"main|fork(9)|1\nT9|w(x)|2\nmain|join(9)|3\n": "main fork T9 at 1\nT9 write x at 2\nmain join T9 at 3\n",
		"0|fork(9)|1\n9|w(x)|2\n0|join(9)|3\n":        "0 fork 9 at 1\n9 write x at 2\n0 join 9 at 3\n",
		"T0|fork(9)|1\nT0|join(9)|3\n":                "T0 fork T9 at 1\nT0 join T9 at 3\n",
		"T0|fork(9)|1\n9|w(x)|2\nT9|w(x)|2\n":         "T0 fork 9 at 1\n9 write x at 2\nT9 write x at 2\n",
		"9|w(4294967298)|1\nT0|join(9)|3\n":           "9 write 4294967298 at 1\nT0 join 9 at 3\n",
	} {
		events, r, err := readAll(text, ReaderOptions{})
		if err != nil {
			t.Errorf("%q: %v", text, err)
		}
		if diff := cmp.Diff(want, describe(events, r.Names())); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
	}
}

func TestFrames(t *testing.T) {
	text := "T1|w(x)|shop.c:12:5\n  #0 sell shop.c:12\n\t#1 main() /src/shop.c:40:2\n  start_thread\nT1|w(x)|17\nT1|r(x)|somewhere\n"
	events, r, err := readAll(text, ReaderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want := [][]event.Frame{
		{{File: "shop.c", Line: 12}, {Function: "sell", File: "shop.c", Line: 12}, {Function: "main()", File: "/src/shop.c", Line: 40}, {Function: "start_thread"}},
		{{Function: "location 17"}},
		{{Function: "somewhere"}},
	}
	for i := range want {
		if diff := cmp.Diff(want[i], r.Names().Frames(events[i].Stack)); diff != "" {
			t.Error(diff)
		}
	}
}

// TestRejoined: a Java thread may be joined twice. The summary reports that the order of the
// second join is missing.
func TestRejoined(t *testing.T) {
	_, r, err := readAll("T0|fork(T1)|1\nT1|w(x)|2\nT0|join(T1)|3\nT2|join(T1)|4\n", ReaderOptions{Strict: true})
	if err != nil {
		t.Fatal(err)
	}
	if s, _ := r.Summary(); !strings.Contains(s.Doubt, "T1 was joined in line 3 and again in line 4") {
		t.Error(s)
	}
}

// TestRoundTrip: what is written is read again as it was.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := randomSTD(t)
		events, r, err := readAll(text, ReaderOptions{Strict: true})
		if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		again, left := rewrite(t, events, r.Names(), Rapid)
		if text != again || left != "" {
			t.Fatalf("%s\n%s", left, cmp.Diff(text, again))
		}
		for _, d := range []Dialect{SPD, SUnhang} {
			other, _ := rewrite(t, events, r.Names(), d)
			more, r2, err := readAll(other, ReaderOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(describe(events, r.Names()), describe(more, r2.Names())); diff != "" {
				t.Fatal(diff)
			}
		}
	})
}

// randomSTD returns a feasible run, in RAPID's own dialect.
func randomSTD(t *rapid.T) string {
	var b strings.Builder
	live, held, next := []string{"T0"}, map[string]string{}, 1
	for range rapid.IntRange(0, 40).Draw(t, "lines") {
		who := rapid.SampledFrom(live).Draw(t, "thread")
		lock := rapid.SampledFrom([]string{"l", "m[0].x", "L(2)"}).Draw(t, "lock")
		var op string
		switch rapid.IntRange(0, 4).Draw(t, "kind") {
		case 0:
			op = fmt.Sprintf("w(V%d)", rapid.IntRange(0, 3).Draw(t, "variable"))
		case 1:
			op = fmt.Sprintf("r(V%d)", rapid.IntRange(0, 3).Draw(t, "variable"))
		case 2:
			op = fmt.Sprintf("acq(%s)", lock)
			if held[lock] == who {
				op = fmt.Sprintf("rel(%s)", lock)
				delete(held, lock)
			} else if held[lock] != "" {
				continue
			} else {
				held[lock] = who
			}
		case 3:
			child := fmt.Sprint("T", next)
			op = fmt.Sprintf("fork(%s)", child)
			live, next = append(live, child), next+1
		case 4:
			if next == 1 || who != "T0" || len(live) < 2 {
				continue
			}
			op = fmt.Sprintf("join(%s)", live[len(live)-1])
			live = live[:len(live)-1]
		}
		fmt.Fprintf(&b, "%s|%s|%d\n", who, op, rapid.IntRange(0, 99).Draw(t, "location"))
	}
	return b.String()
}

// TestLeftOut: events that STD cannot express are counted, and the others are written.
func TestLeftOut(t *testing.T) {
	names := &run.Names{}
	for _, name := range []string{"stock", "a b", "stock", "hits"} {
		names.AddObject(run.Object{Name: name})
	}
	names.AddThread(run.Thread{TID: 4711, Name: "shop"})
	names.SetFrames(3, []event.Frame{{Function: "f", File: "f.c", Line: 3}})
	names.SetFrames(4, []event.Frame{{Function: "f", File: "f.c", Line: 3}, {Function: "main"}})
	names.SetFrames(5, []event.Frame{{Function: "g"}})
	var events []event.Event
	for _, e := range []event.Event{
		{Op: event.Begin}, {Op: event.Init, Object: 1}, {Op: event.AcquireRead, Object: 1}, {Op: event.Release, Object: 1}, {Op: event.Acquire, Object: 2, Stack: 3},
		{Op: event.Update, Object: 4, Flags: event.Atomic, Stack: 4}, {Op: event.Release, Object: 2, Stack: 5}, {Op: event.SemPost, Object: 7},
		{Op: event.Destroy, Object: 1}, {Op: event.Acquire, Object: 1}, {Op: event.Acquire, Object: 3}, {Op: event.Signal, Object: 9}, {Op: event.End},
	} {
		e.Thread = 1
		events = append(events, e)
	}
	text, left := rewrite(t, events, names, Rapid)
	want := "T1|acq(L2)|1\nT1|r(hits)|1\nT1|w(hits)|1\nT1|rel(L2)|2\nT1|acq(stock)|0\nT1|acq(stock~2)|0\n"
	if diff := cmp.Diff(want, text); diff != "" {
		t.Error(diff)
	}
	if left != "STD has no word for 1 marks of atomic accesses, 1 read locks, 1 sem-post events, 1 signal events: they were left out, and with them the order that they make" {
		t.Error(left)
	}
}

func TestReadError(t *testing.T) {
	r := NewReader(io.MultiReader(strings.NewReader("T1|r(x)|1\nT1|r("), broken{}), "t.std", ReaderOptions{})
	var e event.Event
	if err := r.Next(&e); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := r.Next(&e); !errors.Is(err, errBroken) || !strings.HasPrefix(err.Error(), "read t.std: ") {
			t.Error(err)
		}
	}
	if err := NewWriter(brokenWriter{}, WriterOptions{}).Close(); err != nil {
		t.Error(err)
	}
	w := NewWriter(brokenWriter{}, WriterOptions{})
	w.Event(&event.Event{Thread: 1, Op: event.Acquire, Object: 1})
	if err := w.Close(); !errors.Is(err, errBroken) {
		t.Error(err)
	}
}

var errBroken = errors.New("broken")

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errBroken }

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errBroken }

// count returns the number of events that are not wakes: a wake is not written, so it is lost if
// no line of the thread follows.
func count(events []event.Event) int {
	n := 0
	for i := range events {
		if events[i].Op != event.Wake {
			n++
		}
	}
	return n
}

// FuzzReader: what is read can be written and read again, and any text can be repaired.
func FuzzReader(f *testing.F) {
	files, err := filepath.Glob("testdata/*.std")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text), false)
	}
	f.Add("T0|fork(9)|1\n9|w(x)|2\nT9|wait(c)|2\nT9|begin|\n", false)
	f.Add("a|join(a)|1\na|fork(a)|1\na|fork(a)|1", true)
	f.Add("a|rel(l)|1\nb|begin|\nb|end(|", false)
	f.Fuzz(func(t *testing.T, text string, strict bool) {
		if len(text) > 1<<14 {
			t.Skip()
		}
		var wrong *Error
		if repaired, _, err := readRepaired(text); errors.As(err, &wrong) && wrong.Mendable || malformed(repaired) != "" {
			t.Fatalf("repaired: %v, %s", err, malformed(repaired))
		}
		events, r, err := readAll(text, ReaderOptions{Strict: strict})
		if err != nil {
			return
		}
		for _, d := range Dialects() {
			out, _ := rewrite(t, events, r.Names(), d)
			more, r2, err := readAll(out, ReaderOptions{Strict: d == Rapid})
			if err != nil {
				t.Fatalf("%s: %v in\n%s", d, err, out)
			}
			if d == SUnhang && count(more) != count(events) {
				t.Fatalf("%d events, then %d:\n%s\n%s", len(events), len(more), describe(events, r.Names()), describe(more, r2.Names()))
			}
		}
	})
}

// TestManyOfOneName: the time to name n objects of the same name grows with n, not with its
// square.
func TestManyOfOneName(t *testing.T) {
	var names run.Names
	const n = 20000
	names.AddThread(run.Thread{Name: "T"})
	var out strings.Builder
	w := NewWriter(&out, WriterOptions{Names: &names})
	for i := range n {
		id := names.AddObject(run.Object{Name: "l"})
		w.Event(&event.Event{Seq: uint64(i + 1), Thread: 1, Op: event.Acquire, Object: id})
		w.Event(&event.Event{Seq: uint64(i + 1), Thread: 1, Op: event.Destroy, Object: id})
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if got := w.nameCounts["l"]; got != n || !strings.HasSuffix(out.String(), fmt.Sprintf("T|acq(l~%d)|0\n", n)) {
		t.Errorf("%d names", got)
	}
}

// TestNamesForATerminal: names with characters that are not printable are not written.
func TestNamesForATerminal(t *testing.T) {
	var names run.Names
	for _, name := range []string{"\x1b[2J", "a\u009b31m", "\x9b31m", "a\u202eb", "a|b", "a b", "a\nb", ""} {
		names.AddThread(run.Thread{Name: name})
	}
	var out strings.Builder
	w := NewWriter(&out, WriterOptions{Names: &names})
	for id := range names.Threads() {
		w.Event(&event.Event{Thread: event.ThreadID(id + 1), Op: event.Write, Object: 1})
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if want := "T1|w(V1)|0\nT2|w(V1)|0\nT3|w(V1)|0\nT4|w(V1)|0\nT5|w(V1)|0\nT6|w(V1)|0\nT7|w(V1)|0\nT8|w(V1)|0\n"; out.String() != want {
		t.Errorf("got %q", out.String())
	}
}

// TestNamesAreBounded: the names of an endless trace do not fill the memory.
func TestNamesAreBounded(t *testing.T) {
	r := NewReader(strings.NewReader("a|w(x)|1\na|w(y)|2\na|w(z)|3\n"), "t.std", ReaderOptions{})
	var e event.Event
	if err := r.Next(&e); err != nil {
		t.Fatal(err)
	}
	if r.size < 3*256 {
		t.Errorf("a thread, a variable and a location were counted as %d bytes", r.size)
	}
	r.size = maxNames + 1
	if err := r.Next(&e); err == nil || err.Error() != "t.std:2: the names of the trace take more than 1073741824 bytes" {
		t.Errorf("got %v", err)
	}
}
