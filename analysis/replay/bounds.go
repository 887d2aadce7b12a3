package replay

import (
	"github.com/tracepredict/tracepredict/analysis/suite"
	"github.com/tracepredict/tracepredict/internal/plural"
	"github.com/tracepredict/tracepredict/observer/run"
)

// bounds returns how much of the run the predictions kept, and notes on what was
// discarded.
func bounds(s *suite.Suite) (*run.Bounds, []string) {
	b := s.Bounds()
	var notes []string
	say := func(format string, args ...any) { notes = append(notes, plural.Sprintf(format, args...)) }
	if b.EvictedSections+b.EvictedEvents > 0 {
		say("%d critical {section|sections} and %d {event|events} of the run were forgotten to bound memory: an error whose schedule needs them may be missed, or have none to show (a larger --history than %d keeps more)", b.EvictedSections, b.EvictedEvents, b.Sections)
	}
	if b.MemoryFull > 0 {
		say("memory was full %d {time|times}: the oldest of what was kept of the run was forgotten, and %d {event is|events are} kept since, and no lock orders beyond those that were known (a larger --memory keeps more)", b.MemoryFull, b.Events)
	}
	if b.EvictedVariables > 0 {
		say("what was known of %d {variable|variables} was forgotten then, those that were not accessed for the longest time: races with {its|their} accesses before may be missed", b.EvictedVariables)
	}
	if b.EvictedLocks > 0 {
		say("of %d {lock|locks}, those that were not used for the longest time, the order of {its|their} uses was forgotten then: a later event of such a lock or variable counts as after all that was forgotten, which may hide races and deadlocks", b.EvictedLocks)
	}
	if b.EvictedAccesses > 0 {
		say("%d {access was|accesses were} forgotten by the lockset analysis, for want of room: races with {it|them} may be missed", b.EvictedAccesses)
	}
	if b.DroppedPairs > 0 {
		say("%d {race is|races are} in places beyond those that are kept of a variable", b.DroppedPairs)
	}
	if b.Unsettled > 0 {
		say("the search for schedules in which critical sections change places ended at its budget before it settled %d {candidate|candidates}: those that locks alone suspect are potential (--confidence potential shows them), and a larger --reversals may settle them", b.Unsettled)
	}
	if b.NotSearched > 0 {
		say("%d {candidate was|candidates were} not searched for schedules: %s; those that locks alone suspect are potential (--confidence potential shows them)", b.NotSearched, b.CutShortBy)
	}
	if b.NotAsked > 0 {
		say("there were too many candidates for races and deadlocks to try all of them: for %d, no schedule was searched for, or only for some pairs of threads", b.NotAsked)
	}
	return &b, notes
}
