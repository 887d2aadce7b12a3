package e2e

import (
	"debug/elf"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/tracepredict/tracepredict/loader/attach"
	"github.com/tracepredict/tracepredict/loader/steer"
	"github.com/tracepredict/tracepredict/probes/insn"
)

// confirmed is what a report says of the finding that was tried.
type confirmed struct {
	Kind         string `json:"kind"`
	Confidence   string `json:"confidence"`
	Harmless     string
	Objects      []string
	Confirmation *struct {
		Confirmed  bool
		Happened   bool
		Try, Tries int
		Reason     string
		How, Core  string
		Was        string
	} `json:"confirmation"`
}

// shown reports whether a finding is confirmed or, if it may be harmless, happened and keeps its confidence and reason.
func (f *confirmed) shown(harmless bool) bool {
	c := f.Confirmation
	return c != nil && c.Confirmed == !harmless && c.Happened == harmless && (f.Confidence == "confirmed") == !harmless && (f.Harmless != "") == harmless
}

// confirm runs the tool with --confirm, and other flags, and returns the findings of a kind in its report.
func confirm(t *testing.T, kind, program string, flags ...string) (found []confirmed) {
	t.Helper()
	return confirmRun(t, kind, []string{program}, flags...)
}

// confirmRun is confirm with a command line.
func confirmRun(t *testing.T, kind string, command []string, flags ...string) (found []confirmed) {
	t.Helper()
	report := filepath.Join(t.TempDir(), "report.json")
	all := []string{"exec", "--confirm", "--analysis-time=none", "--fail-on=never", "--format", "json", "--output", report}
	startTool(t, childOptions{Stdin: nothing(t)}, slices.Concat(all, flags, []string{"--"}, command)...).want(0)
	text, err := os.ReadFile(report)
	if err != nil {
		t.Fatal(err)
	}
	var r struct{ Findings []confirmed }
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatal(err)
	}
	for _, f := range r.Findings {
		if f.Kind == kind {
			found = append(found, f)
		}
	}
	return found
}

// nothing returns /dev/null, which a try can have again.
func nothing(t *testing.T) *os.File {
	t.Helper()
	f, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// TestConfirm: what happened in no run is made to happen, each time; what cannot happen is neither found nor confirmed.
func TestConfirm(t *testing.T) {
	needBPF(t)
	for _, name := range []string{"shop", "errand", "bank"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			program := example(t, name)
			for i := range 10 { // each has a time of its own
				t.Run(strconv.Itoa(i), func(t *testing.T) {
					found := confirm(t, "deadlock", program, "--watch-shared=off")
					if len(found) != 1 || found[0].Confirmation == nil || !found[0].Confirmation.Confirmed || found[0].Confirmation.Try > 5 {
						t.Fatalf("deadlocks: %s", printed(t, found))
					}
				})
			}
		})
	}
	t.Run("gate", func(t *testing.T) {
		t.Parallel()
		if found := confirm(t, "deadlock", example(t, "gate")); len(found) != 0 {
			t.Errorf("deadlocks: %s", printed(t, found))
		}
	})
}

// TestConfirmOpposite: a hang is the predicted one though what came before it was kept back, though a try names a lock by
// something else; one that would end after an hour happens, and is not confirmed; a request is known by its number also where two calls are counted.
func TestConfirmOpposite(t *testing.T) {
	needBPF(t)
	t.Parallel()
	program := build(t, "g++", "opposite.cc", "-O1", "-g", "-std=c++20", "-pthread")
	for _, way := range []string{"tasks", "member", "limited", "again"} {
		t.Run(way, func(t *testing.T) {
			found := confirmRun(t, "deadlock", []string{program, way}, "--confidence=likely")
			if limited := way == "limited"; len(found) != 1 || !found[0].shown(limited) {
				t.Errorf("deadlocks: %s", printed(t, found))
			}
		})
	}
}

// TestConfirmSpins: a deadlock of spin locks that the program has made itself is seen by that its threads do not return.
func TestConfirmSpins(t *testing.T) {
	needBPF(t)
	t.Parallel()
	found := confirm(t, "deadlock", build(t, "gcc", "own_spins.c", "-O1", "-g", "-pthread"))
	if runtime.GOARCH == "amd64" && (len(found) != 1 || found[0].Confirmation == nil || !found[0].Confirmation.Confirmed) {
		t.Errorf("deadlocks: %s", printed(t, found))
	}
}

