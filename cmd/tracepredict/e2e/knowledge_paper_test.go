package e2e

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// The formulas of the paper on DAME (Sen, Vardhan, Agha, Roşu), for the programs of knowledge.c.
const (
	sumFormulas = `
var y : int = y
var u : int = u
thread ys = start writes_y
thread us = start writes_u
thread adders = start adder
thread one = 1 of ys
thread two = 1 of us
thread three = 1 of adders
event added = return add
local k : int = 0 { on added : k := 1 }
mttl sum = @three (k == 1 -> u == @one (y) + @two (u))
mttl seen = @three (u > 9 -> @two (u == 9))
`
	balanceFormulas = `
var checking : int = checking
var saving : int = saving
thread auditors = start auditor
thread tellers = start teller
thread a = 1 of auditors
thread t = 1 of tellers
event looks = call calc_balance
event looked = return calc_balance
event pays = call transfer
event paid = return transfer
local atomic : int = 0 { on looks : atomic := 1; on pays : atomic := 1; on looked : atomic := 0; on paid : atomic := 0 }
mttl calc_balance = @a (atomic > 0 -> !@t @a (atomic > 0))
mttl transfer = @t (atomic > 0 -> !@a @t (atomic > 0))
check atomicity(calc_balance)
check atomicity(transfer)
`
	blockFormulas = `
var written : int = written
var answered : int = answered
thread blocks = start repeats
thread others = start answers
event enter = call block
event leave = return block
local number : int = 0 { on enter : number := number + 1 }
local atomic : int = 0 { on enter : atomic := number; on leave : atomic := 0 }
mttl boolean = forall i : blocks, j : others . @i (atomic > 0 -> !@j @i (atomic > 0))
mttl counter = forall i : blocks, j : others . @i (atomic > 0 -> !(atomic == @j @i (atomic)))
check atomicity(block)
`
	exclusionFormulas = `
var flag : int = flag
var inside : int = inside
thread visitors = start visitor
event enter = call critical
event leave = return critical
local cs : int = 0 { on enter : cs := 1; on leave : cs := 0 }
mttl exclusion = forall i : visitors, j : visitors, i != j . @i (cs > 0 -> !@j (cs > 0))
`
)

// TestPaperPrograms checks the formulas of the paper on DAME in live runs of its programs, in which threads 1, 2, 3 take
// the steps in the order given, and nothing of that order is synchronisation.
func TestPaperPrograms(t *testing.T) {
	needBPF(t)
	t.Parallel()
	transfer := []string{"atomicity(transfer)", "transfer"}
	for _, c := range []struct {
		what, program, steps, formulas string
		violated                       []string
	}{
		{"Figure 2", "sum", "3123", sumFormulas, nil},
		{"Figure 2, with another sum", "stale", "3123", sumFormulas, []string{"sum"}},
		{"Section 3, the first execution", "", "1212", balanceFormulas, nil},
		{"Section 3, the second execution", "", "2112", balanceFormulas, transfer},
		{"the first one, locked", "accounts", "1212", balanceFormulas, nil},
		{"the second one, locked", "accounts", "2112", balanceFormulas, transfer},
		{"one lock for all", "bank", "21", balanceFormulas, nil},
		{"repeated blocks", "repeated", "121", blockFormulas, []string{"boolean"}},
		{"an interrupted block", "interrupted", "1121", blockFormulas, []string{"atomicity(block)", "boolean", "counter"}},
		{"broken mutual exclusion", "flag", "1212", exclusionFormulas, []string{"exclusion"}},
		{"mutual exclusion", "mutex", "12", exclusionFormulas, nil},
	} {
		t.Run(c.what, func(t *testing.T) {
			start := func(args ...string) *child { return startSteps(t, c.steps, args...) }
			_, r := reportedBy(t, start, "exec", "--spec", specFile(t, c.formulas), "--", build(t, "gcc", "knowledge.c", "-O1", "-pthread"), c.program)
			if diff := cmp.Diff(c.violated, observedKnowledge(r)); diff != "" {
				t.Errorf("expected (-), found (+):\n%s", diff)
			}
		})
	}
}

// observedKnowledge returns the names of the formulas that a run itself violated, sorted.
func observedKnowledge(r jsonReport) (names []string) {
	for _, f := range r.Findings {
		if f.Kind == "knowledge" && f.Confidence == "observed" {
			names = append(names, f.Property)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// startSteps starts the tool with a program whose thread N takes a step for each byte that it reads from descriptor
// N + 2, and reports it. It returns when the threads have taken the steps, which are numbers of threads.
func startSteps(t *testing.T, steps string, args ...string) *child {
	t.Helper()
	needBPF(t)
	turns := make([]*os.File, 3)
	opts := childOptions{Files: make([]*os.File, len(turns))}
	for i := range turns {
		var err error
		if opts.Files[i], turns[i], err = os.Pipe(); err != nil {
			t.Fatal(err)
		}
		defer turns[i].Close()
	}
	c := startTool(t, opts, args...)
	for i, thread := range steps {
		if _, err := turns[thread-'1'].WriteString("x"); err != nil && !errors.Is(err, unix.EPIPE) { // a tool that ended early
			t.Fatal(err)
		}
		poll(t, "the next step of the program", func() bool { return strings.Count(c.out.String(), "step\n") > i || c.hasEnded() })
	}
	return c
}
