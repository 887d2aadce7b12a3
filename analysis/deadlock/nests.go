package deadlock

import "github.com/tracepredict/tracepredict/analysis/finding"

// maxNestPredicted is the number of predicted deadlocks of one finding.Nest from which on the others are only
// counted: they are mended with these, and each would have a schedule as long as the sections.
const maxNestPredicted = 16

// nests counts the deadlocks of each nest while they are settled.
type nests map[finding.Nest]*nest

type nest struct {
	first     int // index of the first that is a finding; -1: there is none yet
	predicted int
	more      int // deadlocks that are only counted
}

func (n nests) of(f *finding.Finding) *nest {
	key, ok := f.Nest()
	if !ok {
		return nil
	}
	if n[key] == nil {
		n[key] = &nest{first: -1}
	}
	return n[key]
}

// count counts a potential deadlock if enough others of its nest are predicted, and reports whether it did.
func (n nests) count(f *finding.Finding) bool {
	x := n.of(f)
	if x == nil || x.predicted < maxNestPredicted {
		return false
	}
	x.more += 1 + f.MorePairs
	return true
}

// settled takes the index of the finding that a potential deadlock has become, in all; -1 if it cannot happen. The
// finding may be about other acquires of the same threads, so of another nest.
func (n nests) settled(potential *finding.Finding, all []finding.Finding, index int) {
	x := n.of(potential)
	if x == nil {
		return
	}
	x.more += potential.MorePairs
	if index < 0 {
		return
	}
	all[index].MorePairs = 0
	if x.first < 0 {
		x.first = index
	}
	if all[index].Confidence != finding.Potential {
		x.predicted++
	}
}

// finish adds the deadlocks that were predicted early, and are not among all, to all: as findings of their own, or
// to the number of their nest if enough others of it are predicted. The number goes to the first finding of the
// nest.
func (n nests) finish(all, early []finding.Finding) []finding.Finding {
	for i := range early {
		x := n.of(&early[i])
		switch {
		case x == nil || x.first < 0:
		case x.predicted >= maxNestPredicted:
			continue // x.more has it
		case x.more > 0:
			x.more--
			x.predicted++
		}
		all = append(all, early[i])
	}
	for _, x := range n {
		if x.first >= 0 {
			all[x.first].MorePairs += x.more
		}
	}
	return all
}
