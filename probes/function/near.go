package function

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/spelling"
)

// NotFound says that no file has a function that a pattern asks for.
type NotFound struct {
	Pattern Pattern
	Near    []string // names that it may mean
	// Misfit is what a function is like that it matches, but for naming more
	// parameters than that has; "".
	Misfit string
}

// Error names the pattern, and what it may mean.
func (e *NotFound) Error() string {
	if e.Misfit != "" {
		return fmt.Sprintf("%q names more parameters than there are: %s", e.Pattern.Text, e.Misfit)
	}
	text := fmt.Sprintf("%q matches no function of the program or its libraries", e.Pattern.Text)
	if len(e.Near) > 0 {
		text += "; did you mean " + strings.Join(e.Near, ", ") + "?"
	}
	return text
}

// maxNear is how many names an error offers.
const maxNear = 5

// Near returns the names nearest to that of a pattern, those of the first file
// first.
func Near(files []*elf.File, p Pattern) []string {
	type scored struct {
		name string
		cost int
	}
	var best []scored
	seen := map[string]bool{}
	for _, f := range files {
		for name := range functionNames(f) {
			if c := unlike(p.Name, name); c >= 0 && !seen[name] {
				seen[name] = true
				best = append(best, scored{name, c})
			}
		}
		if len(best) > 0 {
			break
		}
	}
	slices.SortFunc(best, func(a, b scored) int { return cmp.Or(cmp.Compare(a.cost, b.cost), cmp.Compare(a.name, b.name)) })
	var out []string
	for _, s := range best[:min(len(best), maxNear)] {
		out = append(out, s.name)
	}
	return out
}

// functionNames returns the names that the symbols of f give to functions.
func functionNames(f *elf.File) iter.Seq[string] {
	return func(yield func(string) bool) {
		var long elf.Demangling
		for _, s := range f.Symbols() {
			name, clone := splitClone(s.Name)
			if s.Kind != elf.Func || clone >= clonePart {
				continue
			}
			if strings.HasPrefix(name, "_Z") || strings.HasPrefix(name, "_R") {
				if !long.Allows(name) {
					continue
				}
				name = forms(name, 1)[0]
			}
			if !yield(name) {
				return
			}
		}
	}
}

// unlike says how far a name is from what was written: 0 where it is the same but
// for scopes or case, then the edits of its last component; -1: too far.
func unlike(want, name string) int {
	want = strings.ToLower(strings.Trim(want, "*?"))
	_, last := splitLast(strings.ToLower(name))
	_, short := splitLast(want)
	if len(short) < 2 || len(short) > 64 || len(last) > 64 {
		return -1
	}
	limit := 1 + len(short)/4
	if d := spelling.Distance(short, last, limit); d <= limit {
		return d
	}
	return -1
}
