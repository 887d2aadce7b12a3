package replay

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/analysis/engine"
	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/report"
	"github.com/tracepredict/tracepredict/internal/testtool"
	"github.com/tracepredict/tracepredict/observer/trace/std"
)

// The tests of this file compare the races that the report of a trace has with those that exist, and
// likewise the deadlocks of locks and joins, from the text of the trace to the findings. What exists is computed from the text alone, by
// enumeration of the schedules that keep each thread's order, the writer that each read reads,
// the locks, the forks and joins, and the notification of each wait that ends. It uses nothing of
// the product.

// traceLine is a line of an STD trace.
type traceLine struct {
	thread   int
	op, on   string
	location int
}

func (l traceLine) String() string {
	return fmt.Sprintf("T%d|%s(%s)|%d", l.thread, l.op, l.on, l.location)
}

// stdText returns the text of a trace.
func stdText(lines []traceLine) string {
	var b strings.Builder
	for _, l := range lines {
		fmt.Fprintln(&b, l)
	}
	return b.String()
}

// parseLines returns the lines of a text that has only the operations of RAPID, each line with its
// number as its location.
func parseLines(text string) []traceLine {
	var out []traceLine
	for i, line := range strings.Fields(text) {
		l := traceLine{location: i + 1}
		thread, rest, _ := strings.Cut(line, "|")
		op, _, _ := strings.Cut(rest, "|")
		fmt.Sscanf(thread, "T%d", &l.thread)
		l.op, l.on, _ = strings.Cut(strings.TrimSuffix(op, ")"), "(")
		out = append(out, l)
	}
	return out
}

// schedules enumerates the schedules of a trace.
type schedules struct {
	lines    []traceLine
	of       [maxTraceThreads][]int // by thread: its lines
	position []int                  // by line: its index in of
	reads    []int8                 // by line: the line whose write it reads, from 1; 0: none
	needs    [][]int                // by line: lines that come before it in every schedule
	wakes    [][]int                // by notification: the waits that it ends
	objects  map[string]int         // numbers of the variables and of the locks, each from 0
	seen     map[scheduleState]bool
	racing   map[[2]int]bool // pairs of lines, the lesser first
	blocked  map[string]bool // deadlocks; see deadlockKey
}

const (
	maxTraceThreads = 6
	maxTraceObjects = 4
)

// scheduleState is the state after a part of a schedule.
type scheduleState struct {
	done   [maxTraceThreads]int8 // by thread: number of its lines executed
	writer [maxTraceObjects]int8 // by variable: the line of its last write, from 1; 0: none
	holder [maxTraceObjects]int8 // by lock: its holder; 0: none
	missed uint64                // the waits, a bit each, whose notification came before them: they never end
}

// enumerate returns the pairs of lines that race in some schedule.
func enumerate(lines []traceLine) map[[2]int]bool { return visitAll(lines).racing }

// visitAll visits the states of all schedules of a trace.
func visitAll(lines []traceLine) *schedules {
	s := &schedules{
		lines: lines, reads: make([]int8, len(lines)), needs: make([][]int, len(lines)), wakes: make([][]int, len(lines)),
		objects: map[string]int{}, seen: map[scheduleState]bool{}, racing: map[[2]int]bool{}, blocked: map[string]bool{},
	}
	var writer [maxTraceObjects]int8
	counts := map[bool]int{}
	for i, l := range lines {
		s.position = append(s.position, len(s.of[l.thread]))
		s.of[l.thread] = append(s.of[l.thread], i)
		access := l.op == "r" || l.op == "w"
		if _, ok := s.objects[l.on]; !ok && (access || l.op == "acq") {
			s.objects[l.on] = counts[access]
			counts[access]++
		}
		switch o := s.objects[l.on]; l.op {
		case "w":
			writer[o] = int8(i + 1)
		case "r":
			s.reads[i] = writer[o]
		}
	}
	s.addNeeds()
	s.visit(scheduleState{})
	return s
}