// TestConfirmRaces: both threads stand before their accesses at once, each time.
func TestConfirmRaces(t *testing.T) {
	needBPF(t)
	needBreakpoints(t)
	for _, c := range []struct{ example, variable string }{{"shop", "tickets"}, {"rwlock_race", "hits"}} {
		t.Run(c.example, func(t *testing.T) {
			t.Parallel()
			for i := range 3 {
				t.Run(strconv.Itoa(i), func(t *testing.T) {
					found := confirm(t, "race", example(t, c.example), "--watch", c.variable)
					if len(found) != 1 || found[0].Confirmation == nil || !found[0].Confirmation.Confirmed {
						t.Fatalf("races: %s", printed(t, found))
					}
					if how := found[0].Confirmation.How; !strings.HasPrefix(how, "both threads stood before their accesses of "+c.variable+" at "+c.example+".c:") {
						t.Errorf("confirmed: %s", how)
					}
				})
			}
		})
	}
}

// TestConfirmGuidedRace: two threads can only meet at their accesses if the critical sections before these come in another
// order than in a run that is left alone. The schedule brings about that order. It cannot where the program itself keeps the
// order by something that the tool was not told of.
func TestConfirmGuidedRace(t *testing.T) {
	needBPF(t)
	needBreakpoints(t)
	t.Parallel()
	found := confirm(t, "race", build(t, "gcc", "guided.c", "-O2", "-g", "-pthread"), "--order=none", "--tries=2", "--watch", "untold", "--watch", "told")
	if len(found) != 2 {
		t.Fatalf("races: %s", printed(t, found))
	}
	for _, f := range found {
		if f.Confirmation == nil || len(f.Objects) != 1 || f.Confirmation.Confirmed != (f.Objects[0] == "untold") || f.Confirmation.Confirmed && f.Confirmation.Try != 2 {
			t.Errorf("race: %s", printed(t, f))
		}
	}
}

// TestConfirmKeptRace: while one thread is held before its access, with its lock, the other cannot come to its own, which
// wants that lock first; it is let go at once then, until they do meet.
func TestConfirmKeptRace(t *testing.T) {
	needBPF(t)
	needBreakpoints(t)
	t.Parallel()
	found := confirm(t, "race", build(t, "gcc", "kept.c", "-O1", "-g", "-pthread"), "--watch", "shared")
	if len(found) != 1 || found[0].Confirmation == nil || !found[0].Confirmation.Confirmed {
		t.Errorf("races: %s", printed(t, found))
	}
}

// TestConfirmOrders: both orders of the accesses are shown, with what the memory held.
func TestConfirmOrders(t *testing.T) {
	needBPF(t)
	needBreakpoints(t)
	t.Parallel()
	found := confirm(t, "race", example(t, "shop"), "--watch", "tickets")
	want := "; its memory had the values 100, 99, 100 with T2 first, and 100, 101, 100 with T3 first"
	if len(found) != 1 || found[0].Confirmation == nil || !strings.HasSuffix(found[0].Confirmation.How, want) {
		t.Errorf("races: %s", printed(t, found))
	}
}

// TestFalseRaceIsNotConfirmed: where the tool is not told what orders two accesses, it takes them for a race, which no
// run can show; the race beside it is one.
func TestFalseRaceIsNotConfirmed(t *testing.T) {
	needBPF(t)
	t.Parallel()
	found := confirm(t, "race", example(t, "pipe"), "--order=none", "--tries=2", "--watch", "letter", "--watch", "stamp")
	if len(found) != 2 {
		t.Fatalf("races: %s", printed(t, found))
	}
	for _, f := range found {
		if f.Confirmation == nil || len(f.Objects) != 1 || f.Confirmation.Confirmed != strings.Contains(f.Objects[0], "stamp") {
			t.Errorf("race: %s", printed(t, f))
		}
	}
}

// TestHarmlessRaceIsNotConfirmed: that two threads stand before accesses of atomic built-ins at once does not show that
// they are no such accesses.
func TestHarmlessRaceIsNotConfirmed(t *testing.T) {
	needBPF(t)
	t.Parallel()
	program := build(t, "gcc", "builtins.c", "-O1", "-g", "-pthread")
	found := confirmRun(t, "race", []string{program, "acquire"}, "--watch-shared=all", "--confidence=likely", "--tries=2")
	if len(found) != 1 || !found[0].shown(true) {
		t.Errorf("races: %s", printed(t, found))
	}
}

