package main

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Statements of hand-made programs.
func acquire(l int) statement { return statement{kind: lock, object: l} }
func free(l int) statement    { return statement{kind: unlock, object: l} }
func reads(v int) statement   { return statement{kind: read, object: v} }
func sets(v int) statement    { return statement{kind: write, object: v, value: 1} }
func takes(s int) statement   { return statement{kind: semWait, object: s} }
func posts(s int) statement   { return statement{kind: post, object: s} }
func tests(v int, body ...statement) statement {
	return statement{kind: read, object: v, value: 1, test: true, body: body}
}
func attempted(l int, body ...statement) statement {
	return statement{kind: tryLock, object: l, body: append(body, free(l))}
}

// twoThreads makes a program whose main creates two threads and joins them. It has the mutexes m0, m1
// and m2, the read-write lock w0, a semaphore, an atomic variable f0, the plain ones x0 and x1, and a
// condition with m0 and the predicate x0 == 1.
func twoThreads(main, one, two []statement) *program {
	p := &program{
		locks: []string{"m0", "m1", "m2", "w0"}, mutexes: 3,
		semaphores: []int{0},
		variables:  []string{"f0", "x0", "x1"}, atomics: 1,
		conditions: []condition{{mutex: 0, variable: 1, value: 1}},
		routine:    []int{0, 1, 2},
	}
	if main == nil {
		main = []statement{{kind: create, object: 1}, {kind: create, object: 2}, {kind: join, object: 1}, {kind: join, object: 2}}
	}
	p.blocks = [][]statement{main, one, two}
	p.compile()
	return p
}

// rename replaces the lines in faults by the functions that they are in, so that tests can name them.
func rename(p *program, list []fault) []string {
	var out []string
	for _, f := range list {
		words := strings.Fields(string(f))
		sides := words[1:]
		if words[0] == "race" {
			sides = words[2:]
		}
		for i, w := range sides {
			at := strings.Index(w, "@") + 1
			sides[i] = w[:at] + routineOf(p, w[at:])
		}
		slices.Sort(sides)
		out = append(out, strings.Join(words, " "))
	}
	return out
}

// routineOf returns the name of the function that a line belongs to.
func routineOf(p *program, line string) string {
	at, err := strconv.Atoi(line)
	if err != nil {
		return line
	}
	for i := at - preludeLines - 1; i >= 0; i-- {
		if name, ok := strings.CutPrefix(p.source[i], "static void *"); ok {
			return name[:strings.Index(name, "(")]
		}
		if strings.HasPrefix(p.source[i], "int main") {
			return "main"
		}
	}
	return "?"
}

// sequence makes the run in which the threads take their steps in this order.
func sequence(t *testing.T, p *program, threads ...int) []event {
	t.Helper()
	w := &walker{program: p, now: p.initial()}
	for i := range w.writers {
		w.writers[i] = -1
	}
	for i, thread := range threads {
		if !w.enabled(&w.now, thread) {
			t.Fatalf("thread %d cannot take step %d", thread, i)
		}
		w.take(thread)
	}
	if !p.over(&w.now) {
		t.Fatal("the run does not end")
	}
	return w.run
}