// addNeeds sets needs and wakes: for forks, joins and the notifications of waits. A wait ends at its
// thread's next line, by the oldest notification since it began, unless that is a notify that
// ended another wait. Without one it ended by itself.
func (s *schedules) addNeeds() {
	waits := map[int]int{} // by thread in a wait: the line of the wait
	spent := map[int]bool{}
	for i, l := range s.lines {
		if w, ok := waits[l.thread]; ok {
			s.addWake(w, i, spent)
			delete(waits, l.thread)
		}
		var peer int
		fmt.Sscanf(l.on, "T%d", &peer)
		switch of := s.of[peer]; l.op {
		case "fork":
			if len(of) > 0 {
				s.needs[of[0]] = append(s.needs[of[0]], i)
			}
		case "join":
			s.needs[i] = append(s.needs[i], of[len(of)-1])
		case "wait":
			waits[l.thread] = i
		}
	}
}

// addWake sets needs and wakes for a wait and the line of its thread that follows it. Spent are the
// notifications that ended another wait.
func (s *schedules) addWake(wait, next int, spent map[int]bool) {
	for n := wait + 1; n < next; n++ {
		op := s.lines[n].op
		if op != "notifyAll" && (op != "notify" || spent[n]) {
			continue
		}
		spent[n] = op == "notify"
		s.needs[next] = append(s.needs[next], n)
		s.wakes[n] = append(s.wakes[n], wait)
		return
	}
}

// visit visits the states that follow x.
func (s *schedules) visit(x scheduleState) {
	if s.seen[x] {
		return
	}
	s.seen[x] = true
	var next []int
	for t, of := range s.of {
		n := int(x.done[t])
		if n < len(of) && s.ready(&x, of[n]) && (n == 0 || x.missed>>of[n-1]&1 == 0) {
			next = append(next, of[n])
		}
	}
	s.addRaces(next)
	s.addDeadlocks(&x)
	for _, i := range next {
		if s.possible(&x, i) {
			s.visit(s.after(x, i))
		}
	}
}

// executed reports whether a line is executed in a state.
func (s *schedules) executed(x *scheduleState, i int) bool {
	return s.position[i] < int(x.done[s.lines[i].thread])
}

// ready reports whether what a line needs has been executed.
func (s *schedules) ready(x *scheduleState, i int) bool {
	return !slices.ContainsFunc(s.needs[i], func(n int) bool { return !s.executed(x, n) })
}

// addRaces records which of the lines, each the next one of its thread, race.
func (s *schedules) addRaces(next []int) {
	for _, i := range next {
		for _, j := range next {
			a, b := s.lines[i], s.lines[j]
			access := (a.op == "w" || a.op == "r") && (b.op == "w" || b.op == "r")
			if i < j && access && a.on == b.on && (a.op == "w" || b.op == "w") {
				s.racing[[2]int{i, j}] = true
			}
		}
	}
}

// deadlockKey identifies a deadlock: the locations where its threads wait, sorted.
func deadlockKey(locations []int) string {
	slices.Sort(locations)
	return fmt.Sprint(locations)
}

// addDeadlocks records the threads that wait for each other in a state, each for a lock that the next
// one holds, or for its end.
func (s *schedules) addDeadlocks(x *scheduleState) {
	for t := range s.of {
		var at []int
		for u := t; ; {
			i, of := s.waitsFor(x, u)
			if of == 0 || len(at) == maxTraceThreads {
				break
			}
			at = append(at, s.lines[i].location)
			if u = of; u == t {
				s.blocked[deadlockKey(at)] = true
				break
			}
		}
	}
}

// waitsFor returns the line at which a thread waits, and for which thread; 0 if for none.
func (s *schedules) waitsFor(x *scheduleState, t int) (line, other int) {
	n := int(x.done[t])
	if n == len(s.of[t]) {
		return 0, 0
	}
	line = s.of[t][n]
	begins := traceLine{op: "fork", on: fmt.Sprintf("T%d", t)}
	if slices.ContainsFunc(s.needs[line], func(i int) bool {
		return s.lines[i].op == begins.op && s.lines[i].on == begins.on && !s.executed(x, i)
	}) {
		return 0, 0 // it has not begun
	}
	switch l := s.lines[line]; {
	case l.op == "acq":
		return line, int(x.holder[s.objects[l.on]])
	case l.op == "join" && !s.ready(x, line):
		fmt.Sscanf(l.on, "T%d", &other)
	}
	return line, other
}

