package e2e

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// judged is what a report says of the regions of a scope and of what violates it.
var judged = regexp.MustCompile(`(?s)scope \w+: \d+ regions were judged.*?(?:note:|\n\n)|SCOPE observed.*?fingerprint \w+`)

// verdictsOf returns the text of a report that judged matches, without what the kernel form adds.
func verdictsOf(report string) string {
	return strings.Join(strings.Fields(strings.ReplaceAll(strings.Join(judged.FindAllString(report, -1), " "), "note:", "")), " ")
}

// TestScopeInKernel: the kernel form judges as the user form, and seven events with three actions are three records.
func TestScopeInKernel(t *testing.T) {
	needBPF(t)
	t.Parallel()
	for _, c := range []struct {
		source, spec string
		status       int
		counts       string
	}{
		{"figure1/figure1.c", "testdata/figure1/figure1.tps", 0, "7 events of local properties, 3 records"},
		{"../../../../examples/board/board.c", "../../../examples/board/board.tps", 66, "10 events of local properties, 8 records"},
		{"../../../../examples/board_read/board_read.c", "../../../examples/board/board.tps", 0, "12 events of local properties, 8 records"},
	} {
		t.Run(c.spec, func(t *testing.T) {
			program := build(t, "gcc", c.source, "-O1", "-g", "-pthread")
			var texts []string
			for _, where := range []string{"user", "kernel"} {
				tool := startTool(t, childOptions{}, "exec", "--stats", "--monitor="+where, "--spec", c.spec, "--", program)
				tool.want(c.status)
				texts = append(texts, tool.err.String())
			}
			if user, kernel := verdictsOf(texts[0]), verdictsOf(texts[1]); user == "" || user != kernel {
				t.Errorf("in user space:\n%s\nin the kernel:\n%s", user, kernel)
			}
			if !strings.Contains(texts[1], c.counts) {
				t.Errorf("want %q, report: %s", c.counts, texts[1])
			}
		})
	}
}

// TestScopeNotInKernel: where the kernel form cannot be, it is refused with the reason.
func TestScopeNotInKernel(t *testing.T) {
	needBPF(t)
	t.Parallel()
	program := build(t, "gcc", "figure1/figure1.c", "-O1", "-g", "-pthread")
	figure, err := os.ReadFile("testdata/figure1/figure1.tps")
	if err != nil {
		t.Fatal(err)
	}
	first := specFile(t, strings.Replace(string(figure), "call do_write by writer", "call do_write(n) by writer when n == tid", 1))
	for _, c := range []struct {
		args   []string
		reason string
	}{
		{[]string{"--follow", "--spec", "testdata/figure1/figure1.tps"}, "--monitor=kernel: --follow observes several processes"},
		{[]string{"--spec", first}, "the condition of write is not for the kernel: it reads tid"},
	} {
		tool := startTool(t, childOptions{}, append(append([]string{"exec", "--monitor=kernel"}, c.args...), "--", program)...)
		tool.want(2)
		if text := strings.Join(strings.Fields(tool.err.String()), " "); !strings.Contains(text, c.reason) {
			t.Errorf("want %q, report: %s", c.reason, text)
		}
	}
}

// TestConditionsInKernel: conditions on arguments and results are computed in the thread, and hold there where they do in user
// space.
func TestConditionsInKernel(t *testing.T) {
	needBPF(t)
	t.Parallel()
	program := build(t, "gcc", "conditions.c", "-O1", "-g", "-pthread")
	file := specFile(t, `
lock turn_lock = turn_lock
thread producer = start producer
thread consumer = start consumer
event turn    = acquire turn_lock
event heavy   = call put(n, weight) by producer when n > 0 && weight > 999999999999
event any_put = call put(n, _) by producer
event nothing = return get -> r by consumer when r < 0
event asks    = call get(slot) by consumer when slot == 3 || slot == 7

scope turns (turn) {
  property puts   on producer(heavy, any_put) is F(heavy && any_put && next any_put)
  property finds  on consumer(nothing)        is G(!nothing)
  property twice  on consumer(asks)           is F(asks && next F(asks))
  atom puts_heavy = all(puts)
  atom finds_none = any(finds, F)
  atom asks_twice = any(twice)
  check "a region has no heavy put" next always puts_heavy
  check "nothing was got"           always !finds_none
  check "it asked for both"         always !asks_twice
}
`)
	for how, violated := range map[string]int{"guilty": 3, "innocent": 0} {
		var texts []string
		for _, where := range []string{"user", "kernel"} {
			tool := startTool(t, childOptions{}, "exec", "--stats", "--watch-shared=off", "--monitor="+where, "--spec", file, "--", program, how)
			tool.want(map[bool]int{true: 66}[violated > 0])
			texts = append(texts, tool.err.String())
			if n := strings.Count(tool.err.String(), "SCOPE observed (turns)"); n != violated {
				t.Errorf("%s, in %s: %d findings, want %d: %s", how, where, n, violated, tool.err.String())
			}
		}
		if user, kernel := verdictsOf(texts[0]), verdictsOf(texts[1]); user == "" || user != kernel {
			t.Errorf("%s, in user space:\n%s\nin the kernel:\n%s", how, user, kernel)
		}
		if heavy := map[string]string{"guilty": "14 events", "innocent": "12 events"}[how]; !strings.Contains(texts[1], heavy+" of local properties, 5 records") {
			t.Errorf("%s: %s", how, texts[1])
		}
	}
}