// TestConfirmSpecified: the plain monitor sees in a run that follows the witness what was predicted of it, whatever kind
// of specification it is.
func TestConfirmSpecified(t *testing.T) {
	needBPF(t)
	needBreakpoints(t)
	for _, c := range []struct {
		example, spec, kind string
		properties          int
	}{
		{"valve", "valve", "property", 2},
		{"refs", "refs", "property", 1},
		{"socket", "socket", "typestate", 1},
		{"crawler", "crawler", "typestate", 1},
		{"sale", "sale", "knowledge", 1},
		{"board_hurry", "board", "scope", 1},
	} {
		t.Run(c.example, func(t *testing.T) {
			t.Parallel()
			spec := filepath.Join("..", "..", "..", "examples", c.spec, c.spec+".tps")
			found := confirm(t, c.kind, example(t, c.example), "--spec", spec)
			if len(found) != c.properties {
				t.Fatalf("found: %s", printed(t, found))
			}
			for _, f := range found {
				if f.Confidence != "confirmed" || f.Confirmation == nil || !f.Confirmation.Confirmed || f.Confirmation.Was == "" || !strings.HasPrefix(f.Confirmation.How, "the program was run again along the schedule, and violated ") {
					t.Errorf("not confirmed: %s", printed(t, f))
				}
			}
		})
	}
}

// TestConfirmAtomicity: what another thread sees of a call in the try confirms that it can, also where it then reads something
// else than in the first run, and where a lock's call returns to the very access before which its thread is to wait.
func TestConfirmAtomicity(t *testing.T) {
	needBPF(t)
	needBreakpoints(t)
	t.Parallel()
	found := confirm(t, "knowledge", build(t, "gcc", "audit.c", "-O1", "-g", "-pthread"), "--watch", "left", "--watch", "right", "--check", "atomicity=transfer")
	if len(found) != 1 || found[0].Confirmation == nil || !found[0].Confirmation.Confirmed {
		t.Errorf("not confirmed: %s", printed(t, found))
	}
}

const toldSpec = `typestate conn (c : struct conn *) {
  make  = return conn_new -> c
  write = call conn_write(c)
  close = call conn_close(c)

  state fresh  { make -> made }
  state made   { write -> made; close -> closed }
  state closed { }
}

event use = call conn_write(_)
var c : int = closed
property early "a connection is used after it was closed" = always (use -> c == 0)
`

// TestFalseViolationIsNotConfirmed: where the tool is not told what orders two operations, it predicts what no run can
// show. The try says where the run left the schedule.
func TestFalseViolationIsNotConfirmed(t *testing.T) {
	needBPF(t)
	needBreakpoints(t)
	t.Parallel()
	program := build(t, "gcc", "told.c", "-O2", "-g", "-pthread")
	spec := filepath.Join(t.TempDir(), "told.tps")
	if err := os.WriteFile(spec, []byte(toldSpec), 0o644); err != nil {
		t.Fatal(err)
	}
	for kind, why := range map[string]string{"typestate": "1: T1 calls conn_close at told.c:", "property": "1: T1 writes closed at told.c:"} {
		found := confirm(t, kind, program, "--order=none", "--tries=2", "--spec", spec)
		if len(found) != 1 || found[0].Confidence != "likely" && found[0].Confidence != "predicted" ||
			found[0].Confirmation == nil || found[0].Confirmation.Confirmed || found[0].Confirmation.Try != 2 ||
			!strings.HasPrefix(found[0].Confirmation.Reason, "diverged at step "+why) {
			t.Errorf("%s: %s", kind, printed(t, found))
		}
	}
	if found := confirm(t, "typestate", program, "--order=io", "--spec", spec); len(found) != 0 {
		t.Errorf("with the order: %s", printed(t, found))
	}
}

