package race

import (
	"cmp"
	"slices"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/observer/event"
)

// accessPair identifies the two accesses of a race, in either order: findings with equal pairs are
// one error.
type accessPair struct {
	variable event.ObjectID
	a, b     accessSite
}

// accessSite is the call stack and the operation of an access.
type accessSite struct {
	stack event.StackID
	op    event.Op
}

func pairOf(f *finding.Finding) accessPair {
	p := []accessSite{{f.Evidence[0].Stack, f.Evidence[0].Op}, {f.Evidence[1].Stack, f.Evidence[1].Op}}
	slices.SortFunc(p, func(x, y accessSite) int {
		return cmp.Or(cmp.Compare(x.stack, y.stack), cmp.Compare(x.op, y.op))
	})
	return accessPair{f.Objects[0], p[0], p[1]}
}
