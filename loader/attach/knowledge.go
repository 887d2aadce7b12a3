package attach

import (
	"errors"
	"fmt"

	"github.com/tracepredict/tracepredict/bpf"
)

// Knowledge is how far the programs have evaluated a formula.
type Knowledge struct {
	Threads            uint32 // that took part
	States, Violations uint64
	// GivenUp is why no verdict falls any more; Op is the operation of a bpf.GivenUpOperation.
	GivenUp bpf.GivenUp
	Op      bpf.Op
}

// Knowledge returns how far the formula of TracerOptions was evaluated.
func (t *Tracer) Knowledge() (k Knowledge, err error) {
	var op uint32
	err = errors.Join(
		t.objs.KnownThreads.Get(&k.Threads), t.objs.KnownStates.Get(&k.States), t.objs.KnownViolations.Get(&k.Violations),
		t.objs.GivenUp.Get(&k.GivenUp), t.objs.GivenUpOp.Get(&op),
	)
	if err != nil {
		return k, fmt.Errorf("read how far the formula was evaluated: %w", err)
	}
	k.Op = bpf.Op(op)
	return k, nil
}