// possible reports whether a line that is ready can be executed.
func (s *schedules) possible(x *scheduleState, i int) bool {
	switch o := s.objects[s.lines[i].on]; s.lines[i].op {
	case "acq":
		return x.holder[o] == 0
	case "r":
		return x.writer[o] == s.reads[i]
	}
	return true
}

// after returns the state after a line.
func (s *schedules) after(x scheduleState, i int) scheduleState {
	l := s.lines[i]
	for _, w := range s.wakes[i] {
		if !s.executed(&x, w) {
			x.missed |= 1 << w
		}
	}
	x.done[l.thread]++
	switch o := s.objects[l.on]; l.op {
	case "acq":
		x.holder[o] = int8(l.thread)
	case "rel":
		x.holder[o] = 0
	case "w":
		x.writer[o] = int8(i + 1)
	}
	return x
}

// drawing is a random run under construction.
type drawing struct {
	r       *rand.Rand
	lines   []traceLine
	held    map[int][]string // by thread: the locks it holds
	holder  map[string]int
	waiting map[int]string // by thread in a wait: the mutex to acquire again
	live    []int
	joined  map[int]bool
	unborn  []int // threads that begin with a fork
	nests   bool  // most lines acquire locks, within others
	waits   bool  // some wait for conditions
}

// drawLines returns the lines of a random run.
func drawLines(r *rand.Rand, n int) []traceLine {
	return (&drawing{r: r, waits: r.IntN(3) == 0}).draw(n)
}

// draw draws up to n lines.
func (d *drawing) draw(n int) []traceLine {
	r := d.r
	*d = drawing{nests: d.nests, waits: d.waits, r: r, held: map[int][]string{}, holder: map[string]int{}, waiting: map[int]string{}, joined: map[int]bool{}, live: []int{1}}
	for t := 2; t <= 2+r.IntN(3); t++ {
		if r.IntN(3) == 0 {
			d.unborn = append(d.unborn, t)
		} else {
			d.live = append(d.live, t)
		}
	}
	locks, variables := 1+r.IntN(3), 1+r.IntN(3)
	for range 20 * n {
		if len(d.lines) >= n {
			break
		}
		d.step(d.live[r.IntN(len(d.live))], locks, variables)
	}
	return d.lines
}

func (d *drawing) add(t int, op, on string) {
	d.lines = append(d.lines, traceLine{t, op, on, len(d.lines) + 1})
}

// step draws a line of a thread, if what is drawn is possible.
func (d *drawing) step(t, locks, variables int) {
	if m := d.waiting[t]; m != "" {
		if d.holder[m] == 0 && d.r.IntN(2) == 0 {
			delete(d.waiting, t)
			d.acquire(t, m)
		}
		return
	}
	lock := fmt.Sprintf("l%d", d.r.IntN(locks))
	switch what := d.r.IntN(14); {
	case what < 4, d.nests && what < 6, d.nests && what > 10 && d.r.IntN(4) > 0:
		if d.holder[lock] == 0 {
			d.acquire(t, lock)
		}
	case what < 8:
		if n := len(d.held[t]); n > 0 {
			d.release(t, d.held[t][max(0, n-1-d.r.IntN(4)/3)])
		}
	case what == 8 && d.waits && d.holder[lock] == t:
		d.release(t, lock)
		d.add(t, "wait", "c")
		d.waiting[t] = lock
	case what == 9 && d.waits:
		d.add(t, []string{"notify", "notifyAll"}[d.r.IntN(2)], "c")
	case what == 10:
		d.forkOrJoin(t)
	default:
		d.add(t, []string{"r", "w"}[d.r.IntN(2)], fmt.Sprintf("x%d", d.r.IntN(variables)))
	}
}

