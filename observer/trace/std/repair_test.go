package std

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	_ "github.com/tracepredict/tracepredict/internal/fixedseed"

	"github.com/tracepredict/tracepredict/observer/event"
)

// readRepaired reads a text with its Repairs.
func readRepaired(text string) ([]event.Event, *Reader, error) {
	repairs, err := Scan(strings.NewReader(text), "t.std")
	if err != nil {
		return nil, nil, err
	}
	return readAll(text, ReaderOptions{Repairs: repairs})
}

// TestRepaired checks what each kind of line that no run can have is mended to, and what the notes
// and the doubt say.
func TestRepaired(t *testing.T) {
	for _, c := range []struct {
		name, text, want, note string
		doubt                  bool
	}{
		{"well-formed", "T1|acq(l)|1\nT1|rel(l)|2\n", "T1 acquire l at 1\nT1 release l at 2\n", "", false},
		{"a number that is the name of another thread later", "T3|acq(l)|1\nT1|join(3)|2\n3|r(x)|3\n", "T3 acquire l at 1\nT1 join T3 at 2\n3 read x at 3\n", "", false},
		{"a number that is the name of no other thread", "T4|acq(l)|1\nT1|join(3)|2\n3|r(x)|3\n", "T4 acquire l at 1\n3 read x at 3\n",
			"1 join of a thread that acts later was left out (first in line 2)", false},
		{"holds a lock, and another thread has its number", "3|r(x)|1\nT3|rel(l)|2\n", "3 read x at 1\nT3 acquire l\nT3 release l at 2\n",
			"1 lock is taken for held since before the trace begins", false},
		{"forked twice", "T1|fork(T2)|1\nT2|acq(l)|2\nT2|r(x)|3\nT1|fork(T2)|4\nT2|r(x)|5\nT1|join(T2)|6\n",
			"T1 fork T2 at 1\nT2 acquire l at 2\nT2 read x at 3\nT2 release l\nT1 fork T2~2 at 4\nT2~2 read x at 5\nT1 join T2~2 at 6\n",
			"1 fork of a thread that was forked or joined before begins another thread of that name (first in line 4)", false},
		{"forked three times, by bare numbers", "T1|fork(2)|1\nT2|r(x)|2\nT1|join(2)|3\nT1|fork(2)|4\nT1|fork(2)|5\nT2|r(x)|6\n",
			"T1 fork T2 at 1\nT2 read x at 2\nT1 join T2 at 3\nT1 fork T2~2 at 4\nT1 fork T2~3 at 5\nT2~3 read x at 6\n",
			"2 forks of a thread that was forked or joined before begin another thread of that name (first in line 4)", false},
		{"joined before its fork", "T1|join(T2)|2\nT1|fork(T2)|3\nT2|r(x)|4\n", "T1 join T2 at 2\nT1 fork T2~2 at 3\nT2~2 read x at 4\n",
			"1 fork of a thread that was forked or joined before", false},
		{"joined without a fork", "T2|r(x)|1\nT1|join(T2)|2\n", "T2 read x at 1\nT1 join T2 at 2\n", "", false},
		{"goes on after its join", "T1|join(T2)|1\nT2|r(x)|2\nT1|join(T2)|3\n", "T2 read x at 2\nT1 join T2 at 3\n",
			"1 join of a thread that acts later was left out (first in line 1)", false},
		{"acts before its fork", "T2|r(x)|1\nT1|fork(T2)|2\nT2|r(x)|3\n", "T2 read x at 1\nT2 read x at 3\n",
			"1 fork of a thread that had acted already was left out (first in line 2)", true},
		{"forks and joins itself", "T1|fork(T1)|1\nT1|join(T1)|2\n", "", "2 forks or joins of a thread by itself were left out (first in line 1)", false},
		{"holds a lock when the trace begins", "T2|r(y)|1\nT1|w(x)|2\nT1|rel(l)|3\nT2|acq(l)|4\n",
			"T2 read y at 1\nT1 acquire l\nT1 write x at 2\nT1 release l at 3\nT2 acquire l at 4\n",
			"1 lock is taken for held since before the trace begins, as a thread releases what nobody has acquired (first line of such a thread: 2)", false},
		{"cannot hold a lock when it begins", "T1|fork(T2)|1\nT2|rel(l)|2\n", "T1 fork T2 at 1\n", "1 release of a lock that the thread did not hold was left out (first in line 2)", true},
		{"releases what another holds", "T1|acq(l)|1\nT2|rel(l)|2\nT1|rel(l)|3\n", "T1 acquire l at 1\nT1 release l at 3\n", "1 release of a lock", true},
		{"releases twice", "T1|acq(l)|1\nT1|rel(l)|2\nT1|rel(l)|3\n", "T1 acquire l at 1\nT1 release l at 2\n", "1 release of a lock", true},
		{"takes what another holds", "T1|acq(l)|1\nT2|acq(l)|2\nT2|rel(l)|3\nT1|rel(l)|4\n",
			"T1 acquire l at 1\nT1 release l\nT2 acquire l at 2\nT2 release l at 3\n",
			"1 lock was acquired while another thread held it, and is taken for released just before (first in line 2)", true},
		{"takes what a joined thread holds", "T2|acq(l)|1\nT1|join(T2)|2\nT1|acq(l)|3\n", "T2 acquire l at 1\nT1 join T2 at 2\nT1 release l\nT1 acquire l at 3\n", "1 lock was acquired", true},
		{"waits twice", "T1|wait(c)|1\nT1|wait(c)|2\n", "T1 wait c at 1\nT1 wake c at 2\nT1 wait c at 2\n", "1 wait of a thread that waited already", false},
		{"no events", "T1|branch(3)|1\nnonsense\nT1|r(x)|3\nT1|w(", "T1 read x at 3\n", "3 lines that are no event were left out (first line 1)", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			events, r, err := readRepaired(c.text)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, describe(events, r.Names())); diff != "" {
				t.Error(diff)
			}
			s, _ := r.Summary()
			notes := strings.Join(s.Notes, "\n")
			if !strings.Contains(notes, c.note) || strings.Contains(notes, "repaired: ") != (c.note != "") || (s.Doubt != "") != c.doubt {
				t.Errorf("notes %q, doubt %q", notes, s.Doubt)
			}
		})
	}
}

