package function

import (
	"fmt"
	"iter"
	"strings"

	"github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/libname"
	"github.com/tracepredict/tracepredict/probes/spelling"
)

// NotFound reports that no file has a function that a pattern matches.
type NotFound struct {
	Pattern Pattern
	Near    []string // similar names, which the user may have meant
	// Misfit describes a function that would match if the pattern did not name more parameters than
	// it has; "" if there is none.
	Misfit string
	// Refused says why lines of the source cannot be observed, and what to do; "" if no file has them.
	Refused string
}

// Error returns the pattern and the names that the user may have meant.
func (e *NotFound) Error() string {
	if e.Pattern.Group != "" {
		return fmt.Sprintf("neither the program nor its libraries have any of the functions that %s names", e.Pattern.Group)
	}
	if e.Refused != "" {
		return fmt.Sprintf("%s:%d-%d: %s", e.Pattern.File, e.Pattern.First, e.Pattern.Last, e.Refused)
	}
	if e.Pattern.OfLines() {
		return fmt.Sprintf("%s:%d-%d: neither the program nor its libraries have debug information of code in that file: compile it with -g, or check the name", e.Pattern.File, e.Pattern.First, e.Pattern.Last)
	}
	if e.Misfit != "" {
		return fmt.Sprintf("%q names more parameters than there are: %s", e.Pattern.Text, e.Misfit)
	}
	text := fmt.Sprintf("%q matches no function of the program or its libraries", e.Pattern.Text)
	if len(e.Near) > 0 {
		text += "; did you mean " + strings.Join(e.Near, ", ") + "?"
	}
	return text
}

// maxNear is the maximum number of similar names that an error lists.
const maxNear = 5

// Near returns the function names most similar to that of a pattern, from the first file that has
// any.
func Near(files []*elf.File, p Pattern) []string {
	if p.OfLines() {
		return nil
	}
	for _, f := range files {
		near := spelling.Nearest(functionNames(f), maxNear, func(name string) int { return nameDistance(p.Name, name) })
		if len(near) > 0 {
			return near
		}
	}
	return nil
}

// functionNames returns the names of the functions in the symbol tables of f; of a run-time library,
// such as the C library, only of those that it offers to programs.
func functionNames(f *elf.File) iter.Seq[string] {
	return func(yield func(string) bool) {
		var long elf.Demangling
		runtime := libname.Runtime(f.Name())
		for _, s := range f.Symbols() {
			name, clone := splitClone(s.Name)
			if s.Kind != elf.Func || clone >= clonePart || runtime && !s.Dynamic {
				continue
			}
			if strings.HasPrefix(name, "_Z") || strings.HasPrefix(name, "_R") {
				if !long.Allows(name) {
					continue
				}
				name = spellings(name, 1)[0]
			}
			if _, last := splitLast(name); runtime && strings.HasPrefix(last, "_") {
				continue // for use by the library itself
			}
			if !yield(name) {
				return
			}
		}
	}
}

// nameDistance returns the distance between a pattern's name and a function's name: the edit
// distance of their last components, ignoring case; -1 if it is too large.
func nameDistance(want, name string) int {
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
