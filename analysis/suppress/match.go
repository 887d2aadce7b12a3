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

// suspect is a finding as patterns are compared with it.
type suspect struct {
	finding   *report.Finding
	objects   []string
	sides     [][]chain           // by step of evidence
	functions map[string]struct{} // of all frames, with and without parameters
}

// chain is a calling chain, innermost first.
type chain []names

// names are what patterns see of a frame.
type names struct {
	function, bare string // with and without parameters
	module         string
	file, line     string // "", "file:12"
}

func newCase(f *report.Finding) *suspect {
	c := &suspect{finding: f, objects: f.ObjectNames(), functions: map[string]struct{}{}}
	for i := range f.Evidence {
		var chains []chain
		for _, s := range f.Evidence[i].Stacks() {
			if len(s.Frames) > 0 {
				chains = append(chains, c.chain(s))
			}
		}
		c.sides = append(c.sides, chains)
	}
	return c
}

func (c *suspect) chain(s report.Stack) chain {
	out := make(chain, 0, len(s.Frames))
	for _, f := range s.Frames {
		n := namesOf(f)
		c.functions[n.function], c.functions[n.bare] = struct{}{}, struct{}{}
		out = append(out, n)
	}
	return out
}

func namesOf(f event.Frame) names {
	n := names{function: f.Function, bare: f.Function, module: f.Module, file: f.File}
	if i := spelling.LastList(f.Function); i > 0 {
		n.bare = f.Function[:i]
	}
	if f.Function == "" && f.Module != "" {
		n.module = fmt.Sprintf("%s+%#x", f.Module, f.Offset)
	}
	if f.File != "" && f.Line > 0 {
		n.line = fmt.Sprintf("%s:%d", f.File, f.Line)
	}
	return n
}

func (r *rule) matches(c *suspect) bool {
	return slices.ContainsFunc(r.kinds, func(k kindPattern) bool { return k.matches(c.finding) }) &&
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

func (r *rule) matchesObjects(c *suspect) bool {
	for _, p := range r.object {
		if !slices.ContainsFunc(c.objects, func(name string) bool { return spelling.Glob(p, name) }) {
			return false
		}
	}
	return true
}

// matchesSides finds for each group of patterns from the n-th another side.
func (r *rule) matchesSides(c *suspect, n int, taken []bool) bool {
	if n == len(r.sides) {
		return true
	}
	for i, chains := range c.sides {
		if taken[i] || !slices.ContainsFunc(chains, func(ch chain) bool { return follow(r.sides[n], ch) }) {
			continue
		}
		taken[i] = true
		if r.matchesSides(c, n+1, taken) {
			return true
		}
		taken[i] = false
	}
	return false
}

// follow reports whether the runs of patterns match frames of the chain, one after
// the other with any number of frames before, between and behind. To take the first
// place that fits is right, since nothing later needs an earlier frame.
func follow(runs []frames, c chain) bool {
	for _, run := range runs {
		at := run.in(c)
		if at < 0 {
			return false
		}
		c = c[at+len(run):]
	}
	return true
}

func (run frames) in(c chain) int {
	for at := 0; at+len(run) <= len(c); at++ {
		if run.at(c[at:]) {
			return at
		}
	}
	return -1
}

func (run frames) at(c chain) bool {
	for i, p := range run {
		if !p.matches(&c[i]) {
			return false
		}
	}
	return true
}

func (p framePattern) matches(n *names) bool {
	switch p.what {
	case function:
		return n.function != "" && (spelling.Glob(p.pattern, n.function) || spelling.Glob(p.pattern, n.bare))
	case module:
		return pathGlob(p.pattern, n.module)
	}
	return pathGlob(p.pattern, n.file) || pathGlob(p.pattern, n.line)
}

// pathGlob matches a whole path, or, with a pattern that begins with neither a slash
// nor a star, its end from any component on.
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
