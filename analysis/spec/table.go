package spec

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tracepredict/tracepredict/analysis/spec/syntax"
)

// nameKind is the kind of declaration of a name.
type nameKind uint8

const (
	kindNone nameKind = iota
	kindVar
	kindSync
	kindThread
	kindEvent
	kindProp
	kindLocal
)

var kindNames = [...]string{"nothing", "a variable", "a lock, cond, sem or barrier", "a thread type", "an event", "a proposition", "a local variable"}

// entry is a declared name.
type entry struct {
	kind  nameKind
	index int         // in the Spec's list of that kind
	span  syntax.Span // of the name
	path  string      // what it stands for in the program, for suggestions
}

// table holds the declared names. The name of a lock that was declared by a path in quotes
// begins with %.
type table struct {
	entries map[string]entry
	order   []string // in the order of declaration
}

func newTable() *table { return &table{entries: map[string]entry{}} }

// add declares a name. If it is declared already, add returns its earlier declaration and
// false.
func (t *table) add(name string, e entry) (before entry, ok bool) {
	if old, dup := t.entries[name]; dup {
		return old, false
	}
	t.entries[name] = e
	t.order = append(t.order, name)
	return e, true
}

// near returns a suggestion for an unknown name, among the names of some kinds: a name of
// similar spelling, or one whose path in the program contains it. It returns "" if there is
// none.
func (t *table) near(name string, kinds ...nameKind) string {
	var names []string
	for _, n := range t.order {
		if slices.Contains(kinds, t.entries[n].kind) && !strings.HasPrefix(n, "%") {
			names = append(names, n)
		}
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

// describe returns a name for a message, with its path in the program.
func (t *table) describe(name string) string {
	if path := t.entries[name].path; path != "" && path != name {
		return fmt.Sprintf("%q (%s)", name, path)
	}
	return fmt.Sprintf("%q", name)
}