// TestMendable checks that the errors of lines, and no others, say that the line can be mended.
func TestMendable(t *testing.T) {
	for text, want := range map[string]bool{"T1|rel(l)|1\n": true, "T1|fly(l)|1\n": true, "  f\n": true, strings.Repeat("x", maxLine+1): false} {
		_, _, err := readAll(text, ReaderOptions{})
		if wrong, ok := err.(*Error); !ok || wrong.Mendable != want {
			t.Errorf("%.20q: %v", text, err)
		}
	}
}

// linesOf returns a random text of lines of three threads, of which most follow no rule.
func linesOf(rt *rapid.T) string {
	pick := func(from ...string) string { return rapid.SampledFrom(from).Draw(rt, "part") }
	var b strings.Builder
	for range rapid.IntRange(0, 30).Draw(rt, "lines") {
		op := pick("acq", "acq", "rel", "rel", "r", "w", "fork", "join", "wait", "notify", "fly")
		operand := pick("l", "m")
		if op == "fork" || op == "join" {
			operand = pick("T1", "T2", "3", "T3", "2")
		}
		b.WriteString(pick("T1", "T2", "T3", "3") + "|" + op + "(" + operand + ")|1\n")
	}
	return b.String()
}

// TestRepairedIsWellFormed checks that any text is read with its Repairs, that the events are those
// of a run, apart from an inferred release, and that a text that is read without them has the same
// events and no note.
func TestRepairedIsWellFormed(t *testing.T) {
	mended := 0
	rapid.Check(t, func(rt *rapid.T) {
		text := linesOf(rt)
		events, r, err := readRepaired(text)
		if err != nil {
			rt.Fatalf("%v\n%s", err, text)
		}
		if why := malformed(events); why != "" {
			rt.Fatalf("%s\n%s\n%s", why, text, describe(events, r.Names()))
		}
		s, _ := r.Summary()
		if strings.Contains(strings.Join(s.Notes, "\n"), "repaired: ") {
			mended++
		}
		if plain, _, err := readAll(text, ReaderOptions{}); err == nil && cmp.Diff(plain, events) != "" {
			rt.Fatalf("a text that needs no repair is changed:\n%s\n%s", text, describe(events, r.Names()))
		}
	})
	if mended == 0 {
		t.Error("nothing was mended")
	}
}

// malformed says which rule of a run the events break; "" if none.
func malformed(events []event.Event) string {
	begun, forked, joined, holder := map[event.ThreadID]bool{}, map[event.ThreadID]bool{}, map[event.ThreadID]bool{}, map[event.ObjectID]event.ThreadID{}
	for i := range events {
		e := &events[i]
		switch {
		case e.Seq != uint64(i+1):
			return "the numbers have a gap"
		case joined[e.Thread]:
			return "a thread acts after its join"
		case e.Op == event.Fork && (begun[e.Peer] || forked[e.Peer] || joined[e.Peer] || e.Peer == e.Thread):
			return "a fork of a thread that is there already"
		case e.Op == event.Join && (joined[e.Peer] || e.Peer == e.Thread):
			return "a join of a thread that was joined"
		case e.Op == event.Acquire && holder[e.Object] != 0:
			return "two holders"
		case e.Op == event.Release && holder[e.Object] != e.Thread && e.Flags&event.Inferred == 0:
			return "a release of a lock not held"
		}
		begun[e.Thread] = true
		switch e.Op {
		case event.Fork:
			forked[e.Peer] = true
		case event.Join:
			joined[e.Peer] = true
		case event.Acquire:
			holder[e.Object] = e.Thread
		case event.Release:
			holder[e.Object] = 0
		}
	}
	return ""
}
