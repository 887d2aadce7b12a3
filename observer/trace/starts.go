package trace

import (
	"encoding/binary"
	"errors"
	"slices"

	"github.com/tracepredict/tracepredict/observer/event"
)

// startWriter collects on which lines the functions of a block's new places begin.
type startWriter struct {
	places []byte
	count  uint64
}

// add takes the frames of a place.
func (w *startWriter) add(id event.StackID, frames []event.Frame) {
	if !slices.ContainsFunc(frames, func(f event.Frame) bool { return f.Start > 0 }) {
		return
	}
	b := binary.AppendUvarint(w.places, uint64(id))
	b = binary.AppendUvarint(b, uint64(len(frames)))
	for i := range frames {
		b = binary.AppendUvarint(b, uint64(max(frames[i].Start, 0)))
	}
	w.places = b
	w.count++
}

// take appends the section to b and forgets what it holds.
func (w *startWriter) take(b []byte) []byte {
	if w.count == 0 {
		return b
	}
	b = appendSection(b, sectionStarts, append(binary.AppendUvarint(nil, w.count), w.places...))
	w.places, w.count = w.places[:0], 0
	return b
}

var errStarts = errors.New("what the block says of functions' first lines is cut short or cannot be")

// starts reads the section, of places that are known.
func (r *Reader) starts(c *cursor) error {
	for n := c.uvarint(); n > 0 && !c.bad; n-- {
		id := event.StackID(c.number())
		frames := r.names.Frames(id)
		if count := c.uvarint(); c.bad || count != uint64(len(frames)) {
			return errStarts
		}
		known := slices.Clone(frames) // others may read them now
		for i := range known {
			known[i].Start = int(c.number())
		}
		if c.bad {
			return errStarts
		}
		r.names.SetFrames(id, known)
	}
	if c.bad || c.left() > 0 {
		return errStarts
	}
	return nil
}
