package bpf

import (
	"fmt"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
)

// The bounds of a Formula, as in site.h.
const (
	KnownThreads  = 8   // that take part in a run
	KnownNumbers  = 4   // threads that a formula names
	KnownEntries  = 128 // of a vector
	KnownLocals   = 8
	FormulaBodies = 16
	FormulaInputs = 8
	// GivenUpReasons is more than the largest GivenUp.
	GivenUpReasons = 8
	// KnownObjects is the largest number of objects through which threads learn of each other.
	KnownObjects = 4096
)

// Knowledge is a formula on what threads know of one another, to be evaluated in the threads that are observed
// (knowledge.h).
type Knowledge struct {
	Formula Formula
	// OnMatched is code that checks the conditions of events and sets locals, and OnBody computes a body of the
	// formula. Of both R1 is the address of a KnownThread, or 0, and of OnBody R2 is the number of the body.
	OnMatched, OnBody asm.Instructions
	// Alone means that nothing else needs the calls, returns and accesses of the formula: they are records only where they
	// violate it, and an OpVerdict follows then.
	Alone bool
	// Signal is the number of the signal that a thread gets when it violates the formula; 0: none.
	Signal uint32
}

// SetKnowledge makes the programs of a collection that has not been loaded evaluate a formula. It fails if the collection
// is none of this package.
func SetKnowledge(spec *ebpf.CollectionSpec, k *Knowledge) error {
	for m, body := range map[Monitor]asm.Instructions{"on_matched": k.OnMatched, "on_body": k.OnBody} {
		if err := replace(spec, m, body); err != nil {
			return err
		}
	}
	spec.Maps[TracepredictMapKnownObjects].MaxEntries = KnownObjects
	for name, value := range map[string]any{"evaluated": k.Formula, "knows": true, "alone": k.Alone, "violation_signal": k.Signal} {
		if err := spec.Variables[name].Set(value); err != nil {
			return fmt.Errorf("have the BPF programs evaluate a formula: set %s: %w", name, err)
		}
	}
	return nil
}