func (d *drawing) acquire(t int, lock string) {
	d.add(t, "acq", lock)
	d.held[t], d.holder[lock] = append(d.held[t], lock), t
}

func (d *drawing) release(t int, lock string) {
	d.add(t, "rel", lock)
	d.held[t] = slices.DeleteFunc(d.held[t], func(l string) bool { return l == lock })
	delete(d.holder, lock)
}

// forkOrJoin forks a thread that has not begun, or joins one that can have ended.
func (d *drawing) forkOrJoin(t int) {
	if len(d.unborn) > 0 {
		d.add(t, "fork", fmt.Sprintf("T%d", d.unborn[0]))
		d.live, d.unborn = append(d.live, d.unborn[0]), d.unborn[1:]
		return
	}
	u := d.live[d.r.IntN(len(d.live))]
	acted := slices.ContainsFunc(d.lines, func(l traceLine) bool { return l.thread == u })
	if u != t && acted && len(d.held[u]) == 0 && d.waiting[u] == "" && d.r.IntN(4) == 0 {
		d.add(t, "join", fmt.Sprintf("T%d", u))
		d.live = slices.DeleteFunc(d.live, func(v int) bool { return v == u })
	}
}

// deadlocks returns the deadlocks of the report of a trace, by the greatest confidence.
func deadlocks(t *testing.T, text string) map[string]finding.Confidence {
	t.Helper()
	rep, err := Report(std.NewReader(strings.NewReader(text), "text", std.ReaderOptions{}), Options{})
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	out := map[string]finding.Confidence{}
	for _, f := range rep.Findings {
		if f.Kind != finding.Deadlock {
			continue
		}
		at := make([]int, len(f.Evidence))
		for i, e := range f.Evidence {
			if _, err := fmt.Sscanf(e.Frames[0].Function, "location %d", &at[i]); err != nil {
				t.Fatal(err)
			}
		}
		if key := deadlockKey(at); out[key] == "" || out[key] == finding.Potential {
			out[key] = f.Confidence
		}
	}
	return out
}

// racePair is a race: a variable and the locations of the accesses, the lesser first.
type racePair struct {
	variable string
	a, b     int
}

func newRacePair(variable string, a, b int) racePair { return racePair{variable, min(a, b), max(a, b)} }

// races returns the races of the report of a trace, by confidence.
func races(t *testing.T, text string) map[racePair]finding.Confidence {
	t.Helper()
	rep, err := Report(std.NewReader(strings.NewReader(text), "text", std.ReaderOptions{}), Options{})
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	out := map[racePair]finding.Confidence{}
	for _, f := range rep.Findings {
		if f.Kind != finding.Race {
			continue
		}
		var at [2]int
		for i := range at {
			if _, err := fmt.Sscanf(f.Evidence[i].Frames[0].Function, "location %d", &at[i]); err != nil {
				t.Fatal(err)
			}
		}
		p := newRacePair(f.Objects[0].Name, at[0], at[1])
		if out[p] != "" {
			t.Errorf("two findings for %v\n%s", p, text)
		}
		out[p] = f.Confidence
	}
	return out
}

// compareWithSchedules checks that the report of a trace has exactly the races that exist, and
// returns their number.
func compareWithSchedules(t *testing.T, name string, lines []traceLine) int {
	t.Helper()
	text := stdText(lines)
	want, got := map[racePair]bool{}, races(t, text)
	for p := range enumerate(lines) {
		want[newRacePair(lines[p[0]].on, lines[p[0]].location, lines[p[1]].location)] = true
	}
	for p := range want {
		if c := got[p]; c == "" || c == finding.Potential {
			t.Errorf("%s: the race %v is %q\n%s", name, p, c, text)
		}
	}
	for p, c := range got {
		if c != finding.Potential && !want[p] {
			t.Errorf("%s: %v is no race, but %s\n%s", name, p, c, text)
		}
	}
	return len(want)
}

