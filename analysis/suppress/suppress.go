// Package suppress omits findings from a report that someone has judged and does not want to
// see again. Text files describe them, in the format of Valgrind (docs/suppressions.md): a
// block has a name, the kinds of findings to which it applies, and patterns of objects and
// stack frames.
//
// The input is files of suppressions, and a report with resolved and merged findings. The
// output is the report without the findings that match, with the number of findings that each
// suppression matched. The package never changes what analyses find, or how findings are
// merged.
package suppress

import (
	"slices"
	"time"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/report"
)

// Set is an ordered list of suppressions; a finding counts for the first one that matches it.
// A nil Set matches nothing. Suppresses and Apply do not change a Set.
type Set struct {
	rules []*rule
	// literal has, by function name, the indices of the rules whose first function pattern
	// without wildcards is that name: of a thousand rules only a few need to be tried.
	literal       map[string][]int
	rest          []int // the indices of the rules without such a pattern
	forOtherTools int   // number of blocks for other tools
	now           time.Time
}

// At makes suppressions that have expired by a time match nothing. Without it none has.
func (s *Set) At(now time.Time) { s.now = now }

// expired reports whether a rule does not apply any more.
func (s *Set) expired(r *rule) bool {
	return !r.until.IsZero() && !s.now.IsZero() && !s.now.Before(r.until)
}

// rule is one suppression.
type rule struct {
	name        string
	file        string
	line        int  // line of the opening brace
	userDefined bool // it comes from a file of the user; false: it is built in
	kinds       []kindPattern
	object      []string   // patterns, each of which must match an object of the finding
	sides       [][]frames // groups of patterns, each of which must match a different side
	fingerprint string     // its beginning; "": any
	until       time.Time  // the day after the last one on which it applies; zero: it always does
}

// kindPattern is a kind with a pattern for the name of a rule or property; the kind "*"
// matches any kind.
type kindPattern struct {
	kind      finding.Kind
	qualifier string // "": any name
}

// frames is a run of patterns that must match consecutive frames.
type frames []framePattern

// framePattern is a pattern for one of the texts of a frame.
type framePattern struct {
	field   frameField
	pattern string
}

// frameField is a text of a frame.
type frameField uint8

const (
	function frameField = iota
	module
	source
)

// New returns a Set of the suppressions of all sets; those of earlier sets are tried first. A
// nil Set is empty.
func New(sets ...*Set) *Set {
	all := &Set{literal: map[string][]int{}}
	for _, s := range sets {
		if s == nil {
			continue
		}
		all.forOtherTools += s.forOtherTools
		for _, r := range s.rules {
			all.add(r)
		}
	}
	return all
}

func (s *Set) add(r *rule) {
	n := len(s.rules)
	s.rules = append(s.rules, r)
	if name, ok := r.literal(); ok {
		s.literal[name] = append(s.literal[name], n)
	} else {
		s.rest = append(s.rest, n)
	}
}

// literal returns the name of a function that a finding must have for the rule to match;
// false if no pattern shows one.
func (r *rule) literal() (string, bool) {
	for _, side := range r.sides {
		for _, run := range side {
			for _, p := range run {
				if p.field == function && isLiteral(p.pattern) {
					return p.pattern, true
				}
			}
		}
	}
	return "", false
}

// Len returns the number of suppressions.
func (s *Set) Len() int {
	if s == nil {
		return 0
	}
	return len(s.rules)
}

// ForOtherTools returns the number of blocks that were ignored because they are for other tools.
func (s *Set) ForOtherTools() int {
	if s == nil {
		return 0
	}
	return s.forOtherTools
}

// Suppresses reports whether a suppression matches the finding.
func (s *Set) Suppresses(f *report.Finding) bool { return s.match(f) >= 0 }

// Apply returns the report without the findings that suppressions match. Run.Suppressions
// counts these for each suppression of a file, and for each built-in one that matched any. A
// nil Set leaves the report unchanged.
func (s *Set) Apply(rep report.Report) report.Report {
	if s == nil {
		return rep
	}
	used := make([]report.Suppression, len(s.rules))
	kept := make([]report.Finding, 0, len(rep.Findings))
	for i := range rep.Findings {
		f := &rep.Findings[i]
		n := s.match(f)
		if n < 0 {
			kept = append(kept, *f)
			continue
		}
		if used[n].Findings == nil {
			used[n].Findings = map[finding.Confidence]int{}
		}
		used[n].Findings[f.Confidence]++
		used[n].Count += f.Count
	}
	rep.Findings = kept
	rep.Run.Suppressions = &report.Suppressions{ForOtherTools: s.forOtherTools}
	for i, r := range s.rules {
		if r.userDefined || used[i].Count > 0 {
			used[i].Name, used[i].File, used[i].Line, used[i].Expired = r.name, r.file, r.line, s.expired(r)
			rep.Run.Suppressions.Each = append(rep.Run.Suppressions.Each, used[i])
		}
	}
	return rep
}

// match returns the index of the first rule that matches, -1 if none does.
func (s *Set) match(f *report.Finding) int {
	if s.Len() == 0 {
		return -1
	}
	c := subjectOf(f)
	for _, i := range s.candidates(c) {
		if r := s.rules[i]; !s.expired(r) && r.matches(c) {
			return i
		}
	}
	return -1
}

// candidates returns the indices of the rules that may match, in order.
func (s *Set) candidates(c *subject) []int {
	all := slices.Clone(s.rest)
	if len(s.literal) > 0 {
		for name := range c.functions {
			all = append(all, s.literal[name]...)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}
