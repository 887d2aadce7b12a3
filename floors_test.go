package tracepredict_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/tracepredict/tracepredict"

// floor is what one kind of package may import of ours. The first row whose
// pattern (path.Match) fits a package is its own.
type floor struct {
	packages string
	imports  []string // patterns
	why      string
}

// floors is the order of the house, from the ground up; a package that no row
// fits has no place in it.
var floors = []floor{
	{"internal/oldest", nil, "the age of things does not depend on what they are"},
	{"internal/plural", nil, "sentences with counts are text"},
	{"internal/printable", nil, "what a terminal prints is text"},
	{"internal/safely", nil, "a goroutine that may panic knows nothing of what it does"},
	{"internal/*", nil, "help for tests knows nothing of ours"},
	{"bpf", nil, "the programs in the kernel and their record know nothing of ours"},
	{"bpf/genops", nil, "the constants of the record are in the text of the headers"},
	{"observer/event", nil, "the event model is the ground floor"},
	{"probes/insn", nil, "one instruction knows nothing of files"},
	{"probes/libname", nil, "names of libraries, and of their functions, are text"},
	{"probes/elf", []string{"probes/insn", "probes/libname"}, "a binary is its bytes, its instructions, and the functions that it imports"},
	{"probes/dwarf", []string{"probes/elf", "probes/insn"}, "debug information lies in binaries, and names registers"},
	{"probes/spelling", nil, "names are text"},
	{"probes/clib", []string{"probes/elf", "probes/libname"}, "whose a function is shows in its file"},
	{"probes/synctab", []string{"bpf", "probes/spelling"}, "the table names what the BPF programs do"},
	{"probes/code", []string{"probes/elf", "probes/insn"}, "control flow is of instructions in a binary, whatever is sought there"},
	{"probes/elftest", []string{"internal/testtool"}, "files for tests are made by tools"},
	{"probes/lines", []string{"probes/code", "probes/dwarf", "probes/elf", "probes/insn", "probes/spelling", "probes/symbolize", "probes/unwind"}, "which code lines of the source have is in the debug information, whatever is done with it"},
	{"probes/*", []string{"probes/clib", "probes/code", "probes/dwarf", "probes/elf", "probes/insn", "probes/libname", "probes/spelling"}, "the parts of probes read binaries; probes itself joins them"},
	{"probes", []string{"bpf", "probes/*"}, "what to probe is below who probes it"},
	{"loader/procfs", nil, "what /proc tells is text"},
	{"loader/need", []string{"loader/procfs"}, "what is missing is explained by facts about kernel and user"},
	{"loader/target", []string{"loader/need", "loader/procfs", "probes/elf"}, "what is to be observed is judged before anything is done to it"},
	{"loader/journal", []string{"loader/procfs", "loader/target"}, "where probes are is written down without knowing what they are"},
	{"loader/parent", []string{"loader/target"}, "who waits for the tool knows nothing of what it does"},
	{"loader/steer", []string{"loader/procfs", "probes/code", "probes/elf", "probes/insn"}, "who is held, and when, is known without a process that is observed"},
	{"loader/tries", []string{"loader/procfs", "loader/target"}, "who runs the tool again knows nothing of what is tried"},
	{"loader/ring", []string{"bpf"}, "the ring buffer is read without knowing what records mean"},
	{"loader/stacks", []string{"bpf", "probes", "probes/elf", "probes/insn", "probes/unwind"}, "call chains are found from copies, without a process"},
	{"loader/ptrace", []string{"loader/procfs", "loader/ring", "loader/target"}, "who holds threads knows no probe"},
	{"loader/attach", []string{"bpf", "loader/need", "loader/procfs", "loader/ring", "probes", "probes/watchpoint"}, "who puts probes in knows no plan and no process that it started"},
	{"loader/doctor", []string{"loader/attach", "loader/need", "loader/procfs", "loader/ptrace"}, "the doctor tries what the others do"},
	{"loader", []string{"bpf", "loader/*", "probes", "probes/*"}, "the loader hands records up and knows no events"},
	{"observer/run", []string{"observer/event", "probes/libname"}, "the model of a run is data"},
	{"observer/order", []string{"observer/event"}, "which operation comes before which is known of events alone"},
	{"observer/event/*", []string{"observer/event", "observer/clock", "observer/order", "observer/trace/std"}, "helpers for tests of events"},
	{"observer/lockword", []string{"observer/event"}, "which variables are locks shows in events alone"},
	{"observer/ownlocks", []string{"observer/event"}, "which libraries take locks for themselves alone shows in events alone"},
	{"observer/trace", []string{"observer/event", "observer/lockword", "observer/run"}, "a trace is events and names"},
	{"observer/trace/*", []string{"observer/event", "observer/run", "observer/trace"}, "other forms of traces"},
	{"observer/live", []string{"bpf", "loader", "observer", "observer/event", "observer/ownlocks", "observer/run", "observer/stuck", "observer/trace", "probes", "probes/*"}, "a session and an observer are joined without knowing an analysis"},
	{"observer/*", []string{"bpf", "observer/event", "observer/run", "observer/clock", "observer/order"}, "the parts of the pipeline"},
	{"observer", []string{"bpf", "observer/*"}, "the observer makes events and knows no analysis"},
	{"analysis/finding/reason", []string{"observer/event"}, "a reason speaks of threads, objects and places, and knows no finding"},
	{"analysis/finding", []string{"analysis/finding/reason", "observer/event"}, "a finding speaks of events alone"},
	{"analysis/report", []string{"analysis/finding", "analysis/finding/reason", "analysis/verdict", "observer/event", "observer/run", "probes/libname"}, "the report of a run is data, and knows no format"},
	{"analysis/report/reporttest", []string{"analysis/finding", "analysis/finding/reason", "analysis/report", "observer/event", "observer/run"}, "findings for tests of all formats"},
	{"analysis/report/format", []string{"analysis/report", "analysis/report/*"}, "the table of formats knows them all, and nothing else of a run"},
	{"analysis/report/junit", []string{"analysis/report", "analysis/report/text"}, "where a format has a place for text, it is that for people"},
	{"analysis/report/markdown", []string{"analysis/report", "analysis/report/text"}, "where a format has a place for text, it is that for people"},
	{"analysis/report/*", []string{"analysis/finding", "analysis/finding/reason", "analysis/report", "observer/event", "observer/run"}, "a format writes the data of a report, decides nothing, and knows no other format"},
	{"analysis/baseline", []string{"analysis/finding", "analysis/report"}, "an earlier report is compared by fingerprints"},
	{"analysis/suppress", []string{"analysis/finding", "analysis/report", "observer/event", "probes/spelling"}, "what is suppressed is found by the names of the report"},
	{"analysis/perfetto", []string{"observer/event", "observer/run"}, "a timeline has the names of a run"},
	{"analysis/profile", []string{"observer/event", "observer/run"}, "a profile has the names of a run"},
	{"analysis/progress", []string{"analysis/finding", "analysis/report", "observer/run"}, "what is told while a program runs has the names of reports"},
	{"analysis/atomicity", []string{"analysis/execution", "analysis/finding", "analysis/finding/reason", "analysis/part", "analysis/predict", "observer/event"}, "what may come between the events of a block, whatever names the block"},
	{"analysis/bind", []string{"analysis/atomicity", "analysis/completion", "analysis/execution", "analysis/finding", "analysis/knowledge", "analysis/locks", "analysis/monitor", "analysis/part", "analysis/property", "analysis/scope", "analysis/spec", "analysis/spec/syntax", "analysis/stats", "analysis/typestate", "observer/event", "observer/lattice", "observer/run"}, "a specification is bound to a run by names"},
	{"analysis/runs", []string{"analysis/finding", "analysis/report"}, "several runs are compared by their reports"},
	{"analysis/replay", []string{"analysis/bind", "analysis/engine", "analysis/report", "analysis/verdict", "observer/event", "observer/run", "observer/clock", "observer/trace"}, "replay reads a trace into the engine"},
	{"analysis/spec/syntax", []string{"probes/spelling"}, "the text of a specification is read without knowing what it means"},
	{"analysis/spec/ir", nil, "the code of an expression knows no names and no events"},
	{"analysis/spec", []string{"bpf", "analysis/knowledge", "analysis/spec/ir", "analysis/spec/syntax", "analysis/monitor", "analysis/monitor/*", "observer/event", "probes/spelling"}, "a specification becomes monitors and letters, whatever gives the values"},
	{"analysis/execution", []string{"analysis/finding", "observer/event"}, "the checker of witnesses knows the rules of an execution, and nothing of who found them"},
	{"analysis/kept", []string{"analysis/finding", "observer/event"}, "a log of events knows nothing of what is asked of it"},
	{"analysis/predict", []string{"analysis/execution", "analysis/finding", "analysis/finding/reason", "analysis/kept", "observer/event", "observer/order"}, "what is predicted is checked by others"},
	{"analysis/verdict", []string{"analysis/finding", "analysis/finding/reason", "observer/event", "observer/run"}, "verdicts know findings and what is known of a run, not who found them"},
	{"analysis/learn", []string{"analysis/bind", "analysis/mine", "analysis/spec", "analysis/typestate", "observer/event", "observer/run"}, "protocols are learned from events, and become text of a specification"},
	{"analysis/suggest", []string{"analysis/bind", "analysis/finding", "analysis/part", "analysis/scope", "analysis/spec", "analysis/spec/syntax", "observer/event", "observer/run"}, "what a scope can be cut at is found in events, and becomes text of a specification"},
	{"analysis/mine", nil, "what is learned of calls knows them by number, and no events"},
	{"analysis/golden", nil, "files that tests compare with have no meaning"},
	{"analysis/part", []string{"analysis/execution", "analysis/finding", "analysis/finding/reason", "analysis/happensbefore", "analysis/locks", "analysis/predict", "analysis/verdict", "observer/clock", "observer/event", "observer/run"}, "what an analysis is, and what all share, is known without any of them"},
	{"analysis/deadlock", []string{"analysis/deadlock/*", "analysis/finding", "analysis/finding/reason", "analysis/locks", "analysis/part", "analysis/predict", "analysis/verdict", "observer/event", "observer/run"}, "a part knows no other part, no report and no file"},
	{"analysis/race", []string{"analysis/race/*", "analysis/finding", "analysis/finding/reason", "analysis/happensbefore", "analysis/locks", "analysis/part", "analysis/predict", "observer/event", "observer/run"}, "a part knows no other part, no report and no file"},
	{"analysis/hang", []string{"analysis/finding", "analysis/finding/reason", "analysis/part", "observer/event"}, "a part knows no other part, no report and no file"},
	{"analysis/missed", []string{"analysis/finding", "analysis/finding/reason", "analysis/part", "observer/event", "observer/run"}, "a part knows no other part, no report and no file"},
	{"analysis/misuse", []string{"analysis/finding", "analysis/finding/reason", "analysis/locks", "analysis/part", "observer/event"}, "a part knows no other part, no report and no file"},
	{"analysis/engine", []string{"analysis/bind", "analysis/calls", "analysis/deadlock", "analysis/deadlock/goodlock", "analysis/depend", "analysis/execution", "analysis/finding", "analysis/hang", "analysis/happensbefore", "analysis/locks", "analysis/missed", "analysis/misuse", "analysis/part", "analysis/predict", "analysis/race", "analysis/report", "analysis/stats", "analysis/verdict", "observer/clock", "observer/event", "observer/run"}, "the engine knows the parts, and takes events: no BPF, no ring buffer, no ELF file"},
	{"analysis/monitor/*", []string{"analysis/monitor/decision"}, "formulas, expressions and decision diagrams know propositions by number"},
	{"analysis/monitor", []string{"analysis/monitor/*"}, "a monitor reads letters and knows no events"},
	{"analysis/objects", []string{"analysis/completion", "analysis/finding", "observer/event", "observer/causality", "observer/lattice"}, "slices of objects, whatever is checked on them"},
	{"analysis/typestate", []string{"analysis/completion", "analysis/finding", "analysis/finding/reason", "analysis/locks", "analysis/objects", "observer/event", "observer/causality", "observer/lattice"}, "protocols are checked on the lattices of objects; who calls it completes witnesses"},
	{"analysis/knowledge", []string{"analysis/finding", "analysis/finding/reason", "observer/event", "observer/order"}, "what threads know of each other follows from events, whatever a formula is written in"},
	{"analysis/scope", []string{"analysis/finding", "analysis/monitor", "observer/causality", "observer/event"}, "scopes are monitored on events, and know no specification"},
	{"analysis/completion", []string{"analysis/execution", "analysis/finding", "analysis/kept", "observer/event", "observer/causality", "observer/lattice"}, "witnesses of a lattice become schedules that the checker accepts"},
	{"analysis/property", []string{"analysis/completion", "analysis/execution", "analysis/finding", "analysis/finding/reason", "analysis/kept", "analysis/monitor", "analysis/objects", "analysis/stats", "observer/event", "observer/causality", "observer/lattice"}, "properties are checked on the lattice, their witnesses by the checker of executions"},
	{"analysis/deadlock/*", []string{"analysis/finding", "analysis/finding/reason", "analysis/locks", "observer/event", "observer/run", "observer/order"}, "what a part is made of takes events: no BPF, no ring buffer, no ELF file"},
	{"analysis/race/*", []string{"analysis/finding", "analysis/finding/reason", "analysis/locks", "observer/event", "observer/run", "observer/order"}, "what a part is made of takes events: no BPF, no ring buffer, no ELF file"},
	{"analysis/*", []string{"analysis/finding", "analysis/locks", "observer/event", "observer/run", "observer/order"}, "analyses take events: no BPF, no ring buffer, no ELF file"},
	{"cmd/*", []string{"*", "*/*", "*/*/*"}, "the command wires all"},
	{"cmd/*/*", []string{"*", "*/*", "*/*/*"}, "the command wires all"},
	{"examples", nil, "the examples stand alone"},
	{"specs", nil, "specifications that come with the tool are text"},
	{".", nil, "the tests of the tree read files"},
}

