package observer

import (
	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/observer/event"
)

// pauses handles that a thread sleeps until a signal handler has run, or that it goes on after that.
func (o *Observer) pauses(t *thread, r *bpf.Record) {
	op := event.Pause
	if r.Flags&bpf.RecLeave != 0 {
		op = event.Resume
	}
	o.begin(t, r, op)
	o.send()
}
