package suppress

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/report"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/probes/spelling"
)

// subject is a finding in the form that patterns are compared with.
type subject struct {
	finding   *report.Finding
	objects   []string
	sides     [][]stack           // the stacks of each step of evidence
	functions map[string]struct{} // of all frames, with and without parameters
}

// stack is a call stack, innermost frame first.
type stack []names

// names are the texts of a frame that patterns match.
type names struct {
	function, withoutParams string // with and without parameters
	module                  string // path; "path+0x…" if the function is unknown
	file, line              string // path and "path:12"; "" if unknown
}

func subjectOf(f *report.Finding) *subject {
	c := &subject{finding: f, objects: f.ObjectNames(), functions: map[string]struct{}{}}
	for i := range f.Evidence {
		var stacks []stack
		for _, s := range f.Evidence[i].Stacks() {
			if len(s.Frames) > 0 {
				stacks = append(stacks, c.stack(s))
			}
		}
		c.sides = append(c.sides, stacks)
	}
	return c
}

func (c *subject) stack(s report.Stack) stack {
	out := make(stack, 0, len(s.Frames))
	for _, f := range s.Frames {
		n := namesOf(f)
		c.functions[n.function], c.functions[n.withoutParams] = struct{}{}, struct{}{}
		out = append(out, n)
	}
	return out
}

func namesOf(f event.Frame) names {
	n := names{function: f.Function, withoutParams: f.Function, module: f.Module, file: f.File}
	if i := spelling.LastList(f.Function); i > 0 {
		n.withoutParams = f.Function[:i]
	}
	if f.Function == "" && f.Module != "" {
		n.module = fmt.Sprintf("%s+%#x", f.Module, f.Offset)
	}
	if f.File != "" && f.Line > 0 {
		n.line = fmt.Sprintf("%s:%d", f.File, f.Line)
	}
	return n
}

func (r *rule) matches(c *subject) bool {
	return strings.HasPrefix(c.finding.Fingerprint, r.fingerprint) && slices.ContainsFunc(r.kinds, func(k kindPattern) bool { return k.matches(c.finding) }) &&
		r.matchesObjects(c) && r.matchesSides(c, 0, make([]bool, len(c.sides)))
}

func (k kindPattern) matches(f *report.Finding) bool {
	if k.kind != "*" && k.kind != f.Kind {
		return false
	}
	if k.qualifier == "" {
		return true
	}
	if f.Kind == finding.Misuse {
		return spelling.Glob(k.qualifier, string(f.Rule))
	}
	return spelling.Glob(k.qualifier, f.Property)
}

func (r *rule) matchesObjects(c *subject) bool {
	for _, p := range r.object {
		if !slices.ContainsFunc(c.objects, func(name string) bool { return spelling.Glob(p, name) }) {
			return false
		}
	}
	return true
}

// matchesSides reports whether the groups of patterns from the n-th on can be assigned to
// different sides that they match and that are not used.
func (r *rule) matchesSides(c *subject, n int, used []bool) bool {
	if n == len(r.sides) {
		return true
	}
	for i, stacks := range c.sides {
		if used[i] || !slices.ContainsFunc(stacks, func(s stack) bool { return matchesStack(r.sides[n], s) }) {
			continue
		}
		used[i] = true
		if r.matchesSides(c, n+1, used) {
			return true
		}
		used[i] = false
	}
	return false
}

// matchesStack reports whether the runs of patterns match frames of the stack, one run after the
// other, with any number of frames before, between and after them. It uses the first match of
// each run: that leaves the most frames for the later runs.
func matchesStack(runs []frames, c stack) bool {
	for _, run := range runs {
		at := run.find(c)
		if at < 0 {
			return false
		}
		c = c[at+len(run):]
	}
	return true
}

func (run frames) find(c stack) int {
	for at := 0; at+len(run) <= len(c); at++ {
		if run.matchesAt(c[at:]) {
			return at
		}
	}
	return -1
}

func (run frames) matchesAt(c stack) bool {
	for i, p := range run {
		if !p.matches(&c[i]) {
			return false
		}
	}
	return true
}

func (p framePattern) matches(n *names) bool {
	switch p.field {
	case function:
		return n.function != "" && (spelling.Glob(p.pattern, n.function) || spelling.Glob(p.pattern, n.withoutParams))
	case module:
		return pathGlob(p.pattern, n.module)
	}
	return pathGlob(p.pattern, n.file) || pathGlob(p.pattern, n.line)
}

// pathGlob matches a whole path. A pattern that begins with neither a slash nor a star also
// matches the end of a path, from the beginning of any component.
func pathGlob(pattern, path string) bool {
	if path == "" {
		return false
	}
	if spelling.Glob(pattern, path) {
		return true
	}
	if strings.HasPrefix(pattern, "/") || strings.HasPrefix(pattern, "*") {
		return false
	}
	for i := range len(path) {
		if path[i] == '/' && spelling.Glob(pattern, path[i+1:]) {
			return true
		}
	}
	return false
}

func isLiteral(pattern string) bool { return !strings.ContainsAny(pattern, "*?") }
