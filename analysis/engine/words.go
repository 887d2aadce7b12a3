package engine

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tracepredict/tracepredict/internal/plural"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

// LockWords are the variables that a run used as locks; see package lockword.
type LockWords interface {
	Locks() map[event.ObjectID]bool
	// Lock returns the call stack of the store that initialised such a variable; 0 if there is none.
	Lock(event.ObjectID) (initialised event.StackID, ok bool)
}

// lockNames are the names of a run in which some variables are locks.
type lockNames struct {
	run.Namer
	words LockWords
}

// NamesOf returns the names of a run in which some variables are locks. Words may be nil.
func NamesOf(names run.Namer, words LockWords) run.Namer {
	if words == nil || len(words.Locks()) == 0 {
		return names
	}
	return lockNames{names, words}
}

// Object implements run.Namer.
func (n lockNames) Object(id event.ObjectID) run.Object {
	o := n.Namer.Object(id)
	if at, ok := n.words.Lock(id); ok {
		o.Kind, o.Init = event.KindSpin, cmp.Or(at, o.Init)
	}
	return o
}

// maxNamedWords bounds the locks that a note names.
const maxNamedWords = 8

// lockNotes returns a note that names the variables that a run used as locks, if there are some. Words may be nil.
func lockNotes(words LockWords, names run.Namer) []string {
	if words == nil || len(words.Locks()) == 0 {
		return nil
	}
	counts := map[string]int{}
	for _, id := range slices.Sorted(maps.Keys(words.Locks())) {
		o := names.Object(id)
		counts[cmp.Or(o.Name, o.Member, fmt.Sprintf("%#x", o.Addr))]++
	}
	all := slices.Sorted(maps.Keys(counts))
	more := ""
	if n := len(all) - maxNamedWords; n > 0 {
		all, more = all[:maxNamedWords], fmt.Sprintf(", and %d more", n)
	}
	return []string{plural.Sprintf("%d {variable is|variables are} used as {a lock|locks}, by atomic instructions of the program's own: %s%s", len(words.Locks()), strings.Join(all, ", "), more)}
}
