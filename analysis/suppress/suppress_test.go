package suppress_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/golden"
	"github.com/tracepredict/tracepredict/analysis/report"
	textreport "github.com/tracepredict/tracepredict/analysis/report/text"
	"github.com/tracepredict/tracepredict/analysis/suppress"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

func frame(function, file string, line int) event.Frame {
	return event.Frame{Function: function, File: "/src/shop/" + file, Line: line, Module: "/opt/shop/bin/shop"}
}

func stack(frames ...event.Frame) report.Stack {
	return report.Stack{Frames: append(frames, event.Frame{Function: "start_thread", Module: "/lib/libc.so.6"})}
}

func variable(name string) *report.Object {
	return &report.Object{Object: run.Object{Name: name, Kind: event.KindVariable, Addr: 0x4000}}
}

// race is between sell(int), called by front_desk, and refund, called by back_desk.
func race() *report.Finding {
	x := variable("tickets")
	return &report.Finding{
		Finding: finding.Finding{Kind: finding.Race, Confidence: finding.Predicted, Count: 3}, Objects: []report.Object{*x},
		Evidence: []report.Step{
			{Step: finding.Step{Thread: 2, Op: event.Write}, Object: x, Stack: stack(frame("sell(int)", "sale.cc", 12), frame("retry", "sale.cc", 40), frame("front_desk", "desk.cc", 9))},
			{Step: finding.Step{Thread: 3, Op: event.Write}, Object: x, Stack: stack(frame("refund", "sale.cc", 30), event.Frame{Module: "/opt/shop/lib/libdesk.so.2", Offset: 0x1139})},
		},
	}
}

// deadlock has a stack where the lock was acquired, and one where the other is requested.
func deadlock() *report.Finding {
	a, b := &report.Object{Object: run.Object{Name: "a", Kind: event.KindMutex, Addr: 1}}, &report.Object{Object: run.Object{Name: "pool.slots[3].mu", Kind: event.KindMutex, Addr: 2}}
	side := func(held, wanted *report.Object, f string) report.Step {
		return report.Step{Step: finding.Step{Op: event.Acquire}, Object: wanted, Stack: stack(frame(f+"_inner", f+".c", 2)),
			Held: []report.Held{{Object: held, Stack: stack(frame(f+"_outer", f+".c", 1))}}}
	}
	return &report.Finding{
		Finding: finding.Finding{Kind: finding.Deadlock, Confidence: finding.Potential, Count: 1}, Objects: []report.Object{*a, *b},
		Evidence: []report.Step{side(a, b, "first"), side(b, a, "second")},
	}
}

func misuse() *report.Finding {
	return &report.Finding{Finding: finding.Finding{Kind: finding.Misuse, Rule: "unlock-not-held", Count: 1}, Evidence: []report.Step{{Stack: stack(frame("f", "f.c", 1))}}}
}

func property() *report.Finding {
	return &report.Finding{Finding: finding.Finding{Kind: finding.Property, Property: "landing.safe", Count: 1}}
}