// TestReleasesInKernel: the kernel form takes releases of a lock for the actions, and judges as the user form.
func TestReleasesInKernel(t *testing.T) {
	needBPF(t)
	t.Parallel()
	program := build(t, "gcc", "figure1/figure1.c", "-O1", "-g", "-pthread")
	figure, err := os.ReadFile("testdata/figure1/figure1.tps")
	if err != nil {
		t.Fatal(err)
	}
	released := specFile(t, strings.NewReplacer("acquire room", "release room", "check next always", "check always").Replace(string(figure)))
	var texts []string
	for _, where := range []string{"user", "kernel"} {
		tool := startTool(t, childOptions{}, "exec", "--stats", "--monitor="+where, "--spec", released, "--", program)
		tool.wait()
		texts = append(texts, tool.err.String())
	}
	// Which readers have ended by the last release differs from run to run, and so does the state after that.
	user, _, violated := strings.Cut(verdictsOf(texts[0]), " with ")
	if kernel, _, _ := strings.Cut(verdictsOf(texts[1]), " with "); !violated || user != kernel {
		t.Errorf("in user space:\n%s\nin the kernel:\n%s", user, kernel)
	}
	if !strings.Contains(texts[1], "7 events of local properties, 3 records") {
		t.Errorf("report: %s", texts[1])
	}
}

// TestNamesInKernel: what a thread has done before it got the name by which it has its type does not count. The kernel form, which
// does not know in which order that was, judges nothing then.
func TestNamesInKernel(t *testing.T) {
	needBPF(t)
	t.Parallel()
	program := build(t, "gcc", "named_between.c", "-O1", "-g", "-pthread")
	file := specFile(t, `
lock turn_lock = turn_lock
thread worker = name "worker"
event turn  = acquire turn_lock
event works = call work

scope turns (turn) {
  property worked on worker(works) is F(works)
  atom working = any(worked)
  check "a worker has worked" always !working
}
`)
	for _, c := range []struct {
		how, where string
		status     int
		judged     string
	}{
		{"before", "user", 66, "3 regions were judged"},
		{"before", "kernel", 66, "3 regions were judged"},
		{"behind", "user", 0, "3 regions were judged"},
		{"behind", "kernel", 0, "a thread got its type with a name, and had events before that"},
	} {
		tool := startTool(t, childOptions{}, "exec", "--watch-shared=off", "--monitor="+c.where, "--spec", file, "--", program, c.how)
		tool.want(c.status)
		if text := strings.Join(strings.Fields(tool.err.String()), " "); !strings.Contains(text, c.judged) {
			t.Errorf("%s, in %s: want %q: %s", c.how, c.where, c.judged, text)
		}
	}
}

// TestWaitsInKernel: a wait for a condition releases its mutex and acquires it again, which are actions of the kernel form too.
func TestWaitsInKernel(t *testing.T) {
	needBPF(t)
	t.Parallel()
	program := build(t, "gcc", "one_place.c", "-O1", "-g", "-pthread")
	const text = `
lock place_lock = place_lock
thread anyone = name "*"
event turn = OPERATION place_lock
event puts = call put

scope place (turn) {
  property twice on anyone(puts) is F(puts && next F(puts))
  atom put_twice = any(twice)
  check "the place was filled twice" always !put_twice
}
`
	for _, operation := range []string{"acquire", "release"} {
		file := specFile(t, strings.Replace(text, "OPERATION", operation, 1))
		for how, status := range map[string]int{"hasty": 66, "orderly": 0} {
			for _, where := range []string{"user", "kernel"} {
				tool := startTool(t, childOptions{}, "exec", "--watch-shared=off", "--monitor="+where, "--spec", file, "--", program, how)
				tool.want(status)
				if out := tool.err.String(); strings.Contains(out, "is not known") || strings.Contains(out, "SCOPE observed (place)") != (status != 0) {
					t.Errorf("%s, %s, in %s: %s", operation, how, where, out)
				}
			}
		}
	}
}

// TestLibraryActionInKernel: the lock of the actions may lie in a library that has no probe of its own.
func TestLibraryActionInKernel(t *testing.T) {
	needBPF(t)
	t.Parallel()
	library := build(t, "gcc", "turn_library.c", "-O1", "-g", "-shared", "-fPIC")
	program := build(t, "gcc", "library_turns.c", "-O1", "-g", "-pthread", library)
	file := specFile(t, `
lock library_lock = library_lock
thread worker = start worker
event turn  = acquire library_lock
event works = call work by worker

scope turns (turn) {
  property worked on worker(works) is F(works)
  atom some = any(worked)
  atom each = all(worked)
  check "one has not worked" always (some -> each)
}
`)
	for how, status := range map[string]int{"lazy": 66, "busy": 0} {
		for _, where := range []string{"user", "kernel"} {
			tool := startTool(t, childOptions{}, "exec", "--watch-shared=off", "--monitor="+where, "--spec", file, "--", program, how)
			tool.want(status)
			if text := tool.err.String(); !strings.Contains(text, "3 regions were judged") {
				t.Errorf("%s, in %s: %s", how, where, text)
			}
		}
	}
}