func TestTruth(t *testing.T) {
	wait := statement{kind: wait, object: 0, mutex: 0}
	note := statement{kind: signal, object: 0}
	shared := statement{kind: readLock, object: 3}
	for _, c := range []struct {
		name      string
		main      []statement
		one, two  []statement
		steps     []int    // the run: threads
		truth     []string // of all interleavings
		reachable []string // of reorderings of the run
	}{
		{
			name: "opposite orders", one: []statement{acquire(0), acquire(1), free(1), free(0)}, two: []statement{acquire(1), acquire(0), free(0), free(1)},
			steps: []int{0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 0, 0},
			truth: []string{"deadlock m0@r2 m1@r1"}, reachable: []string{"deadlock m0@r2 m1@r1"},
		},
		{
			name: "gate lock", one: []statement{acquire(2), acquire(0), acquire(1), free(1), free(0), free(2)}, two: []statement{acquire(2), acquire(1), acquire(0), free(0), free(1), free(2)},
			steps: []int{0, 0, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 0, 0},
		},
		{
			name: "attempts do not wait", one: []statement{acquire(0), attempted(1), free(0)}, two: []statement{acquire(1), acquire(0), free(0), free(1)},
			steps: []int{0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 0, 0},
		},
		{
			name: "readers do not exclude readers", one: []statement{shared, acquire(0), free(0), free(3)}, two: []statement{acquire(0), shared, free(3), free(0)},
			steps: []int{0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 0, 0},
		},
		{
			name: "a writer excludes readers", one: []statement{acquire(3), acquire(0), free(0), free(3)}, two: []statement{acquire(0), shared, free(3), free(0)},
			steps: []int{0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 0, 0},
			truth: []string{"deadlock m0@r1 w0@r2"}, reachable: []string{"deadlock m0@r1 w0@r2"},
		},
		{
			name: "race", one: []statement{sets(1)}, two: []statement{reads(1)},
			steps: []int{0, 0, 1, 2, 0, 0},
			truth: []string{"race x0 r1 r2"}, reachable: []string{"race x0 r1 r2"},
		},
		{
			name: "no race of readers", one: []statement{reads(1)}, two: []statement{reads(1)},
			steps: []int{0, 0, 1, 2, 0, 0},
		},
		{
			name: "no race of atomic accesses", one: []statement{sets(0)}, two: []statement{reads(0)},
			steps: []int{0, 0, 1, 2, 0, 0},
		},
		{
			name: "no race under a lock", one: []statement{acquire(0), sets(1), free(0)}, two: []statement{acquire(0), reads(1), free(0)},
			steps: []int{0, 0, 1, 1, 1, 2, 2, 2, 0, 0},
		},
		{
			name: "no race after a join", main: []statement{{kind: create, object: 1}, {kind: join, object: 1}, {kind: create, object: 2}, sets(1), {kind: join, object: 2}},
			one: []statement{sets(1)}, steps: []int{0, 1, 0, 0, 0, 0},
		},
		{
			name: "hand-over by a condition", one: []statement{acquire(0), wait, free(0), reads(2)}, two: []statement{sets(2), acquire(0), sets(1), note, free(0)},
			steps: []int{0, 0, 1, 1, 1, 2, 2, 2, 2, 2, 1, 1, 1, 1, 0, 0},
		},
		{
			name: "hand-over by a condition, the write after it", one: []statement{acquire(0), wait, free(0), reads(2)}, two: []statement{acquire(0), sets(1), note, free(0), sets(2)},
			steps: []int{0, 0, 1, 1, 1, 2, 2, 2, 2, 1, 1, 1, 1, 2, 0, 0},
			truth: []string{"race x1 r1 r2"}, reachable: []string{"race x1 r1 r2"},
		},
		{
			name: "hand-over by a semaphore", one: []statement{takes(0), reads(1)}, two: []statement{sets(1), posts(0)},
			steps: []int{0, 0, 2, 2, 1, 1, 0, 0},
		},
		{
			name: "the write after the post", one: []statement{takes(0), reads(1)}, two: []statement{posts(0), sets(1)},
			steps: []int{0, 0, 2, 2, 1, 1, 0, 0},
			truth: []string{"race x0 r1 r2"}, reachable: []string{"race x0 r1 r2"},
		},
		{
			name: "hand-over by a flag", one: []statement{sets(1), sets(0)}, two: []statement{tests(0, reads(1))},
			steps: []int{0, 0, 1, 1, 2, 2, 0, 0},
		},
		{
			name: "a flag that guards nothing", one: []statement{sets(0), sets(1)}, two: []statement{tests(0, reads(1))},
			steps: []int{0, 0, 1, 1, 2, 2, 0, 0},
			truth: []string{"race x0 r1 r2"}, reachable: []string{"race x0 r1 r2"},
		},
		{
			name: "a branch that the run did not take", one: []statement{sets(0), sets(1)}, two: []statement{tests(0, reads(1))},
			steps: []int{0, 0, 2, 1, 1, 0, 0},
			truth: []string{"race x0 r1 r2"},
		},
		{
			name: "a read that would see another write", one: []statement{sets(1), sets(0)}, two: []statement{reads(0), sets(1)},
			steps: []int{0, 0, 1, 1, 2, 2, 0, 0},
			truth: []string{"race x0 r1 r2"},
		},
		{
			name: "a section of the other order left out", one: []statement{sets(1), acquire(0), free(0)}, two: []statement{acquire(0), free(0), sets(1)},
			steps: []int{0, 0, 1, 1, 1, 2, 2, 2, 0, 0},
			truth: []string{"race x0 r1 r2"}, reachable: []string{"race x0 r1 r2"},
		},
		{
			name: "an attempt that failed", one: []statement{acquire(0), sets(1), free(0)}, two: []statement{{kind: tryLock, object: 0, body: []statement{free(0)}, other: []statement{reads(1)}}},
			steps: []int{0, 0, 1, 2, 1, 1, 2, 0, 0},
			truth: []string{"race x0 r1 r2"}, reachable: []string{"race x0 r1 r2"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := twoThreads(c.main, c.one, c.two)
			all, ok := p.truth()
			if !ok {
				t.Fatal("too many states")
			}
			if got := rename(p, all.faults.sorted()); !slices.Equal(got, c.truth) {
				t.Errorf("errors of all interleavings: %q, want %q", got, c.truth)
			}
			run := sequence(t, p, c.steps...)
			reachable, _ := p.reachable(run)
			if got := rename(p, keys(reachable)); !slices.Equal(got, c.reachable) {
				t.Errorf("errors of reorderings: %q, want %q", got, c.reachable)
			}
		})
	}
}

