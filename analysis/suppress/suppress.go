// Package suppress leaves findings out of a report that someone has judged and does not want
// to see again. What to leave out is written in text files, in the form that Valgrind's users
// know (docs/suppressions.md): a block has a name, the kinds of findings that it is for, and
// patterns of objects and stack frames.
//
// Files of suppressions go in, and findings that the report has resolved and merged. The
// report without the findings that they match comes out, with the number of findings that each
// suppression matched. The package never changes what analyses find, or how findings are
// merged.
package suppress

import (
	"slices"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/report"
)

// Set is an ordered list of suppressions; a finding counts for the first one that matches it.
// A nil Set matches nothing. Use does not change it.
type Set struct {
	rules []*rule
	// literal has, by function name, the rules whose first frame pattern is that name without
	// wildcards: of a thousand rules only a few need to be tried.
	literal map[string][]int
	rest    []int // the other rules
	foreign int
}

// rule is one suppression.
type rule struct {
	name   string
	file   string
	line   int // of the opening brace
	own    bool
	kinds  []kindPattern
	object []string   // each matches an object of the finding
	sides  [][]frames // each matches another side
}

// kindPattern is a kind with the name of a rule or property; kind "*" is any kind.
type kindPattern struct {
	kind      finding.Kind
	qualifier string // "" is any
}

// frames are patterns of frames that follow each other without a gap.
type frames []framePattern

type framePattern struct {
	what    what
	pattern string
}

type what uint8

const (
	function what = iota
	module
	source
)

// New joins suppressions; those of earlier sets are tried first. Nil sets are empty.
func New(sets ...*Set) *Set {
	all := &Set{literal: map[string][]int{}}
	for _, s := range sets {
		if s == nil {
			continue
		}
		all.foreign += s.foreign
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

// literal returns the name of a function without which the rule cannot match.
func (r *rule) literal() (string, bool) {
	for _, side := range r.sides {
		for _, run := range side {
			for _, p := range run {
				if p.what == function && isLiteral(p.pattern) {
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

// Foreign returns the number of blocks that were left out because they are for other tools.
func (s *Set) Foreign() int {
	if s == nil {
		return 0
	}
	return s.foreign
}

// Suppresses reports whether a suppression matches the finding.
func (s *Set) Suppresses(f *report.Finding) bool { return s.match(f) >= 0 }

// Apply returns the report without the findings that suppressions match, and counts them in
// Run.Suppressions: under each suppression of a file, and under those built-in ones that
// matched. A nil Set leaves the report unchanged.
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
	rep.Run.Suppressions = &report.Suppressions{Foreign: s.foreign}
	for i, r := range s.rules {
		if r.own || used[i].Count > 0 {
			used[i].Name, used[i].File, used[i].Line = r.name, r.file, r.line
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
	c := suspectOf(f)
	for _, i := range s.candidates(c) {
		if s.rules[i].matches(c) {
			return i
		}
	}
	return -1
}

// candidates returns the rules that could match, in their order.
func (s *Set) candidates(c *suspect) []int {
	all := slices.Clone(s.rest)
	if len(s.literal) > 0 {
		for name := range c.functions {
			all = append(all, s.literal[name]...)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}
