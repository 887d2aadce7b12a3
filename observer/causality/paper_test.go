package causality_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/event/eventtest"
)

// paperRun is Algorithm A on plain maps, for runs that only read and write. In step 2 as the
// scanned text prints it (field access), a read joins V_x^a, which orders reads; V_x^w is right.
type paperRun struct {
	threads  []event.ThreadID
	access   bool
	v        map[event.ThreadID][]uint32
	va, vw   map[event.ObjectID][]uint32
	relevant func(i int) bool
	messages []paperMessage
}

type paperMessage struct {
	event  int
	thread int
	clock  []uint32
}

func runPaper(t *testing.T, x *eventtest.Execution, access bool) *paperRun {
	t.Helper()
	r := &paperRun{threads: x.Threads, access: access, v: map[event.ThreadID][]uint32{}, va: map[event.ObjectID][]uint32{}, vw: map[event.ObjectID][]uint32{}}
	r.relevant = func(i int) bool { return x.IDs[i] != "" }
	for i := range x.Events {
		r.step(t, i, &x.Events[i])
	}
	return r
}

func (r *paperRun) step(t *testing.T, i int, e *event.Event) {
	t.Helper()
	thread := slices.Index(r.threads, e.Thread)
	v := longer(slices.Clone(r.v[e.Thread]), len(r.threads))
	if r.relevant(i) {
		v[thread]++
	}
	switch e.Op {
	case event.Read:
		known := r.vw[e.Object]
		if r.access {
			known = r.va[e.Object]
		}
		v = joined(v, known)
		r.va[e.Object] = joined(r.va[e.Object], v)
	case event.Write:
		v = joined(v, r.va[e.Object])
		r.va[e.Object], r.vw[e.Object] = v, v
	default:
		t.Fatalf("the plain algorithm does not know %s", e.Op)
	}
	r.v[e.Thread] = v
	if r.relevant(i) {
		r.messages = append(r.messages, paperMessage{i, thread, v})
	}
}

func joined(a, b []uint32) []uint32 {
	out := longer(slices.Clone(a), len(b))
	for i, n := range b {
		out[i] = max(out[i], n)
	}
	return out
}

func longer(a []uint32, n int) []uint32 {
	for len(a) < n {
		a = append(a, 0)
	}
	return a
}

// claims returns the pairs of events that are ordered according to Theorem 1.
func (r *paperRun) claims() [][2]int {
	var out [][2]int
	for _, m := range r.messages {
		for _, n := range r.messages {
			if m.event != n.event && m.clock[m.thread] <= n.clock[m.thread] {
				out = append(out, [2]int{m.event, n.event})
			}
		}
	}
	return out
}

// TestReadStepAsPrinted: with the printed step 2 the clocks order events that causality does not,
// in these cases and no others; the clocks of this package order exactly what causality does.
func TestReadStepAsPrinted(t *testing.T) {
	checked := 0
	for name, xs := range executions(t) {
		for i := range xs {
			for _, v := range xs[i].Variants {
				if v.ReadClock != "access" {
					continue
				}
				checked++
				var want struct {
					Messages []message
					Spurious [][2]string `json:"spurious_order"`
				}
				if err := json.Unmarshal(v.Expect, &want); err != nil {
					t.Fatal(err)
				}
				r := runPaper(t, &v.Execution, true)
				for k, m := range want.Messages {
					if got := r.messages[k]; v.IDs[got.event] != m.ID || !slices.Equal(got.clock, m.DVC) {
						t.Errorf("%s: message %s %v, want %s %v", name, v.IDs[got.event], got.clock, m.ID, m.DVC)
					}
				}
				right := runPaper(t, &v.Execution, false).claims()
				var spurious [][2]string
				for _, p := range r.claims() {
					if !slices.Contains(right, p) {
						spurious = append(spurious, [2]string{v.IDs[p[0]], v.IDs[p[1]]})
					}
				}
				if diff := cmp.Diff(want.Spurious, spurious); diff != "" {
					t.Errorf("%s: pairs that are not ordered: %s", name, diff)
				}
			}
		}
	}
	if checked < 2 {
		t.Errorf("%d variants", checked)
	}
}

