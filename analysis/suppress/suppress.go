// Package suppress keeps findings out of a report that someone has looked at and does
// not want to hear of again. What to leave out stands in text files, in the form that
// Valgrind's users know (docs/suppressions.md): a block has a name, the kinds of
// findings that it is for, and patterns of objects and stack frames.
//
// What goes in: files of suppressions, and findings that the report has resolved and
// merged. What comes out: the report without what they match, and how much each of them
// matched. What it never does: change what analyses find, or how findings are merged.
package suppress

import (
	"slices"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/report"
)

// Set is an ordered list of suppressions; of those that match a finding the first is
// counted. A nil Set matches nothing. It is not changed by use.
type Set struct {
	rules []*rule
	// literal has, by the first frame pattern that is a function's plain name, the rules
	// that have one: of a thousand rules few are worth trying.
	literal map[string][]int
	rest    []int // rules without
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

// kindPattern is a kind with its rule or property; kind "*" is any.
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

// New joins suppressions; earlier sets are asked first. Nil sets are empty.
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

// literal gives a function's name without which the rule cannot match.
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

// Len is how many suppressions there are.
func (s *Set) Len() int {
	if s == nil {
		return 0
	}
	return len(s.rules)
}

// Foreign counts the blocks that were left out because they are for other tools.
func (s *Set) Foreign() int {
	if s == nil {
		return 0
	}
	return s.foreign
}

// Suppresses reports whether a suppression matches the finding.
func (s *Set) Suppresses(f *report.Finding) bool { return s.match(f) >= 0 }

// Apply gives the report without the findings that suppressions match, and counts them in
// Run.Suppressions: each that is of a file, and of the built-in ones those that
// matched. A nil Set leaves the report as it is.
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

// match gives the first rule that matches, -1 if none does.
func (s *Set) match(f *report.Finding) int {
	if s.Len() == 0 {
		return -1
	}
	c := newCase(f)
	for _, i := range s.candidates(c) {
		if s.rules[i].matches(c) {
			return i
		}
	}
	return -1
}

// candidates are the rules that could match, in their order.
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