// everywhere are the packages that all may import.
var everywhere = []string{"internal/oldest", "internal/plural", "internal/printable", "internal/safely"}

// stories rank the folders for tests, which may use whatever is not above
// them.
var stories = []string{"internal", "specs", "bpf", "probes", "loader", "observer", "analysis", "cmd"}

func TestImportsPointDownwards(t *testing.T) {
	for _, p := range listPackages(t) {
		name := local(p.ImportPath)
		own, ok := floorOf(name)
		if !ok {
			t.Errorf("%s: no floor is its own; give it a row in floors", name)
			continue
		}
		for _, i := range p.Imports {
			if isOurs(i) && !slices.Contains(everywhere, local(i)) && !matchesAny(own.imports, local(i)) {
				t.Errorf("%s imports %s: %s", name, local(i), own.why)
			}
		}
		for _, i := range append(p.TestImports, p.XTestImports...) {
			if isOurs(i) && story(local(i)) > story(name) {
				t.Errorf("a test of %s imports %s, which is above it", name, local(i))
			}
		}
	}
}

func TestFloorsTellApart(t *testing.T) {
	for _, c := range []struct {
		from, to string
		allowed  bool
	}{
		{"observer/event", "observer/clock", false},
		{"analysis/race/eraser", "observer/event", true},
		{"analysis/race/eraser", "bpf", false},
		{"analysis/predict", "probes/elf", false},
		{"analysis/newcomer", "loader", false},
		{"probes/insn", "probes/elf", false},
		{"probes/elf", "probes/insn", true},
		{"probes", "loader", false},
		{"loader", "observer", false},
		{"loader", "cmd/tracepredict", false},
		{"observer", "analysis/finding", false},
		{"analysis/report", "analysis/report/text", false},
		{"analysis/report/text", "analysis/report", true},
		{"analysis/report/text", "analysis/report/json", false},
		{"analysis/report/format", "analysis/report/text", true},
		{"cmd/tracepredict", "analysis/report", true},
	} {
		own, ok := floorOf(c.from)
		if !ok {
			t.Fatalf("%s has no floor", c.from)
		}
		if got := matchesAny(own.imports, c.to); got != c.allowed {
			t.Errorf("%s imports %s: allowed %v, want %v", c.from, c.to, got, c.allowed)
		}
	}
	if own, ok := floorOf("attic/box"); ok {
		t.Errorf("attic/box is on the floor %s", own.packages)
	}
}

