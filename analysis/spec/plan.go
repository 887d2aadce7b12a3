package spec

import (
	"slices"
	"strings"

	"github.com/tracepredict/tracepredict/analysis/spec/syntax"
)

// Plan lists what has to be probed for a specification.
type Plan struct {
	Watch []int    // indices in Spec.Vars: their Path is what --watch takes
	On    []string // patterns of functions, as --on takes them, each once
	// Groups has, by On, the name of an installed specification, which names functions that not every version of a library
	// has: one function of a group is enough. "" is a pattern that must match by itself.
	Groups []string
	// Syncs are the indices in Spec.Syncs of the locks, conditions, semaphores and barriers that
	// events mention. Their calls are observed with any specification.
	Syncs []int
	// Threads are the indices in Spec.Threads of the types of threads that events mention.
	Threads []int
}

// Plan returns what has to be probed for the properties and checks of a specification.
// Declarations that none of them uses are left out.
func (s *Spec) Plan() Plan {
	var p Plan
	for i, v := range s.Vars {
		if v.Used {
			p.Watch = append(p.Watch, i)
		}
	}
	seen := map[string]bool{}
	for _, e := range s.Events {
		if e.Used && e.On != "" && !seen[e.On] {
			seen[e.On] = true
			p.On = append(p.On, e.On)
			p.Groups = append(p.Groups, s.group(&e))
		}
	}
	for i, l := range s.Syncs {
		if l.Used {
			p.Syncs = append(p.Syncs, i)
		}
	}
	for i, t := range s.Threads {
		if t.Used {
			p.Threads = append(p.Threads, i)
		}
	}
	return p
}

// group returns the name of the installed specification that declares an event; "" if none does.
func (s *Spec) group(e *Event) string {
	if !s.installed[e.Span.Src] {
		return ""
	}
	return strings.TrimSuffix(e.Span.Src.Name, extension)
}

// Paths returns the paths of the variables to watch, as --watch takes them.
func (s *Spec) Paths() []string {
	var out []string
	for _, i := range s.Plan().Watch {
		out = append(out, s.Vars[i].Path)
	}
	return out
}

// Objects returns the paths of the locks, conditions, semaphores and barriers that events
// mention, each once.
func (s *Spec) Objects() []string {
	var out []string
	for _, i := range s.Plan().Syncs {
		if l := s.Syncs[i]; l.Class == "" && !slices.Contains(out, l.Path) {
			out = append(out, l.Path)
		}
	}
	return out
}

// Requests reports whether the specification requests an analysis: races, deadlocks or misuse.
func (s *Spec) Requests(analysis string) bool {
	for _, c := range s.Checks {
		if c.Analysis == analysis {
			return true
		}
	}
	return false
}

// String returns how the thread type was declared. For NthOf it has no details.
func (t *Thread) String() string {
	switch t.Kind {
	case syntax.ByStart:
		return "start " + t.Text
	case syntax.ByName:
		return "name " + t.Text
	case syntax.MainThread:
		return "main"
	}
	return "one of a type"
}