func keys(m map[fault][]int) []fault {
	f := faults{}
	for one := range m {
		f[one] = true
	}
	return f.sorted()
}

// What a reordering of a run reaches is an error of some interleaving, since each read sees what it
// saw; and the reordering that is kept leads there by steps of the program.
func TestReorderingsAreInterleavings(t *testing.T) {
	count := 0
	for seed := range uint64(300) {
		p, run, all := draw(seed)
		reachable, ok := p.reachable(run)
		if !ok {
			t.Fatalf("seed %d: too many reorderings", seed)
		}
		for f, path := range reachable {
			count++
			if !all.faults[f] {
				t.Errorf("seed %d: %s is no error", seed, f)
			}
			if !replay(p, run, path)[f] {
				t.Errorf("seed %d: the reordering does not lead to %s", seed, f)
			}
		}
	}
	if count < 100 {
		t.Errorf("only %d errors were compared", count)
	}
}

// replay takes the steps of a reordering in the model of the program, and returns the errors that are
// next; none if a step cannot be taken or is another than in the run. Of the threads that a signal
// may wake it wakes the one of the run.
func replay(p *program, run []event, path []int) faults {
	states := []state{p.initial()}
	for _, i := range path {
		var next []state
		for _, s := range states {
			e := run[i]
			if e.wake && s.phase[e.thread] == asleep {
				s.phase[e.thread] = woken // another thread had the signal; this one wakes spuriously
			}
			if in := p.current(&s, e.thread); in != nil && *in == *e.in && p.enabled(&s, e.thread) {
				next = p.step(s, e.thread, next)
			}
		}
		states = next
	}
	found := faults{}
	for _, s := range states {
		for t := range p.routine {
			if s.phase[t] == asleep {
				s.phase[t] = woken
			}
		}
		p.judge(&s, found)
	}
	return found
}

// Variables that are accessed under one mutex each have no race.
func TestGuardedVariables(t *testing.T) {
	programs := 0
	for seed := range uint64(100) {
		p, _, all := draw(seed)
		if len(p.guards) == 0 {
			continue
		}
		programs++
		for f := range all.faults {
			if strings.HasPrefix(string(f), "race") {
				t.Errorf("seed %d: %s", seed, f)
			}
		}
	}
	if programs < 10 {
		t.Errorf("only %d programs of 100", programs)
	}
}

