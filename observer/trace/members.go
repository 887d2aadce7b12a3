package trace

import (
	"encoding/binary"
	"errors"

	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

// memberWriter collects what a block's new objects are parts of.
type memberWriter struct {
	objects []byte
	count   uint64
}

// add takes up an object; text gives the number of a string.
func (w *memberWriter) add(id event.ObjectID, o run.Object, text func(string) uint64) {
	if o.Member == "" && o.Class == "" {
		return
	}
	for _, v := range []uint64{uint64(id), text(o.Member), text(o.Class)} {
		w.objects = binary.AppendUvarint(w.objects, v)
	}
	w.count++
}

// take appends the section to b and forgets what it holds.
func (w *memberWriter) take(b []byte) []byte {
	if w.count > 0 {
		b = appendCounted(b, sectionMembers, w.objects, w.count)
	}
	w.objects, w.count = w.objects[:0], 0
	return b
}

var errMembers = errors.New("what the block says of types is cut short or cannot be")

// members reads the section: objects that are known, each with the member that it is
// and its class.
func (r *Reader) members(c *cursor, table []string) error {
	for n := c.uvarint(); n > 0 && !c.bad; n-- {
		id, member, class := c.number(), lookup(c, table), lookup(c, table)
		if c.bad || id == 0 || int(id) > r.names.Objects() {
			return errMembers
		}
		r.names.UpdateObject(event.ObjectID(id), func(o *run.Object) { o.Member, o.Class = member, class })
	}
	if c.bad || c.left() > 0 {
		return errMembers
	}
	return nil
}