// TestTheorem1OfTheCases: on 100 executions the clocks of this package are those of the plain
// algorithm, both have the ordered pairs and the number of runs of the closure, and the printed
// read step is wrong as often as the cases state.
func TestTheorem1OfTheCases(t *testing.T) {
	xs := executions(t)["theorem1_random.json"]
	wrong := 0
	for i := range xs {
		x := &xs[i]
		var want struct {
			Expect struct {
				Messages []message
				Order    [][2]int
				RunCount int `json:"run_count"`
				Wrong    int `json:"printed_read_step_wrong_pairs"`
			}
		}
		if err := json.Unmarshal(x.Expect, &want); err != nil {
			t.Fatal(err)
		}
		index := map[int]int{} // index in Events, by index in the file
		for at, k := range x.Index {
			index[at] = k
		}
		order := [][2]int{}
		for _, p := range want.Expect.Order {
			order = append(order, [2]int{index[p[0]], index[p[1]]})
		}
		plain, ours := runPaper(t, x, false), stampRun(x.Events, func(i int) bool { return x.IDs[i] != "" })
		for _, m := range plain.messages {
			if diff := cmp.Diff(m.clock, ours.ByThread(ours.clocks[m.event], x.Threads)); diff != "" {
				t.Errorf("execution %d, event %d: %s", i, m.event, diff)
			}
		}
		right := plain.claims()
		if len(right) != len(order) || slices.ContainsFunc(order, func(p [2]int) bool { return !slices.Contains(right, p) }) {
			t.Errorf("execution %d: ordered %v, want %v", i, right, order)
		}
		if n := linear(plain.messages, right); n != want.Expect.RunCount {
			t.Errorf("execution %d: %d runs, want %d", i, n, want.Expect.RunCount)
		}
		spurious := 0
		for _, p := range runPaper(t, x, true).claims() {
			if !slices.Contains(right, p) {
				spurious++
			}
		}
		if spurious != want.Expect.Wrong {
			t.Errorf("execution %d: %d pairs wrong, want %d", i, spurious, want.Expect.Wrong)
		}
		if spurious > 0 {
			wrong++
		}
	}
	if len(xs) != 100 || wrong != 35 {
		t.Errorf("%d executions, the printed read step is wrong in %d, want 100 and 35", len(xs), wrong)
	}
}

// linear returns the number of orders of the messages that keep the pairs.
func linear(messages []paperMessage, before [][2]int) int {
	memo := map[uint]int{}
	var count func(done uint) int
	count = func(done uint) int {
		if done == 1<<len(messages)-1 {
			return 1
		}
		if n, ok := memo[done]; ok {
			return n
		}
		n := 0
		for i := range messages {
			ready := done>>i&1 == 0
			for j := range messages {
				ready = ready && (done>>j&1 == 1 || !slices.Contains(before, [2]int{messages[j].event, messages[i].event}))
			}
			if ready {
				n += count(done | 1<<i)
			}
		}
		memo[done] = n
		return n
	}
	return count(0)
}

// TestOrderOfTheCases: the pairs that the clocks order are those of the cases, which are those of
// the closure.
func TestOrderOfTheCases(t *testing.T) {
	checked := 0
	for name, xs := range executions(t) {
		var want struct {
			Expect struct {
				Order [][2]string
			}
		}
		if len(xs) > 1 || strings.HasPrefix(name, "cone_") {
			continue
		}
		if err := json.Unmarshal(xs[0].Expect, &want); err != nil {
			t.Fatal(err)
		}
		x := &xs[0]
		s := stampRun(x.Events, func(i int) bool { return x.IDs[i] != "" })
		got := map[[2]string]bool{}
		for i, a := range x.IDs {
			at := slices.Index(x.Threads, x.Events[i].Thread)
			for j, b := range x.IDs {
				if i != j && s.ByThread(s.clocks[i], x.Threads)[at] <= s.ByThread(s.clocks[j], x.Threads)[at] {
					got[[2]string{a, b}] = true
				}
			}
		}
		for _, p := range want.Expect.Order {
			if !got[p] {
				t.Errorf("%s: %s is not before %s", name, p[0], p[1])
			}
			checked++
		}
		if len(got) != len(want.Expect.Order) {
			t.Errorf("%s: %d pairs, want %d", name, len(got), len(want.Expect.Order))
		}
	}
	if checked < 50 {
		t.Errorf("%d pairs", checked)
	}
}

// TestLemma1WordByWord: read literally, Lemma 1(b) and (c) are wrong as often as the cases
// state; TestLemma1 checks the statement that holds.
func TestLemma1WordByWord(t *testing.T) {
	xs := executions(t)["theorem1_random.json"]
	wrongB, wrongC := 0, 0
	for i := range xs {
		x := &xs[i]
		before := plain(x.Events)
		r := &paperRun{threads: x.Threads, v: map[event.ThreadID][]uint32{}, va: map[event.ObjectID][]uint32{}, vw: map[event.ObjectID][]uint32{}}
		r.relevant = func(i int) bool { return x.IDs[i] != "" }
		last := -1
		for _, k := range x.Index { // it counts internal events too, which Events does not contain
			if k >= 0 {
				r.step(t, k, &x.Events[k])
				last = k
			}
			for object, clock := range r.va {
				wrongB += differs(clock, literal(x, before, last, k == last, object, false))
			}
			for object, clock := range r.vw {
				wrongC += differs(clock, literal(x, before, last, k == last, object, true))
			}
		}
	}
	if wrongB != 640 || wrongC != 793 {
		t.Errorf("(b) is wrong %d times, (c) %d, want 640 and 793", wrongB, wrongC)
	}
}

func differs(a, b []uint32) int {
	if slices.Equal(a, b) {
		return 0
	}
	return 1
}

// literal counts, by thread, the relevant events that precede the most recent access (or write)
// of a variable up to event k. It counts the access itself only if that is event k and now is
// true.
func literal(x *eventtest.Execution, before [][]bool, k int, now bool, object event.ObjectID, writes bool) []uint32 {
	last := k
	for x.Events[last].Object != object || writes && x.Events[last].Op != event.Write {
		last--
	}
	out := make([]uint32, len(x.Threads))
	for i := range x.IDs {
		if before[i][last] || i == last && last == k && now {
			out[slices.Index(x.Threads, x.Events[i].Thread)]++
		}
	}
	return out
}