// Every run that is drawn ends, and is the same for the same seed.
func TestDrawIsReproducible(t *testing.T) {
	for seed := range uint64(30) {
		p, run, _ := draw(seed)
		again, rerun, _ := draw(seed)
		if p.text(run) != again.text(rerun) {
			t.Errorf("seed %d draws two programs", seed)
		}
	}
}

// The compiler accepts the programs.
func TestProgramsCompile(t *testing.T) {
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("no gcc")
	}
	folder := t.TempDir()
	for seed := range uint64(10) {
		p, run, _ := draw(seed)
		cmd := exec.Command("gcc", slices.Concat(p.compilerFlags(), []string{"-Wall", "-Wno-unused", "-Werror", "-o", filepath.Join(folder, "program"), "-x", "c", "-"})...)
		cmd.Stdin = strings.NewReader(p.text(run))
		if text, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("seed %d: %v\n%s", seed, err, text)
		}
	}
}

func TestParseReport(t *testing.T) {
	const stack = `"stack": [{"line": 7}, {"line": 12}], "own_frame": `
	list, others, err := parseReport([]byte(`{"run": {"lost": 0}, "findings": [
		{"kind": "race", "confidence": "observed", "objects": ["x0"], "evidence": [{"object": "x0", ` + stack + `1}, {"object": "x0", ` + stack + `0}]},
		{"kind": "deadlock", "confidence": "likely", "objects": ["m1", "m0"], "evidence": [{"object": "m1", ` + stack + `0}, {"object": "m0", ` + stack + `1}]},
		{"kind": "misuse", "confidence": "observed", "objects": [], "evidence": []}]}`))
	if err != nil {
		t.Fatal(err)
	}
	want := []found{{fault: race("x0", 7, 12), level: 5}, {fault: deadlock([]string{"m0@12", "m1@7"}), level: likely}}
	if !slices.Equal(list, want) || others != 1 {
		t.Errorf("read %v and %d others, want %v and 1", list, others, want)
	}
	for _, bad := range []string{`{`, `{"run": {"lost": 3}}`, `{"findings": [{"kind": "race", "confidence": "sure"}]}`} {
		if _, _, err := parseReport([]byte(bad)); err == nil {
			t.Errorf("%s is accepted", bad)
		}
	}
}

// A finding that is no error is false from predicted on, and an error of a reordering is missed below likely.
func TestJudge(t *testing.T) {
	for l := range levels {
		v := verdict{watched: []string{"x"}, truth: truth{faults: faults{"race x 1 2": true}}, reachable: map[fault][]int{"race x 1 2": nil}, findings: []found{
			{fault: "race x 1 2", level: level(l)}, {fault: "race x 1 3", level: level(l)},
		}}
		if got, want := len(v.wrong()) > 0, level(l) >= predicted; got != want {
			t.Errorf("%v: false %v, want %v", level(l), got, want)
		}
		if got, want := len(v.missed()) > 0, level(l) < likely; got != want {
			t.Errorf("%v: missed %v, want %v", level(l), got, want)
		}
		all := newTotals()
		all.add(v)
		var text strings.Builder
		if err := all.print(&text); (err == nil) != (level(l) == likely) {
			t.Errorf("%v: %v after\n%s", level(l), err, &text)
		}
	}
}

// A confirmed finding that is no error is false at every level, and whatever is watched.
func TestJudgeConfirmed(t *testing.T) {
	for _, f := range []found{
		{fault: "race x 1 2", level: likely, tried: true, confirmed: true}, {fault: "race x 1 3", level: likely, tried: true},
		{fault: "race x 1 3", level: likely, tried: true, confirmed: true},
	} {
		v := verdict{watched: []string{"x"}, truth: truth{faults: faults{"race x 1 2": true, "race y 1 2": true}}, findings: []found{f}}
		all := newTotals()
		all.add(v)
		var text strings.Builder
		err := all.print(&text)
		if want := f.confirmed && f.fault == "race x 1 3"; len(v.wrong()) > 0 != want || (err != nil) != want {
			t.Errorf("%+v: %v, %v after\n%s", f, v.wrong(), err, &text)
		}
	}
}

