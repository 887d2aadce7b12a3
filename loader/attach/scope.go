package attach

import (
	"errors"
	"fmt"

	"github.com/cilium/ebpf"

	"github.com/tracepredict/tracepredict/bpf"
)

// Bounds of a scope that is monitored in the kernel.
const (
	maxScopeSites = 1 << 13 // calls and returns that are its events
	maxScopeLocks = 1 << 10 // operations on locks that are its actions
)

// sizeScope makes room for a scope.
func sizeScope(spec *ebpf.CollectionSpec) {
	spec.Maps[bpf.TracepredictMapScopeSites].MaxEntries = maxScopeSites
	spec.Maps[bpf.TracepredictMapScopeLocks].MaxEntries = maxScopeLocks
	spec.Maps[bpf.TracepredictMapScopeThreads].MaxEntries = bpf.ScopeThreads
	spec.Maps[bpf.TracepredictMapScopePlaces].MaxEntries = bpf.ScopeThreads
}

// writeScope writes the automata of a scope; with nil it does nothing.
func (t *Tracer) writeScope(a *bpf.ScopeAutomata) error {
	if a == nil {
		return nil
	}
	if err := t.objs.ScopeTables.Put(uint32(0), a); err != nil {
		return fmt.Errorf("write the automata of a scope: %w", err)
	}
	return nil
}

// SetScopeSite says what the calls of a site, or the returns, are to the scope.
func (t *Tracer) SetScopeSite(site uint32, returns bool, is bpf.ScopeSite) error {
	key := site << 1
	if returns {
		key |= 1
	}
	if err := t.objs.ScopeSites.Put(key, is); err != nil {
		return fmt.Errorf("write what site %d is to the scope (at most %d are): %w", site, maxScopeSites, err)
	}
	return nil
}

// AddScopeLock makes an operation on a lock a synchronising action of the scope.
func (t *Tracer) AddScopeLock(l bpf.ScopeLock) error {
	if err := t.objs.ScopeLocks.Put(l, uint8(1)); err != nil {
		return fmt.Errorf("write a lock of the scope (at most %d are): %w", maxScopeLocks, err)
	}
	return nil
}

// ScopeCounts are figures of a scope that is monitored in the kernel.
type ScopeCounts struct {
	Events  uint64 // of local properties
	Records uint64 // of synchronising actions
}

// LastRegion returns the region that no action has ended, as a record without a head, the states of its threads, and
// the figures of the run. The programs must not run meanwhile.
func (t *Tracer) LastRegion() (r bpf.ScopeRecord, states []bpf.ScopeState, counts ScopeCounts, err error) {
	var used uint32
	err = errors.Join(t.objs.ScopeRegion.Get(&r.Region), t.objs.ScopeMissed.Get(&r.Missed), t.objs.ScopeEvents.Get(&counts.Events),
		t.objs.ScopeRecords.Get(&counts.Records), t.objs.ScopeUsed.Get(&used))
	for i := range min(used, bpf.ScopeThreads) {
		var thread bpf.ScopeThread
		if err = errors.Join(err, t.objs.ScopeThreads.Lookup(i, &thread)); err != nil {
			break
		}
		counts.Events += thread.Events
		if s, ok := thread.State(r.Region); ok {
			states = append(states, s)
		}
	}
	r.Count = uint32(len(states))
	if err != nil {
		return r, nil, counts, fmt.Errorf("read the last region of the scope: %w", err)
	}
	return r, states, counts, nil
}
