package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// verdict is what became of one program.
type verdict struct {
	seed      uint64
	truth     truth           // of all interleavings
	reachable map[fault][]int // of the reorderings of the run, with one each
	watched   []string        // variables
	coarse    bool            // a race is found if any race on its variable is
	findings  []found
	others    int // findings that are neither races nor deadlocks
	err       error
}

// unasked reports whether an error is a race on a variable that is not watched.
func (v verdict) unasked(f fault) bool {
	variable := variableOf(f)
	return variable != "" && !slices.Contains(v.watched, variable)
}

// misled reports whether the program breaks what predictions assume: that variables which are not
// watched have no races.
func (v verdict) misled() bool {
	for f := range v.truth.faults {
		if v.unasked(f) {
			return true
		}
	}
	return false
}

// wrong returns the findings that the tool vouches for, or has confirmed, and no interleaving shows.
func (v verdict) wrong() []found {
	var out []found
	for _, f := range v.findings {
		if !v.truth.holds(f.fault) && (f.confirmed || f.level >= predicted && !v.misled()) {
			out = append(out, f)
		}
	}
	return out
}

// level returns the strongest level at which the tool reported an error.
func (v verdict) level(f fault) level {
	best := none
	for _, one := range v.findings {
		if one.fault == f || v.coarse && v.truth.holds(one.fault) && variableOf(f) != "" && variableOf(one.fault) == variableOf(f) {
			best = max(best, one.level)
		}
	}
	return best
}

// variableOf returns the variable of a race, and "" of another error.
func variableOf(f fault) string {
	words := strings.Fields(string(f))
	if len(words) < 2 || words[0] != "race" {
		return ""
	}
	return words[1]
}

// missed returns the errors that a reordering of the run reaches and that are not at least likely.
func (v verdict) missed() []fault {
	var out []fault
	for _, f := range v.truth.faults.sorted() {
		if _, ok := v.reachable[f]; ok && v.level(f) < likely && !v.unasked(f) {
			out = append(out, f)
		}
	}
	return out
}

// print writes what the tool and the enumeration do not agree on.
func (v verdict) print(w io.Writer) {
	if v.err != nil {
		fmt.Fprintf(w, "%d: %v\n", v.seed, v.err)
		return
	}
	for _, f := range v.wrong() {
		fmt.Fprintf(w, "%d: false, %v: %s: %s\n", v.seed, f.level, f.fault, f.message)
	}
	for _, f := range v.missed() {
		fmt.Fprintf(w, "%d: missed, %v: %s%s\n", v.seed, v.level(f), f, v.why(f))
	}
}

// why returns the reason of the finding that is too weak, if there is one.
func (v verdict) why(f fault) string {
	for _, one := range v.findings {
		if one.fault == f && one.reason != "" {
			return ": " + one.reason
		}
	}
	return ""
}

// totals counts over all programs, races and deadlocks apart.
type totals struct {
	programs, failed, others int
	misled                   int // programs that break what predictions assume
	kinds                    map[string]*counts
}

type counts struct {
	truth     int         // errors of all interleavings
	reachable map[int]int // those that reorderings of the runs reach, by the tool's level
	beyond    map[int]int // the other true errors, by the tool's level
	wrong     map[int]int // findings that are no errors, by level
	// Of the findings that were tried: those that are errors, how many of them were confirmed, and how many others were.
	tried, confirmed, falsely int
}

func newTotals() *totals {
	t := &totals{kinds: map[string]*counts{}}
	for _, kind := range []string{"race", "deadlock"} {
		t.kinds[kind] = &counts{reachable: map[int]int{}, beyond: map[int]int{}, wrong: map[int]int{}}
	}
	return t
}

func (t *totals) of(f fault) *counts {
	kind, _, _ := strings.Cut(string(f), " ")
	return t.kinds[kind]
}

func (t *totals) add(v verdict) {
	if v.err != nil {
		t.failed++
		return
	}
	t.programs++
	t.others += v.others
	if v.misled() {
		t.misled++
	}
	for f := range v.truth.faults {
		if v.unasked(f) {
			continue
		}
		c := t.of(f)
		c.truth++
		if _, ok := v.reachable[f]; ok {
			c.reachable[int(v.level(f))]++
		} else {
			c.beyond[int(v.level(f))]++
		}
	}
	for _, f := range v.findings {
		if !v.truth.holds(f.fault) && !v.misled() {
			t.of(f.fault).wrong[int(f.level)]++
		}
		t.of(f.fault).addTried(f, v.truth.holds(f.fault))
	}
}

// addTried counts what came of running the program again for a finding.
func (c *counts) addTried(f found, holds bool) {
	switch {
	case !f.tried:
	case !holds && f.confirmed:
		c.falsely++
	case holds:
		c.tried++
		if f.confirmed {
			c.confirmed++
		}
	}
}

// least is the share of the reachable errors that have to be at least likely.
const least = 0.95

// print writes the totals, and returns an error if they are not what is asked for.
func (t *totals) print(w io.Writer) error {
	fmt.Fprintf(w, "%d programs, %d that could not be judged; findings of other kinds: %d\n", t.programs, t.failed, t.others)
	if t.misled > 0 {
		fmt.Fprintf(w, "%d of them have races on variables that are not watched: what is said of them is not judged\n", t.misled)
	}
	wrong, all, shown := 0, 0, 0
	for _, kind := range []string{"race", "deadlock"} {
		c := t.kinds[kind]
		fmt.Fprintf(w, "%ss: %d in all interleavings\n", kind, c.truth)
		fmt.Fprintf(w, "  of reorderings of the run: %s\n", byLevel(c.reachable))
		fmt.Fprintf(w, "  of other schedules:        %s\n", byLevel(c.beyond))
		fmt.Fprintf(w, "  false:                     %s\n", byLevel(c.wrong))
		for l := range levels {
			all += c.reachable[l]
			if level(l) >= likely {
				shown += c.reachable[l]
			}
			if level(l) >= predicted {
				wrong += c.wrong[l]
			}
		}
	}
	fmt.Fprintf(w, "false and at least predicted: %d; at least likely of what reorderings of the run reach: %d of %d", wrong, shown, all)
	if all > 0 {
		fmt.Fprintf(w, " (%.1f %%)", 100*float64(shown)/float64(all))
	}
	fmt.Fprintln(w)
	falsely := 0
	for _, kind := range []string{"race", "deadlock"} {
		if c := t.kinds[kind]; c.tried+c.falsely > 0 {
			fmt.Fprintf(w, "%ss that were tried: %d of %d confirmed, and %d that are false\n", kind, c.confirmed, c.tried, c.falsely)
			falsely += c.falsely
		}
	}
	switch {
	case falsely > 0:
		return fmt.Errorf("%d findings were confirmed and are false", falsely)
	case t.programs == 0:
		return fmt.Errorf("no program could be judged")
	case wrong > 0:
		return fmt.Errorf("%d findings are false", wrong)
	case float64(shown) < least*float64(all):
		return fmt.Errorf("fewer than %.0f %% of the errors were found", 100*least)
	}
	return nil
}

func byLevel(counts map[int]int) string {
	sum := 0
	var parts []string
	for l := len(levels) - 1; l >= 0; l-- {
		if counts[l] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", counts[l], levels[l]))
		}
		sum += counts[l]
	}
	if sum == 0 {
		return "0"
	}
	return fmt.Sprintf("%d: %s", sum, strings.Join(parts, ", "))
}