type listed struct {
	ImportPath                         string
	Imports, TestImports, XTestImports []string
}

func listPackages(t *testing.T) []listed {
	t.Helper()
	cmd := exec.Command("go", "list", "-pgo=off", "-json=ImportPath,Imports,TestImports,XTestImports", "./...")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, &stderr)
	}
	var all []listed
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("go list: %v", err)
		}
		all = append(all, p)
	}
	if len(all) < len(stories) {
		t.Fatalf("go list gave %d packages", len(all))
	}
	return all
}

func isOurs(importPath string) bool {
	return importPath == module || strings.HasPrefix(importPath, module+"/")
}

func local(importPath string) string {
	if importPath == module {
		return "."
	}
	return strings.TrimPrefix(importPath, module+"/")
}

func floorOf(name string) (floor, bool) {
	for _, f := range floors {
		if matchesAny([]string{f.packages}, name) {
			return f, true
		}
	}
	return floor{}, false
}

func matchesAny(patterns []string, name string) bool {
	for _, p := range patterns {
		ok, err := path.Match(p, name)
		if err != nil {
			panic(fmt.Sprintf("pattern %q: %v", p, err))
		}
		if ok {
			return true
		}
	}
	return false
}

func story(name string) int {
	top, _, _ := strings.Cut(name, "/")
	for i, s := range stories {
		if s == top {
			return i
		}
	}
	return len(stories)
}
