package attach

import (
	"errors"
	"fmt"

	"github.com/cilium/ebpf"

	"github.com/tracepredict/tracepredict/bpf"
)

// Knowledge is how far the programs have evaluated a formula.
type Knowledge struct {
	Threads            uint32 // that took part
	Unsure             uint32 // of these, that were not judged any more at the end
	States, Violations uint64
	// Doubts is, by bpf.GivenUp, how many objects were given up, and how often threads became unsure without one.
	Doubts [bpf.GivenUpReasons]uint32
	// GivenUp is why no verdict falls any more; Op is the operation of a bpf.GivenUpOperation.
	GivenUp bpf.GivenUp
	Op      bpf.Op
	// DoubtOp is the first operation of a bpf.GivenUpOperation in Doubts.
	DoubtOp bpf.Op
}

// Knowledge returns how far the formula of TracerOptions was evaluated.
func (t *Tracer) Knowledge() (k Knowledge, err error) {
	var op, doubted uint32
	err = errors.Join(
		t.objs.KnownThreads.Get(&k.Threads), t.objs.KnownStates.Get(&k.States), t.objs.KnownViolations.Get(&k.Violations),
		t.objs.GivenUp.Get(&k.GivenUp), t.objs.GivenUpOp.Get(&op), t.objs.Doubts.Get(&k.Doubts), t.objs.DoubtOp.Get(&doubted),
	)
	for slot := uint32(0); slot < min(k.Threads, bpf.KnownThreads) && err == nil; slot++ {
		var v bpf.TracepredictKnownVector
		err = t.objs.KnownVectors.Lookup(slot, &v)
		k.Unsure += v.Unsure
	}
	if err != nil {
		return k, fmt.Errorf("read how far the formula was evaluated: %w", err)
	}
	k.Op, k.DoubtOp = bpf.Op(op), bpf.Op(doubted)
	return k, nil
}

// Told reports whether the kernel delivers the verdict of an event that a thread of a process had at a time. From the
// event on that makes the thread unsure it does not.
func (t *Tracer) Told(pid, tid uint32, at uint64) (bool, error) {
	told, err := t.told(uint64(pid)<<32|uint64(tid), at)
	if err != nil {
		return false, fmt.Errorf("read whether thread %d was told that it violates the formula: %w", tid, err)
	}
	return told, nil
}

func (t *Tracer) told(thread, at uint64) (bool, error) {
	var (
		why  bpf.GivenUp
		slot uint32
		v    bpf.TracepredictKnownVector
		is   bpf.KnownThread
	)
	if err := t.objs.GivenUp.Get(&why); err != nil {
		return false, err
	}
	err := t.objs.KnownSlots.Lookup(thread, &slot)
	if errors.Is(err, ebpf.ErrKeyNotExist) {
		return false, nil
	}
	err = errors.Join(err, t.objs.KnownVectors.Lookup(slot, &v), t.objs.Known.Lookup(slot, &is))
	// The record of an event comes before its verdict.
	return err == nil && (why == bpf.GivenUpNot && v.Unsure == 0 || at <= is.Told), err
}
