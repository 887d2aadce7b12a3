package report

import (
	"cmp"

	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

// ClassOf returns a function that returns the class of a lock and its process. The class is
// the one in r, else the name of the lock; "" if it has neither. The process is that of the
// first thread that used the lock.
func ClassOf(r run.Namer) func(event.ObjectID) (class string, process uint32) {
	return func(id event.ObjectID) (string, uint32) {
		o := r.Object(id)
		return Clean(cmp.Or(o.Class, o.Name)), r.Thread(o.FirstThread).TGID
	}
}