// TestEveryRaceOfSmallTraces checks that the report of a random trace of up to 40 lines has every
// race that exists, at least as predicted, and no other one. In a quarter of the traces several
// lines of a thread have one location.
func TestEveryRaceOfSmallTraces(t *testing.T) {
	traces := testtool.Cases(300, 1000, 3000)
	found := 0
	for seed := range traces {
		r := rand.New(rand.NewPCG(uint64(seed), 16))
		lines := drawLines(r, 8+r.IntN(33))
		if seed%4 == 0 {
			for i := range lines {
				lines[i].location = 1 + r.IntN(6)
			}
		}
		found += compareWithSchedules(t, fmt.Sprintf("seed %d", seed), lines)
		if t.Failed() {
			return
		}
	}
	if found < traces/2 {
		t.Errorf("%d races in %d traces: the test shows little", found, traces)
	}
}

// TestTinyTraces checks that the report of a random trace of two to four threads and up to 14 lines has
// every race and every deadlock of locks and joins that exists, at least as predicted, and no other one.
func TestTinyTraces(t *testing.T) {
	traces := testtool.Cases(500, 2500, 10000)
	racing, blocked := 0, 0
	for seed := range traces {
		r := rand.New(rand.NewPCG(uint64(seed), 48))
		lines := (&drawing{r: r, nests: seed%2 == 0}).draw(4 + r.IntN(11))
		racing += compareWithSchedules(t, fmt.Sprintf("seed %d", seed), lines)
		blocked += compareDeadlocks(t, fmt.Sprintf("seed %d", seed), lines)
		if t.Failed() {
			return
		}
	}
	t.Logf("%d races, %d deadlocks", racing, blocked)
	if racing < traces/4 || blocked < traces/200 {
		t.Errorf("%d races and %d deadlocks in %d traces: the test shows little", racing, blocked, traces)
	}
}

// compareDeadlocks checks that the report of a trace has exactly the deadlocks that exist, and returns their number.
func compareDeadlocks(t *testing.T, name string, lines []traceLine) int {
	t.Helper()
	text := stdText(lines)
	want, got := visitAll(lines).blocked, deadlocks(t, text)
	for key := range want {
		if c := got[key]; c == "" || c == finding.Potential {
			t.Errorf("%s: the deadlock at %s is %q\n%s", name, key, c, text)
		}
	}
	for key, c := range got {
		if c != finding.Potential && !want[key] {
			t.Errorf("%s: at %s is no deadlock, but %s\n%s", name, key, c, text)
		}
	}
	return len(want)
}

