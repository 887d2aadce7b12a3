package trace

import (
	"encoding/binary"
	"errors"

	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

// formWriter collects how the values of a block's new objects are written.
type formWriter struct {
	index   map[string]uint64 // of the block's forms
	forms   []byte
	objects []byte
	count   uint64 // of objects
	key     []byte
}

func (w *formWriter) size() int { return len(w.forms) + len(w.objects) }

// add takes an object's form; text gives the number of a string.
func (w *formWriter) add(id event.ObjectID, f *event.Form, text func(string) uint64) {
	if f == nil {
		return
	}
	w.key = appendForm(w.key[:0], f, text)
	i, ok := w.index[string(w.key)]
	if !ok {
		if w.index == nil {
			w.index = map[string]uint64{}
		}
		i = uint64(len(w.index) + 1)
		w.index[string(w.key)] = i
		w.forms = append(w.forms, w.key...)
	}
	w.objects = binary.AppendUvarint(w.objects, uint64(id))
	w.objects = binary.AppendUvarint(w.objects, i)
	w.count++
}

func appendForm(b []byte, f *event.Form, text func(string) uint64) []byte {
	names := f.Names[:min(len(f.Names), event.MaxFormNames)]
	b = append(b, byte(f.Class), f.Bits)
	b = binary.AppendUvarint(b, uint64(len(names)))
	for _, n := range names {
		b = binary.AppendUvarint(b, n.Value)
		b = binary.AppendUvarint(b, text(n.Text))
	}
	return b
}

// take appends the section to b and forgets what it holds.
func (w *formWriter) take(b []byte) []byte {
	if w.count == 0 {
		return b
	}
	content := binary.AppendUvarint(nil, uint64(len(w.index)))
	content = append(content, w.forms...)
	content = binary.AppendUvarint(content, w.count)
	b = appendSection(b, sectionForms, append(content, w.objects...))
	w.forms, w.objects, w.count = w.forms[:0], w.objects[:0], 0
	clear(w.index)
	return b
}

var errForms = errors.New("what the block says of values is cut short or cannot be")

// forms reads the section: forms, then the objects that have them.
func (r *Reader) forms(c *cursor, table []string) error {
	var forms []*event.Form
	for n := c.uvarint(); n > 0 && !c.bad; n-- {
		f, err := r.form(c, table)
		if err != nil {
			return err
		}
		forms = append(forms, f)
	}
	for n := c.uvarint(); n > 0 && !c.bad; n-- {
		id, i := c.number(), c.uvarint()
		if c.bad || id == 0 || int(id) > r.names.Objects() || i == 0 || i > uint64(len(forms)) {
			return errForms
		}
		form := forms[i-1]
		r.names.UpdateObject(event.ObjectID(id), func(o *run.Object) { o.Form = form })
	}
	if c.bad || c.left() > 0 {
		return errForms
	}
	return nil
}

// form reads one form, and gives the one of an earlier block if it is the same.
func (r *Reader) form(c *cursor, table []string) (*event.Form, error) {
	f := &event.Form{Class: event.FormClass(c.byte()), Bits: c.byte()}
	n := c.uvarint()
	if c.bad || n > event.MaxFormNames || f.Bits == 0 || f.Bits > 64 {
		return nil, errForms
	}
	key := []byte{byte(f.Class), f.Bits}
	last := uint64(0)
	for i := range n {
		name := event.Name{Value: c.uvarint(), Text: lookup(c, table)}
		if c.bad || i > 0 && name.Value <= last {
			return nil, errForms
		}
		last = name.Value
		f.Names = append(f.Names, name)
		key = binary.AppendUvarint(key, name.Value)
		key = append(binary.AppendUvarint(key, uint64(len(name.Text))), name.Text...)
		if len(key) > maxFormKey {
			return nil, errForms
		}
	}
	if known, ok := r.known[string(key)]; ok {
		return known, nil
	}
	if err := r.charge(64 + 2*len(key) + 32*len(f.Names)); err != nil {
		return nil, err
	}
	r.known[string(key)] = f
	return f, nil
}

// maxFormKey bounds what a form takes, in bytes: its names, and two numbers with
// each.
const maxFormKey = event.MaxFormText + 24*event.MaxFormNames