// parse reads a block of the given lines.
func parse(t *testing.T, lines ...string) *suppress.Set {
	t.Helper()
	s, err := suppress.Parse(strings.NewReader("{\nname\n"+strings.Join(lines, "\n")+"\n}\n"), "t.supp")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestWhatMatches(t *testing.T) {
	for _, c := range []struct {
		of    *report.Finding
		lines string // separated by spaces
		want  bool
	}{
		{race(), "tracepredict:race ...", true},
		{race(), "tracepredict:* ...", true},
		{race(), "race ...", true},
		{race(), "tracepredict,Helgrind:Race ...", true},
		{race(), "tracepredict:deadlock,race ...", true},
		{race(), "tracepredict:deadlock ...", false},
		// Functions, from any frame of either side on.
		{race(), "tracepredict:race fun:sell(int)", true},
		{race(), "tracepredict:race fun:sell", true},
		{race(), "tracepredict:race fun:sel", false},
		{race(), "tracepredict:race fun:s?ll", true},
		{race(), "tracepredict:race fun:*desk", true},
		{race(), "tracepredict:race fun:refund", true},
		{race(), "tracepredict:race fun:sell fun:retry", true},
		{race(), "tracepredict:race fun:retry fun:sell", false},
		{race(), "tracepredict:race fun:sell fun:front_desk", false},
		{race(), "tracepredict:race fun:sell ... fun:front_desk", true},
		{race(), "tracepredict:race ... fun:sell ... fun:retry ...", true},
		{race(), "tracepredict:race fun:sell ... fun:refund", false}, // of two sides
		{race(), "tracepredict:race fun:sell and fun:refund", true},
		{race(), "tracepredict:race fun:refund and fun:sell", true},
		{race(), "tracepredict:race fun:sell and fun:sell", false},
		{race(), "tracepredict:race fun:sell and fun:front_desk", false}, // of one side
		{race(), "tracepredict:race fun:start_thread and fun:sell", true},
		{race(), "tracepredict:race fun:* fun:* fun:* fun:* fun:*", false}, // stacks of four
		// Modules and sources.
		{race(), "tracepredict:race obj:*/shop", true},
		{race(), "tracepredict:race obj:shop", true},
		{race(), "tracepredict:race obj:bin/shop", true},
		{race(), "tracepredict:race obj:/bin/shop", false},
		{race(), "tracepredict:race obj:hop", false},
		{race(), "tracepredict:race obj:libdesk.so*", true},
		{race(), "tracepredict:race obj:libdesk.so.2+0x1139", true},
		{race(), "tracepredict:race obj:libdesk.so.2", false},
		{race(), "tracepredict:race fun:refund obj:libdesk.so*", true},
		{race(), "tracepredict:race fun:refund fun:*", false}, // it has no name
		{race(), "tracepredict:race src:sale.cc", true},
		{race(), "tracepredict:race src:sale.cc:12", true},
		{race(), "tracepredict:race src:sale.cc:13", false},
		{race(), "tracepredict:race src:shop/*.cc:9", true},
		{race(), "tracepredict:race src:/src/*:12 src:*:40", true},
		// Objects.
		{race(), "tracepredict:race object:tickets", true},
		{race(), "tracepredict:race object:tick*", true},
		{race(), "tracepredict:race object:ticket", false},
		{race(), "tracepredict:race object:tickets fun:refund", true},
		{race(), "tracepredict:race object:tickets fun:nobody", false},
		{deadlock(), "tracepredict:deadlock object:a object:pool.slots[*].mu", true},
		{deadlock(), "tracepredict:deadlock object:a object:b", false},
		// Any stack of a side, also where a lock was acquired.
		{deadlock(), "tracepredict:deadlock fun:second_outer", true},
		{deadlock(), "tracepredict:deadlock fun:first_inner and fun:second_outer", true},
		{deadlock(), "tracepredict:deadlock fun:second_inner and fun:second_outer", false},
		// Rules and properties.
		{misuse(), "tracepredict:misuse:unlock-not-held fun:f", true},
		{misuse(), "tracepredict:misuse:unlock-* ...", true},
		{misuse(), "misuse:destroy-held ...", false},
		{property(), "tracepredict:property:landing.safe ...", true},
		{property(), "tracepredict:property:landing ...", false},
		{property(), "tracepredict:property:landing.safe fun:f", false}, // without a stack
	} {
		if got := parse(t, strings.Fields(c.lines)...).Suppresses(c.of); got != c.want {
			t.Errorf("%s: %v", c.lines, got)
		}
	}
}

func TestFaults(t *testing.T) {
	for text, want := range map[string]string{
		"race:foo\n":                        `t.supp:1:1: "race:foo" where a suppression should begin: write { on a line by itself`,
		"{\n}\n":                            `t.supp:2:1: the block ends where the suppression's name is expected`,
		"{\nn\n}\n":                         `t.supp:3:1: the block ends where what the suppression is for, as tracepredict:race is expected`,
		"{\nn":                              `t.supp:2:1: the file ends where what the suppression is for, as tracepredict:race is expected`,
		"{\nn\ntracepredict:rice\nfun:f\n}": `t.supp:3:14: "rice" is no kind of finding: it is race, deadlock, misuse, property, typestate, knowledge, scope or *`,
		"{\nn\n  tracepredict:race,dead\nfun:f\n}":                      `t.supp:3:21: "dead" is no kind of finding: it is race, deadlock, misuse, property, typestate, knowledge, scope or *`,
		"{\nn\ntracepredct:race\nfun:f\n}":                              `t.supp:3:1: "tracepredct" is no kind of finding: it is race, deadlock, misuse, property, typestate, knowledge, scope or *`,
		"{\nn\ntracepredict:race:x\nfun:f\n}":                           `t.supp:3:14: "race:x": only misuse, property, typestate, knowledge and scope have a name after the kind`,
		"{\nn\ntracepredict:misuse:\nfun:f\n}":                          `t.supp:3:21: after "misuse:": a name or a glob is expected`,
		"{\nn\ntracepredict:race\n}":                                    `t.supp:4:1: a suppression needs a line of what it matches: object:, fun:, obj:, src:, fingerprint: or ...`,
		"{\nn\ntracepredict:race\nfun:f\n":                              `t.supp:5:1: the file ends inside of the suppression "n": } is expected`,
		"{\nn\ntracepredict:race\n\tfun:\n}":                            `t.supp:4:6: after fun: a name or a glob is expected`,
		"{\nn\ntracepredict:race\n  main\n}":                            `t.supp:4:3: "main": object:, fun:, obj:, src:, fingerprint:, until:, ..., and or } is expected`,
		"{\nn\nrace\nfn:f\n}\n# c\n{\nm\nrace\n{\n}\n":                  "t.supp:4:1: \"fn:f\": object:, fun:, obj:, src:, fingerprint:, until:, ..., and or } is expected\nt.supp:10:1: \"{\": object:, fun:, obj:, src:, fingerprint:, until:, ..., and or } is expected",
		"{\nn\nrace\nfun:f" + strings.Repeat("\nand\nfun:g", 8) + "\n}": `t.supp:19:1: more than 8 sides in a suppression`,
		"{\nn\nrace" + strings.Repeat("\nfun:g", 513) + "\n}":           `t.supp:516:1: more than 512 lines in a suppression`,
		"{\nn\nrace\nfun:" + strings.Repeat("f", 1<<13) + "\n}":         `t.supp:4:1: the line has more than 8192 bytes`,
		"{\n" + strings.Repeat("f", 1<<13+1) + "\nrace\n...\n}":         `t.supp:2:1: the line has more than 8192 bytes`,
	} {
		_, err := suppress.Parse(strings.NewReader(text), "t.supp")
		if err == nil || err.Error() != want {
			t.Errorf("%.40q:\n got %v\nwant %s", text, err, want)
		}
		var fault *suppress.Error
		if !errors.As(err, &fault) {
			t.Errorf("%.40q: %T", text, err)
		}
	}
}

// TestBlocksOfOtherTools checks that blocks for other tools are skipped and counted.
func TestBlocksOfOtherTools(t *testing.T) {
	s, err := suppress.Open("testdata/valgrind.supp")
	if err != nil {
		t.Fatal(err)
	}
	if s.Len() != 1 || s.ForOtherTools() != 3 || !s.Suppresses(race()) {
		t.Errorf("%d suppressions, %d of other tools", s.Len(), s.ForOtherTools())
	}
}

func TestBuiltin(t *testing.T) {
	s, err := suppress.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(suppress.BuiltinText(), "\n{\n"); s.Len() != n || s.ForOtherTools() != 0 {
		t.Errorf("%d suppressions of %d", s.Len(), n)
	}
	rep := s.Apply(report.Report{Findings: []report.Finding{*race()}})
	if len(rep.Findings) != 1 || len(rep.Run.Suppressions.Each) != 0 {
		t.Errorf("%+v", rep.Run.Suppressions)
	}
}

// TestBuiltinMatches: what the built-in suppressions are for, each side as it was seen, and what
// looks like it.
func TestBuiltinMatches(t *testing.T) {
	s, err := suppress.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	benign := func(object, writes, reads string) *report.Finding {
		x := variable(object)
		side := func(f string) report.Step {
			return report.Step{Object: x, Stack: stack(event.Frame{Function: f, Module: "/opt/static"}, frame("work", "w.c", 3))}
		}
		return &report.Finding{Finding: finding.Finding{Kind: finding.Race, Count: 1}, Objects: []report.Object{*x}, Evidence: []report.Step{side(reads), side(writes)}}
	}
	for _, c := range []struct {
		object, writes, reads string
		want                  bool
	}{
		{"_IO_2_1_stdout_", "_IO_file_overflow", "puts", true},
		{"_IO_2_1_stderr_", "_IO_setb", "fputs", true},
		{"_IO_2_1_stdout_", "_IO_file_overflow", "fputc", true},
		{"_IO_2_1_stdout_", "_IO_file_overflow", "_IO_file_overflow", false},
		{"_IO_2_1_stdout_", "__fsetlocking", "puts", false},
		{"tickets", "_IO_setb", "puts", false},
		{"free_list", "__malloc_arena_thread_freeres", "arena_get2", true},
		{"free_list", "push", "pop", false},
		{"may_shrink_heap.12", "_int_free", "_int_free", true},
		{"aligned_heap_area", "alloc_new_heap", "alloc_new_heap", true},
		{"mp_+0", "free", "_int_free", true},
		{"mp_+8", "free", "_int_free", false},
		{"__use_tzfile", "__tzfile_read", "__tz_convert", true},
		{"__use_tzfile", "__tzfile_read", "__tzfile_read", true},
		{"is_initialized.0", "tzset_internal", "tzset_internal", true},
		{"__new_exitfn_called", "__new_exitfn", "__new_exitfn", true},
		{"mp_+16", "free", "sysmalloc", true},
		{"is_initialized", "start", "start", false},
		{"old_tz", "tzset_internal", "tzset_internal", true},
		{"__tzname+8", "__tzfile_compute", "__tzfile_compute", true},
		{"__tzname+0", "__tzfile_compute", "show_time", false},
		{"list_all_lock+8", "_IO_link_in", "_IO_link_in", true},
		{"list_all_lock+8", "_IO_un_link", "_IO_link_in", true},
		{"proc_file_chain_lock+8", "_IO_proc_close", "_IO_proc_open", true},
		{"proc_file_chain_lock+4", "_IO_proc_open", "_IO_proc_open", true},
		{"proc_file_chain", "_IO_proc_open", "_IO_proc_open", true},
		{"_dl_tls_generation", "_dl_close_worker", "_dl_tls_get_addr_soft", true},
		{"_dl_tls_generation", "dl_open_worker_begin", "_dl_tls_get_addr_soft", true},
	} {
		if got := s.Suppresses(benign(c.object, c.writes, c.reads)); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// TestApply checks that a finding counts for the first suppression that matches, and that
// suppressions of files are listed even if they are unused.
func TestApply(t *testing.T) {
	s := suppress.New(nil,
		parse(t, "tracepredict:race", "fun:nobody"),
		parse(t, "tracepredict:race", "object:tickets"),
		parse(t, "tracepredict:*", "fun:front_desk"))
	rep := s.Apply(report.Report{Findings: []report.Finding{*race(), *deadlock(), *race()}})
	if len(rep.Findings) != 1 || rep.Findings[0].Kind != finding.Deadlock {
		t.Errorf("%+v", rep.Findings)
	}
	want := []report.Suppression{
		{Name: "name", File: "t.supp", Line: 1},
		{Name: "name", File: "t.supp", Line: 1, Findings: map[finding.Confidence]int{finding.Predicted: 2}, Count: 6},
		{Name: "name", File: "t.supp", Line: 1},
	}
	if d := cmp.Diff(want, rep.Run.Suppressions.Each); d != "" {
		t.Error(d)
	}
	if (*suppress.Set)(nil).Apply(rep).Run.Suppressions != rep.Run.Suppressions || (*suppress.Set)(nil).Suppresses(race()) {
		t.Error("no suppressions do something")
	}
}

// TestGenerated suppressions match what they were made of, and nothing that has
// another side.
func TestGenerated(t *testing.T) {
	for i, f := range []*report.Finding{race(), deadlock(), misuse(), property(), starred()} {
		block := suppress.Block(f)
		s, err := suppress.Parse(strings.NewReader(block), "generated")
		if err != nil {
			t.Fatalf("%v\n%s", err, block)
		}
		if s.Len() != 1 || !s.Suppresses(f) {
			t.Errorf("%d: it does not match itself:\n%s", i, block)
		}
	}
	other := race()
	other.Evidence[1].Stack = stack(frame("audit", "audit.cc", 3))
	rep := suppress.Generate(report.Report{Findings: []report.Finding{*race()}})
	s, err := suppress.Parse(strings.NewReader(rep.Findings[0].Suppression), "generated")
	if err != nil || s.Suppresses(other) {
		t.Errorf("%v: it matches another race:\n%s", err, rep.Findings[0].Suppression)
	}
}

// starred has names in which patterns see more than there is.
func starred() *report.Finding {
	f := race()
	f.Objects[0].Name = "slots[12].of[3][x]"
	f.Evidence[0].Object, f.Evidence[1].Object = &f.Objects[0], &f.Objects[0]
	f.Evidence[0].Stack = stack(frame("V::operator*(V const*)::{lambda(char*)#1}::operator()(char*) const", "v.cc", 1))
	f.Evidence[1].Stack = stack(event.Frame{Module: "/opt/a b*", Offset: 16})
	return f
}

func TestGeneratedText(t *testing.T) {
	var all strings.Builder
	for _, f := range []*report.Finding{race(), deadlock(), misuse(), property(), starred()} {
		all.WriteString(suppress.Block(f))
	}
	golden.Compare(t, "testdata/generated.supp", all.String())
}

// TestManySuppressions checks that suppressions that cannot match are not tried one by one,
// and that the first one that matches is still found.
func TestManySuppressions(t *testing.T) {
	var text strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&text, "{\nn%d\nrace\nfun:f%d\n}\n", i, i)
	}
	text.WriteString("{\nlast\nrace\nfun:retry\n}\n{\nlater\nrace\nfun:sell\n}\n")
	s, err := suppress.Parse(strings.NewReader(text.String()), "t.supp")
	if err != nil {
		t.Fatal(err)
	}
	rep := s.Apply(report.Report{Findings: []report.Finding{*race()}})
	if len(rep.Findings) != 0 || rep.Run.Suppressions.Each[2000].Count != 3 {
		t.Error("the first that matches was not found")
	}
}

// TestSuppressedInCause checks that a suppression leaves the findings that it matches out of those with
// one cause: the strongest of the others is shown, and nothing if it matches all.
func TestSuppressedInCause(t *testing.T) {
	pair := func(first, second, fingerprint string, c finding.Confidence) report.Finding {
		f := race()
		f.Confidence, f.Fingerprint, f.Message = c, fingerprint, "race in "+first
		f.Evidence[0].Stack, f.Evidence[1].Stack = stack(frame(first, "sale.cc", 1)), stack(frame(second, "sale.cc", 2))
		return *f
	}
	rep := report.Report{Findings: []report.Finding{
		pair("sell", "refund", "aa", finding.Predicted), pair("count", "print", "bb", finding.Likely), pair("sum", "show", "cc", finding.Likely),
	}}
	for _, c := range []struct {
		lines []string
		says  []string
		not   []string
	}{
		{[]string{"race", "fun:nothing"}, []string{"1 race predicted", "race in sell", "count", "sum"}, nil},
		{[]string{"race", "fun:print"}, []string{"1 race predicted", "race in sell", "sum", "1 other pair", "suppressed: 1 finding"}, []string{"count"}},
		{[]string{"race", "fun:refund"}, []string{"1 race likely", "race in count", "sum"}, []string{"sell"}},
		{[]string{"race", "object:tickets"}, []string{"no findings", "suppressed: 3 findings"}, []string{"1. RACE"}},
	} {
		var text strings.Builder
		if err := textreport.Write(&text, parse(t, c.lines...).Apply(rep), report.Options{Width: 200}); err != nil {
			t.Fatal(err)
		}
		for _, want := range c.says {
			if !strings.Contains(text.String(), want) {
				t.Errorf("%v: no %q in\n%s", c.lines, want, &text)
			}
		}
		for _, s := range c.not {
			if strings.Contains(text.String(), s) {
				t.Errorf("%v: %q in\n%s", c.lines, s, &text)
			}
		}
	}
}