// Of a program with a race on a variable that is not watched, false findings are not judged, and
// that race is not missed.
func TestJudgeUnwatched(t *testing.T) {
	v := verdict{watched: []string{"x"}, truth: truth{faults: faults{"race y 1 2": true}}, reachable: map[fault][]int{"race y 1 2": nil}, findings: []found{
		{fault: "race x 1 3", level: predicted},
	}}
	if len(v.wrong()) > 0 || len(v.missed()) > 0 {
		t.Errorf("false %v, missed %v", v.wrong(), v.missed())
	}
	v.watched = append(v.watched, "y")
	if len(v.wrong()) != 1 || len(v.missed()) != 1 {
		t.Errorf("false %v, missed %v, want one each", v.wrong(), v.missed())
	}
}

// Threads that stand for ever are known whatever they wait for.
func TestStuck(t *testing.T) {
	sleep := statement{kind: wait, object: 0, mutex: 0}
	note := statement{kind: signal, object: 0}
	nested := []statement{{kind: create, object: 1}, acquire(1), {kind: join, object: 1}, free(1)}
	for _, c := range []struct {
		name           string
		main, one, two []statement
		want           []string // sets of threads
	}{
		{name: "nothing", one: []statement{acquire(0), free(0)}, two: []statement{acquire(0), free(0)}},
		{name: "a cycle of locks", one: []statement{acquire(0), acquire(1), free(1), free(0)}, two: []statement{acquire(1), acquire(0), free(0), free(1)}, want: []string{"main r1 r2"}},
		{name: "a join under a lock that the other needs", main: nested, one: []statement{acquire(1), free(1)}, want: []string{"main r1"}},
		{name: "a post that comes in time", one: []statement{takes(0)}, two: []statement{posts(0)}},
		{name: "a post that needs a lock", one: []statement{acquire(0), takes(0), free(0)}, two: []statement{acquire(0), posts(0), free(0)}, want: []string{"main r1 r2", "r1"}},
		{name: "a wait for a predicate", one: []statement{acquire(0), sleep, free(0)}, two: []statement{acquire(0), sets(1), note, free(0)}},
		{name: "a notification that can be missed", one: []statement{acquire(0), sleep, free(0)}, two: []statement{note, acquire(0), sets(1), free(0)}, want: []string{"main", "main r1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := twoThreads(c.main, c.one, c.two)
			all, _ := p.truth()
			var got []string
			for _, lines := range all.stuck {
				var names []string
				for _, l := range lines {
					names = append(names, routineOf(p, strconv.Itoa(l)))
				}
				slices.Sort(names)
				got = append(got, strings.Join(names, " "))
			}
			slices.Sort(got)
			if got = slices.Compact(got); !slices.Equal(got, c.want) {
				t.Errorf("stand for ever: %q, want %q", got, c.want)
			}
			for _, lines := range all.stuck {
				var sides []string
				for _, l := range lines {
					sides = append(sides, side("any", l))
				}
				if !all.holds(deadlock(sides)) || all.holds(deadlock(append(sides, side("any", 1)))) {
					t.Errorf("%v is judged wrongly", lines)
				}
			}
		})
	}
}

// Where redundant accesses are not recorded, one race on a variable stands for the others on it, but
// not for those on others, and not if it is false.
func TestJudgeCoarsely(t *testing.T) {
	for _, c := range []struct {
		found fault
		want  level
	}{
		{"race x 1 2", predicted},
		{"race x 1 3", predicted},
		{"race x 1 4", none},
		{"race y 1 2", none},
		{"deadlock a@1 b@2", none},
	} {
		v := verdict{coarse: true, truth: truth{faults: faults{"race x 1 2": true, "race x 1 3": true, "race y 1 2": true, "deadlock a@1 b@2": true}},
			findings: []found{{fault: c.found, level: predicted}}}
		if got := v.level("race x 1 2"); got != c.want {
			t.Errorf("%s found: %v, want %v", c.found, got, c.want)
		}
		if v.coarse = false; v.level("race x 1 2") != none && c.found != "race x 1 2" {
			t.Errorf("%s found: it stands for another", c.found)
		}
	}
}
