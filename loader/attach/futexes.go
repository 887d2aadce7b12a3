package attach

import (
	"errors"
	"fmt"

	"github.com/cilium/ebpf"

	"github.com/tracepredict/tracepredict/bpf"
)

// FutexWaits are the waits for futexes that the programs have summed up.
type FutexWaits struct {
	Sums []FutexSum
	// Lost is the number of waits that had no room, and Unended that of those whose end was not seen: a signal handler
	// waited meanwhile or left them, or their thread was cancelled.
	Lost, Unended uint64
}

// FutexSum is the waits with one key.
type FutexSum struct {
	bpf.FutexKey
	bpf.FutexSum
}

// FutexWaits returns the waits that have ended. Their times are without what calls took that did not wait, if there were any,
// on average: it is what each call takes, with its probes. Where the kernel executes the instruction of the call by
// single-stepping in a virtual machine, that can be 10 µs.
func (t *Tracer) FutexWaits() (w FutexWaits, err error) {
	var s FutexSum
	all := t.objs.FutexSums.Iterate()
	for all.Next(&s.FutexKey, &s.FutexSum) {
		w.Sums = append(w.Sums, s)
	}
	var calls, ns uint64
	err = errors.Join(all.Err(), t.objs.FutexLost.Get(&w.Lost), t.objs.FutexEnded.Get(&w.Unended), t.objs.FutexBareCalls.Get(&calls), t.objs.FutexBareNs.Get(&ns))
	if err != nil {
		return w, fmt.Errorf("read the waits for futexes: %w", err)
	}
	w.leaveOut(ns / max(calls, 1))
	return w, nil
}

// leaveOut takes so many ns from each wait.
func (w *FutexWaits) leaveOut(bare uint64) {
	for i := range w.Sums {
		s := &w.Sums[i]
		s.Ns -= min(s.Ns, s.Waits*bare)
	}
}

// FutexWaiting returns the waits that have not ended, by thread as FutexKey has it.
func (t *Tracer) FutexWaiting() (map[uint64]bpf.FutexWait, error) {
	waiting := map[uint64]bpf.FutexWait{}
	var (
		thread uint64
		wait   bpf.FutexWait
	)
	all := t.objs.FutexWaiting.Iterate()
	for all.Next(&thread, &wait) {
		waiting[thread] = wait
	}
	// Threads that come and go meanwhile can make the kernel begin again, and the library give up: what was read counts.
	if err := all.Err(); err != nil && !errors.Is(err, ebpf.ErrIterationAborted) {
		return nil, fmt.Errorf("read who waits for futexes: %w", err)
	}
	return waiting, nil
}
