package knowledge

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tracepredict/tracepredict/observer/event"
)

// namedRun is a run whose threads have the names "boss" and "teller": if late, only from their second event on.
type namedRun struct {
	*tellers
	names    map[event.ThreadID]string
	late     bool
	verdicts []bool
}

func newNamedRun(t *testing.T, late bool) *namedRun {
	t.Helper()
	w := newWorld([]string{"boss"}, nil)
	w.locals = [][2]string{{"", "atomic"}}
	i, j := w.bind("i", "teller"), w.bind("j", "teller")
	pair := [2]int{i, j}
	w.add(parse("@i (atomic > 0 -> !(atomic = @j @i atomic))"), []int{i, j}, pair)
	w.add(parse("@i (once (atomic > 1) -> @boss prev (atomic > 0))"), []int{i})
	w.add(parse("@boss (atomic > 1 -> hist (atomic > 0))"), nil)
	w.add(&expr{op: "@", name: "boss", x: &expr{op: "exists", name: "k teller", x: parse("@k once (atomic > 1)")}}, nil)
	r := &namedRun{names: map[event.ThreadID]string{}, late: late}
	m := New(Options{
		Formula: w.formula, Codes: w.codes, Locals: []uint64{0},
		Is:      func(id event.ThreadID, _ int) bool { return r.names[id] == "boss" },
		Of:      func(id event.ThreadID, _ int) bool { return r.names[id] == "teller" },
		Verdict: func(top int, id event.ThreadID, holds bool) { r.verdicts = append(r.verdicts, holds) },
	})
	r.tellers = &tellers{Monitor: m, atomic: map[event.ThreadID]uint64{}, blocks: map[event.ThreadID]uint64{}}
	return r
}

func (r *namedRun) begin(id event.ThreadID, name string) {
	if !r.late {
		r.names[id] = name
	}
	r.do(1, event.Fork, 0, id)
	r.do(id, event.Begin, 0, 0)
	r.names[id] = name
	if r.late {
		r.do(id, event.Named, 0, 0)
	}
}

// TestNamed: a thread that gets its name right after it began has the verdicts of one that began with it, in random runs.
func TestNamed(t *testing.T) {
	rand := rand.New(rand.NewPCG(1, 2))
	violated, total := 0, 0
	for range 300 {
		var runs [2]*namedRun
		for i := range runs {
			runs[i] = newNamedRun(t, i == 1)
		}
		next := event.ThreadID(2)
		var alive []event.ThreadID
		for range 5 + rand.IntN(40) {
			id := event.ThreadID(1)
			if len(alive) > 0 {
				id = alive[rand.IntN(len(alive))]
			}
			k, object := rand.IntN(7), event.ObjectID(10+rand.IntN(3))
			if len(alive) == 0 || k == 0 && len(alive) < 4 {
				alive = append(alive, next)
				next++
			}
			for _, r := range runs {
				switch {
				case id == 1 || k == 0 && next == alive[len(alive)-1]+1 && r.threads[next-1] == nil:
					r.begin(next-1, []string{"teller", "boss"}[truth(next == 3)])
				case k < 3 && r.atomic[id] == 0:
					r.enter(id)
				case k < 3:
					r.leave(id)
				case k < 5:
					r.do(id, event.Read, object, 0)
				default:
					r.do(id, event.Write, object, 0)
				}
			}
		}
		if !slices.Equal(runs[0].verdicts, runs[1].verdicts) {
			t.Fatalf("begun with the names: %v, named later: %v", runs[0].verdicts, runs[1].verdicts)
		}
		for _, holds := range runs[0].verdicts {
			total++
			if !holds {
				violated++
			}
		}
	}
	if violated == 0 || violated == total {
		t.Errorf("%d of %d verdicts are false", violated, total)
	}
}

// TestNamedTwice: a thread that gets a second type is bound once for each, and keeps what the formula knew of it.
func TestNamedTwice(t *testing.T) {
	w := newWorld(nil, nil)
	w.locals = [][2]string{{"", "atomic"}}
	i, j := w.bind("i", "first"), w.bind("j", "second")
	w.add(parse("@i (atomic = @j atomic)"), []int{i, j})
	types := map[event.ThreadID][]bool{1: {false, false}, 2: {true, false}, 3: {true, false}}
	count := 0
	m := New(Options{
		Formula: w.formula, Codes: w.codes, Locals: []uint64{0}, Of: func(id event.ThreadID, n int) bool { return types[id][n] },
		Verdict: func(int, event.ThreadID, bool) { count++ },
	})
	r := &tellers{Monitor: m, atomic: map[event.ThreadID]uint64{}, blocks: map[event.ThreadID]uint64{}}
	r.fork(2)
	r.fork(3)
	r.enter(2)
	if count != 0 {
		t.Fatalf("%d verdicts without a second thread", count)
	}
	for range 2 { // the second one changes nothing
		types[3][1] = true
		r.do(3, event.Named, 0, 0)
	}
	if count = 0; len(m.members[0]) != 2 || len(m.members[1]) != 1 {
		t.Fatalf("%d and %d threads", len(m.members[0]), len(m.members[1]))
	}
	r.enter(2)
	r.enter(3)
	if count != 2 {
		t.Errorf("%d verdicts, want one for each of two pairs", count)
	}
}
