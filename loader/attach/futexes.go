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

// FutexWaits returns the waits that have ended.
func (t *Tracer) FutexWaits() (w FutexWaits, err error) {
	var s FutexSum
	all := t.objs.FutexSums.Iterate()
	for all.Next(&s.FutexKey, &s.FutexSum) {
		w.Sums = append(w.Sums, s)
	}
	err = errors.Join(all.Err(), t.objs.FutexLost.Get(&w.Lost), t.objs.FutexEnded.Get(&w.Unended))
	if err != nil {
		return w, fmt.Errorf("read the waits for futexes: %w", err)
	}
	return w, nil
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
