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
		if o.Kind == event.KindChannel {
			o.Kind = event.KindSemaphore
			return o
		}
		o.Kind, o.Init = event.KindSpin, cmp.Or(at, o.Init)
	}
	return o
}

// maxNamedWords bounds the locks that a note names.
const maxNamedWords = 8

// lockNotes returns notes that name the variables and the channels that a run used as locks, if there are some. Words may
// be nil.
func lockNotes(words LockWords, names run.Namer) (notes []string) {
	if words == nil {
		return nil
	}
	variables, channels := map[string]int{}, map[string]int{}
	for _, id := range slices.Sorted(maps.Keys(words.Locks())) {
		o := names.Object(id)
		counts := variables
		if o.Kind == event.KindSemaphore || o.Kind == event.KindChannel {
			counts = channels
		}
		counts[cmp.Or(o.Name, o.Member, fmt.Sprintf("%#x", o.Addr))]++
	}
	if n, all := someNames(variables); n > 0 {
		notes = append(notes, plural.Sprintf("%d {variable is|variables are} used as {a lock|locks}, by atomic instructions of the program's own: %s", n, all))
	}
	if n, all := someNames(channels); n > 0 {
		notes = append(notes, plural.Sprintf("%d {eventfd or semaphore of System V is|eventfds or semaphores of System V are} used as {a lock|locks}: %s", n, all))
	}
	return notes
}

// someNames returns how many objects there are, and the first names.
func someNames(counts map[string]int) (n int, text string) {
	for _, of := range counts {
		n += of
	}
	all := slices.Sorted(maps.Keys(counts))
	more := ""
	if n := len(all) - maxNamedWords; n > 0 {
		all, more = all[:maxNamedWords], fmt.Sprintf(", and %d more", n)
	}
	return n, strings.Join(all, ", ") + more
}