func printed(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestConfirmMissedSignal: a signal that comes before the wait for it is made to, and the program hangs; where the reader
// looks again with the lock held, nothing is found.
func TestConfirmMissedSignal(t *testing.T) {
	needBPF(t)
	needBreakpoints(t)
	t.Parallel()
	flags := []string{"-O2", "-g", "-pthread"}
	found := confirm(t, "deadlock", build(t, "gcc", "missed.c", flags...), "--watch-shared=off")
	if len(found) != 1 || found[0].Confidence != "confirmed" {
		t.Errorf("deadlocks: %s", printed(t, found))
	}
	if found := confirm(t, "deadlock", build(t, "gcc", "missed.c", append(flags, "-DLOOK_AGAIN")...), "--watch=news"); len(found) != 0 {
		t.Errorf("deadlocks of the innocent twin: %s", printed(t, found))
	}
}

// TestConfirmMissedNotification: the threads of a program follow the schedule where headers of the C++ library lock for it.
func TestConfirmMissedNotification(t *testing.T) {
	needBPF(t)
	needBreakpoints(t)
	t.Parallel()
	program := build(t, "g++", "missed_all.cc", "-O1", "-g", "-std=c++20", "-pthread")
	found := confirm(t, "deadlock", program, "--confidence=likely")
	if len(found) == 0 || found[0].Confirmation == nil || !found[0].Confirmation.Confirmed {
		t.Errorf("deadlocks: %s", printed(t, found))
	}
}

// TestConfirmed: as the user sees it, also beside the other flags of a run, which are not those of a try.
func TestConfirmed(t *testing.T) {
	needBPF(t)
	t.Parallel()
	for _, more := range [][]string{nil, {"--check", "races=tickets", "--format", "sarif", "--output", filepath.Join(t.TempDir(), "found.sarif"), "--stats"}} {
		tool := startTool(t, childOptions{Stdin: nothing(t)}, slices.Concat([]string{"exec", "--confirm", "--analysis-time=none"}, more, []string{"--", example(t, "shop")})...)
		tool.want(66)
		text := tool.err.String()
		if more != nil {
			report, err := os.ReadFile(more[5])
			if err != nil {
				t.Fatal(err)
			}
			text = string(report)
		}
		if !strings.Contains(text, "confirmed (try ") {
			t.Errorf("%q: %s", more, text)
		}
	}
}

// TestConfirmWithoutBreakpoints: where hardware breakpoints do not work, races are not tried, with that reason; deadlocks
// of locks are.
func TestConfirmWithoutBreakpoints(t *testing.T) {
	needBPF(t)
	if err := attach.TryWatchpoint(); !errors.Is(err, attach.ErrNoWatchpoint) {
		t.Skip("hardware breakpoints work here")
	}
	t.Parallel()
	program := example(t, "shop")
	for _, f := range confirm(t, "race", program, "--watch", "tickets") {
		if f.Confirmation == nil || f.Confirmation.Confirmed || f.Confirmation.Try != 0 || !strings.Contains(f.Confirmation.Reason, "hardware breakpoints, which do not work here") {
			t.Errorf("a race: %s", printed(t, f))
		}
	}
	for _, f := range confirm(t, "deadlock", program, "--watch", "tickets") {
		if f.Confidence != "confirmed" {
			t.Errorf("a deadlock: %s", printed(t, f))
		}
	}
}

// TestConfirmNeedsInput: with a pipe as standard input nothing is tried, and the report says why.
func TestConfirmNeedsInput(t *testing.T) {
	needBPF(t)
	t.Parallel()
	tool := startTool(t, childOptions{}, "exec", "--confirm", "--analysis-time=none", "--fail-on=never", "--", example(t, "shop"))
	tool.want(0)
	if text := strings.Join(strings.Fields(tool.err.String()), " "); !strings.Contains(text, "not confirmed: standard input is neither /dev/null nor a file") {
		t.Errorf("printed: %s", text)
	}
}

// TestKilledWhileTrying: when the tool is killed, nothing of its tries is left.
func TestKilledWhileTrying(t *testing.T) {
	needBPF(t)
	t.Parallel()
	program := copied(t, example(t, "shop"))
	tool := startTool(t, childOptions{Stdin: nothing(t)}, "exec", "--confirm", "--analysis-time=none", "--", program)
	poll(t, "a try of "+program, func() bool {
		return tool.err.has("tracepredict: running the program again") && len(runs(program)) > 0 || tool.hasEnded()
	})
	if tool.hasEnded() {
		t.Fatal("it ended before it could be killed")
	}
	if err := unix.Kill(tool.observer(), unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	poll(t, "the end of all tries", func() bool { return len(runs(program)) == 0 })
}

// copied returns a copy of a program, which nobody else runs.
func copied(t *testing.T, program string) string {
	t.Helper()
	text, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "copied")
	if err := os.WriteFile(name, text, 0o755); err != nil {
		t.Fatal(err)
	}
	return name
}

// runs returns the processes that run a program.
func runs(program string) (found []string) {
	links, _ := filepath.Glob("/proc/[0-9]*/exe")
	for _, link := range links {
		if to, err := os.Readlink(link); err == nil && to == program {
			found = append(found, link)
		}
	}
	return found
}

// TestSteeredProgramOutlivesTheTool: a program whose thread is held goes on when the tool is killed, and ends well.
func TestSteeredProgramOutlivesTheTool(t *testing.T) {
	needBPF(t)
	for _, c := range []struct {
		name, example, output string
		plan                  func(program string) steer.Plan
	}{
		{"call", "errand", "done\n", func(program string) steer.Plan {
			call := instruction(t, program, "main", func(in *insn.Inst) bool { return in.Kind == insn.Call })
			never := steer.Gate{Thread: []int{99}, What: "a thread that is never created"}
			return steer.Plan{
				Sites: []steer.Site{{Module: program, Return: call.End()}},
				Gates: []steer.Gate{{Thread: []int{}, Count: 1, After: []int{1}}, never},
			}
		}},
		{"instruction", "errand", "done\n", func(program string) steer.Plan {
			call := instruction(t, program, "main", func(in *insn.Inst) bool { return in.Kind == insn.Call })
			never := steer.Gate{Thread: []int{99}, What: "a thread that is never created"}
			return steer.Plan{
				Exact: true, Sites: []steer.Site{{Module: program, Return: call.End()}},
				Gates: []steer.Gate{{Thread: []int{}, Behind: []int{1}}, never},
			}
		}},
		{"access", "shop", "85 tickets left, 25 entries\n", func(program string) steer.Plan {
			access := instruction(t, program, "main", func(in *insn.Inst) bool { return in.NMem == 1 && in.Mem[0].Fixed && in.Mem[0].Read })
			side := func(thread ...int) steer.Side { return steer.Side{Thread: thread, Module: program, At: access.Addr} }
			return steer.Plan{Pair: &steer.Pair{Sides: [2]steer.Side{side([]int{}...), side(99)}}}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			program := copied(t, example(t, c.example))
			if got := killedWhileHeld(t, program, c.plan(program)); got != c.output {
				t.Errorf("the program printed %q", got)
			}
		})
	}
}

// killedWhileHeld runs a program along a plan, kills the tool while a thread is held, and returns what the program prints.
func killedWhileHeld(t *testing.T, program string, along steer.Plan) string {
	t.Helper()
	plan, err := json.Marshal(along)
	if err != nil {
		t.Fatal(err)
	}
	order := filepath.Join(t.TempDir(), "order")
	if err := os.WriteFile(order, plan, 0o644); err != nil {
		t.Fatal(err)
	}
	in, err := os.Open(order)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := os.Create(order + ".answer")
	if err != nil {
		t.Fatal(err)
	}
	tool := startChild(t, childOptions{Stdin: nothing(t), Files: []*os.File{in, answer}}, toolPath(t), "__tracepredict-try", "3", "4", "exec", "--", program)
	poll(t, "a thread that is held", func() bool { return heldAt(program) || tool.hasEnded() })
	if tool.hasEnded() {
		t.Fatal("it ended before it could be killed")
	}
	tool.signal(unix.SIGKILL)
	poll(t, "the end of the program", func() bool { return len(runs(program)) == 0 && tool.hasEnded() })
	return tool.out.String()
}

// heldAt reports whether a process that runs a program is in a stop outside of system calls.
func heldAt(program string) bool {
	for _, exe := range runs(program) {
		stat, _ := os.ReadFile(filepath.Join(filepath.Dir(exe), "stat"))
		call, _ := os.ReadFile(filepath.Join(filepath.Dir(exe), "syscall"))
		if strings.Contains(string(stat), ") t ") && strings.HasPrefix(string(call), "-1 ") {
			return true
		}
	}
	return false
}

// instruction returns the first instruction of a function that has a property, as linked.
func instruction(t *testing.T, program, function string, has func(*insn.Inst) bool) insn.Inst {
	t.Helper()
	f, err := elf.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	symbols, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range symbols {
		if s.Name != function {
			continue
		}
		section := f.Sections[s.Section]
		code := make([]byte, s.Size)
		if _, err := section.ReadAt(code, int64(s.Value-section.Addr)); err != nil {
			t.Fatal(err)
		}
		for at := 0; at < len(code); {
			in, err := insn.Decode(insn.AMD64, code[at:], s.Value+uint64(at))
			if err != nil {
				t.Fatal(err)
			}
			if at += in.Len; has(&in) {
				return in
			}
		}
	}
	t.Fatalf("%s has no such instruction in %s", program, function)
	return insn.Inst{}
}