// TestHiddenRaces checks traces with one race each that some method does not see, from the papers
// that introduce the methods or after them. The comment of each says what hides it. All are found,
// with the order that the method leaves over, and without the search for reversals those that need
// none.
func TestHiddenRaces(t *testing.T) {
	for _, c := range []struct {
		name, text string
		a, b       int // the lines that race
		order      finding.Order
	}{
		// Happens-before orders release and acquire. Eraser tolerates what the first thread wrote
		// before the second one came, which writes under a lock.
		{"happens-before and locksets", "T1|w(x) T1|acq(m) T1|rel(m) T2|acq(m) T2|w(x) T2|rel(m)", 1, 5, finding.OrderSyncPreserving},
		{"happens-before", "T1|w(x) T1|acq(m) T1|rel(m) T2|acq(m) T2|rel(m) T2|w(x)", 1, 6, finding.OrderSyncPreserving},
		// The read under the lock comes before what the other section reads (Kini, Mathur,
		// Viswanathan, PLDI 2017, as Figure 2b). Locksets see no write by a second thread.
		{"happens-before, a reader", "T1|w(x) T1|acq(m) T1|w(y) T1|rel(m) T2|acq(m) T2|r(x) T2|r(y) T2|rel(m)", 1, 6, finding.OrderSyncPreserving},
		// T3's read of z orders what T1 did before its section, by way of T2's section and SHB's
		// edge from a write to its reader.
		{"SHB", "T1|w(x) T1|acq(m) T1|rel(m) T2|acq(m) T2|rel(m) T2|w(z) T3|r(z) T3|w(x)", 1, 8, finding.OrderSyncPreserving},
		// Both sections write y, so that WCP orders the first release before the second write, but
		// the first section can be left out.
		{"WCP", "T1|w(x) T1|acq(m) T1|w(y) T1|rel(m) T2|acq(m) T2|w(y) T2|rel(m) T2|w(x)", 1, 8, finding.OrderSyncPreserving},
		{"WCP, under another lock", "T1|w(x) T1|acq(m) T1|w(y) T1|rel(m) T2|acq(m) T2|w(y) T2|rel(m) T2|acq(n) T2|w(x) T2|rel(n)", 1, 9, finding.OrderSyncPreserving},
		// The first section is open at the race, so that the second one must come before it.
		{"sync-preservation", "T1|acq(m) T1|w(x) T1|rel(m) T2|acq(m) T2|rel(m) T2|w(x)", 2, 6, finding.OrderReversal},
		{"sync-preservation and WCP", "T1|acq(m) T1|w(x) T1|w(y) T1|rel(m) T2|acq(m) T2|w(y) T2|rel(m) T2|w(x)", 2, 8, finding.OrderReversal},
		// Likewise, and locksets see a variable that its first thread prepared under one lock and
		// the second uses under another one.
		{"sync-preservation and locksets", "T1|acq(m) T1|w(x) T1|rel(m) T2|acq(m) T2|rel(m) T2|acq(n) T2|w(x) T2|rel(n)", 2, 7, finding.OrderReversal},
	} {
		lines := parseLines(c.text)
		p := [2]int{c.a - 1, c.b - 1}
		if !enumerate(lines)[p] {
			t.Fatalf("%s: lines %d and %d do not race", c.name, c.a, c.b)
		}
		compareWithSchedules(t, c.name, lines)
		for _, reversals := range []int{0, -1} {
			rep, err := Report(std.NewReader(strings.NewReader(stdText(lines)), "text", std.ReaderOptions{}), Options{Engine: engine.Options{Reversals: reversals}})
			if err != nil {
				t.Fatal(err)
			}
			found := slices.ContainsFunc(rep.Findings, func(f report.Finding) bool {
				return f.Objects[0].Name == "x" && f.Confidence == finding.Predicted && f.Order == c.order
			})
			if want := reversals == 0 || c.order == finding.OrderSyncPreserving; found != want {
				t.Errorf("%s, --reversals %d: found %v, want %v: %+v", c.name, reversals, found, want, rep.Findings)
			}
		}
	}
}

// TestRefutedPairsAreSilent checks that a candidate of which locksets do not warn, and for which
// there is no schedule, is no finding, but is explained.
func TestRefutedPairsAreSilent(t *testing.T) {
	// T1 is in its section at its write, and has read z before T2 wrote it. So T2's section of m
	// cannot come first.
	const text = "T1|acq(m) T1|r(z) T1|w(x) T1|rel(m) T2|acq(m) T2|w(z) T2|rel(m) T2|acq(n) T2|w(x) T2|rel(n)"
	for _, c := range []struct {
		text  string
		races int
	}{
		{text, 0},
		{strings.Replace(text, "T1|r(z) ", "", 1), 1},
	} {
		lines := parseLines(c.text)
		rep, err := Report(std.NewReader(strings.NewReader(stdText(lines)), "text", std.ReaderOptions{}), Options{Engine: engine.Options{Explain: true}})
		if err != nil {
			t.Fatal(err)
		}
		if len(enumerate(lines)) != c.races || len(rep.Findings) != c.races {
			t.Errorf("%s: %+v", c.text, rep.Findings)
		}
		refuted := slices.ContainsFunc(rep.Pruned, func(p report.Pruned) bool { return p.Kind == finding.Race && p.Why == finding.Refuted })
		if refuted != (c.races == 0) {
			t.Errorf("%s: refuted: %v, %+v", c.text, refuted, rep.Pruned)
		}
	}
}
