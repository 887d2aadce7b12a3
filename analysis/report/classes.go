package report

import (
	"cmp"

	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

// ClassOf gives the classes of locks by their names: the class that a resolver knows,
// else the lock's own name; "" without either. The process is that of who first used
// the lock.
func ClassOf(r run.Namer) func(event.ObjectID) (class string, process uint32) {
	return func(id event.ObjectID) (string, uint32) {
		o := r.Object(id)
		return clean(cmp.Or(o.Class, o.Name)), r.Thread(o.FirstThread).TGID
	}
}
