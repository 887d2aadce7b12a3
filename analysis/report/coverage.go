package report

import (
	"fmt"
	"strings"

	"github.com/tracepredict/tracepredict/internal/plural"
	"github.com/tracepredict/tracepredict/observer/event"
)

// Coverage says what was looked for in a run, and what was not, so that "no findings" is not
// taken for more than it is.
type Coverage struct {
	// Objects are the synchronisation objects that were used, by kind, in the order of kinds.
	Objects []KindCount `json:"-"`
	// Variables and Fields are those in which races were looked for: at least one
	// access was recorded that is not atomic. Each element of an array counts, and the field of
	// each object.
	Variables uint64 `json:"variables"`
	Fields    uint64 `json:"fields"`
	// Misuse reports that misuse was looked for.
	Misuse bool `json:"misuse"`

	LookedFor    []string `json:"looked_for"`
	NotLookedFor []string `json:"not_looked_for"`
	// NotPredicted says why nothing could be predicted from the run, and what to do; "" if
	// something could have been.
	NotPredicted string `json:"nothing_predicted,omitempty"`
}

// KindCount is a number of objects of one kind.
type KindCount struct {
	Kind  event.Kind
	Count uint64
}

// AddCoverage sets Coverage, with the sentences for it. The other parts of the run are already
// set.
func (r *Run) AddCoverage(c Coverage) {
	c.LookedFor, c.NotLookedFor = nil, nil
	r.coverRaces(&c)
	r.coverDeadlocks(&c)
	if c.Misuse && len(c.Objects) > 0 {
		c.LookedFor = append(c.LookedFor, "misuse of these")
	}
	if r.specified() {
		c.LookedFor = append(c.LookedFor, fmt.Sprintf("violations of %s", strings.Join(r.Properties.Names, ", ")))
	}
	c.NotPredicted = r.notPredicted(&c)
	r.Coverage = &c
}

// specified reports whether a specification was checked, whose variables are not among those in which races are looked for.
func (r *Run) specified() bool { return r.Properties != nil && len(r.Properties.Names) > 0 }

// coverRaces adds the sentence on races.
func (r *Run) coverRaces(c *Coverage) {
	var in []string
	if c.Variables > 0 {
		in = append(in, plural.Counted(c.Variables, "variable", "variables"))
	}
	if c.Fields > 0 {
		in = append(in, plural.Counted(c.Fields, "field of an object", "fields of objects"))
	}
	switch {
	case len(in) > 0:
		text := "races in " + strings.Join(in, " and ")
		if n := r.Untouched; n > 0 {
			text += plural.Sprintf(" (%d more {was|were} watched and never accessed)", n)
		}
		c.LookedFor = append(c.LookedFor, text)
	case r.Pointers != nil:
		c.LookedFor = append(c.LookedFor, "races in memory that threads reach through pointers: no two of them reached the same")
	case r.Untouched+len(r.Watched) > 0:
		c.NotLookedFor = append(c.NotLookedFor, "races, since no access of a watched variable was seen")
	case len(r.NeverAccessed) == 0 && r.specified():
		c.NotLookedFor = append(c.NotLookedFor, "races, since neither a specification (check races) nor --watch asked for those of a variable")
	case len(r.NeverAccessed) == 0:
		c.NotLookedFor = append(c.NotLookedFor, "races, since no variable was watched (--watch NAME; --watch-shared finds those that threads share)")
	}
	if len(in) > 0 && len(r.Processes) > 1 {
		c.NotLookedFor = append(c.NotLookedFor, "races between processes, since variables are not followed from one process to another")
	}
	if n := len(r.NeverAccessed); n > 0 {
		names, more := r.NeverAccessed, ""
		if n > maxNamed {
			names, more = names[:maxNamed], fmt.Sprintf(" and %d more", n-maxNamed)
		}
		c.NotLookedFor = append(c.NotLookedFor, fmt.Sprintf("races in %s%s, of which no access was seen", strings.Join(names, ", "), more))
	}
}

// kindForms are the names, in singular and plural, of the kinds of objects at which threads can wait for each other.
var kindForms = map[event.Kind][2]string{
	event.KindMutex: {"mutex", "mutexes"}, event.KindRWLock: {"read-write lock", "read-write locks"}, event.KindSpin: {"spin lock", "spin locks"},
	event.KindCond: {"condition", "conditions"}, event.KindBarrier: {"barrier", "barriers"}, event.KindSemaphore: {"semaphore", "semaphores"},
	event.KindOnce: {"once", "onces"},
}

// coverDeadlocks adds the sentence on deadlocks.
func (r *Run) coverDeadlocks(c *Coverage) {
	var among []string
	for _, k := range c.Objects {
		if forms, ok := kindForms[k.Kind]; ok {
			among = append(among, plural.Counted(k.Count, forms[0], forms[1]))
		}
	}
	if len(among) == 0 {
		c.NotLookedFor = append(c.NotLookedFor, "deadlocks, since no lock or other object of docs/sync-table.md was used (--sync FILE describes other ones)")
		return
	}
	text := "deadlocks of " + plural.Enumerated(among)
	if r.Locks != nil && r.Locks.Edges == 0 {
		text += " (no thread requested a lock while it held another)"
	}
	c.LookedFor = append(c.LookedFor, text)
}

// notPredicted returns Coverage.NotPredicted.
func (r *Run) notPredicted(c *Coverage) string {
	switch {
	case r.Events == 0:
		return "nothing that is observed was done: observe for longer, or while there is work"
	case r.Threads <= 1:
		return "only one thread ran: observe a run in which several threads work"
	case r.Threads <= len(r.Processes) && (r.Locks == nil || r.Locks.Edges == 0):
		return "each process ran one thread only, and variables are not followed from one process to another: observe a run in which a process has several threads"
	case r.specified(): // what a specification mentions was observed
		return ""
	case len(c.Objects) == 0 && c.Variables+c.Fields == 0 && r.Pointers != nil:
		return "nothing that threads share was seen"
	case len(c.Objects) == 0 && c.Variables+c.Fields == 0:
		return "nothing that threads share was observed: --watch-shared finds variables"
	}
	return ""
}
