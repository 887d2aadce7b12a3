package spec

import (
	"fmt"
	"strings"

	"github.com/tracepredict/tracepredict/analysis/spec/syntax"
)

// sort is what a name stands for.
type sort uint8

const (
	noSort sort = iota
	varSort
	syncSort
	threadSort
	eventSort
	propSort
	localSort
	boundSort // what an event's pattern binds
	tidSort
)

var sortNames = [...]string{"nothing", "a variable", "a lock, cond, sem or barrier", "a thread type", "an event", "a proposition", "a local variable", "a bound value", "the thread's number"}

// entry is a declared name.
type entry struct {
	sort  sort
	index int // in the Spec's list of that sort
	span  syntax.Span
	path  string // of the program, for suggestions
}

// table holds the declared names.
type table struct {
	entries map[string]entry
	order   []string
}

func newTable() *table { return &table{entries: map[string]entry{}} }

// add declares a name, or returns its earlier declaration.
func (t *table) add(name string, e entry) (before entry, ok bool) {
	if old, dup := t.entries[name]; dup {
		return old, false
	}
	t.entries[name] = e
	t.order = append(t.order, name)
	return e, true
}

// near returns a suggestion for an unknown name, among the names of a sort: one of similar
// spelling, or one whose path in the program begins with it.
func (t *table) near(name string, sorts ...sort) string {
	var names []string
	for _, n := range t.order {
		e := t.entries[n]
		fits := len(sorts) == 0
		for _, s := range sorts {
			fits = fits || e.sort == s
		}
		if !fits || strings.HasPrefix(n, "%") {
			continue
		}
		names = append(names, n)
	}
	if n := syntax.Nearest(name, names); n != "" {
		return t.describe(n)
	}
	for _, n := range names {
		if path := t.entries[n].path; len(name) >= 3 && strings.Contains(path, name) {
			return t.describe(n)
		}
	}
	return ""
}

func (t *table) describe(name string) string {
	if path := t.entries[name].path; path != "" && path != name {
		return fmt.Sprintf("%q (%s)", name, path)
	}
	return fmt.Sprintf("%q", name)
}
