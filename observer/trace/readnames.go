package trace

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

// errNames is the error of a section of names that is too short or wrong.
var errNames = errors.New("the names of the block are cut short")

// wrongNames holds, by tag, the errors that replace errNames for some sections.
var wrongNames = map[byte]error{
	sectionForms:   errors.New("what the block says of values is cut short or cannot be"),
	sectionMembers: errors.New("what the block says of types is cut short or cannot be"),
	sectionStarts:  errors.New("what the block says of functions' first lines is cut short or cannot be"),
	sectionBlocks:  errors.New("what the block says of allocated memory is cut short or cannot be"),
}

// charge adds n bytes to the memory of the names, and returns an error beyond maxNames.
func (r *Reader) charge(n int) error {
	if r.size += n; r.size > maxNames {
		return fmt.Errorf("the names of the trace take more than %d bytes", maxNames)
	}
	return nil
}

// stringTable reads the strings of a block, by number.
func (r *Reader) stringTable(c *cursor) ([]string, error) {
	table := []string{""}
	for c.left() > 0 {
		text := c.bytes(c.uvarint())
		if c.bad {
			return nil, errNames
		}
		s, ok := r.strings[string(text)]
		if !ok {
			s = string(text)
			r.strings[s] = s
			if err := r.charge(len(s) + 64); err != nil {
				return nil, err
			}
		}
		table = append(table, s)
	}
	return table, nil
}

// readNames reads a section of threads, objects or functions, which continues the numbering after
// the known ones of earlier sections. Code decodes one, size returns its approximate memory in
// bytes, and add adds it to the names.
func readNames[T any](r *Reader, k *coder, what string, known int, code func(*coder, *T), size func(*T) int, add func(T)) error {
	c := k.in
	if first := c.uvarint(); first != uint64(known+1) {
		return fmt.Errorf("%s are named from %d, and %d are known", what, first, known)
	}
	var t, zero T
	for n := c.uvarint(); n > 0 && !c.bad; n-- {
		t = zero
		code(k, &t)
		if c.bad {
			return errNames
		}
		if err := r.charge(size(&t)); err != nil {
			return err
		}
		add(t)
	}
	return c.whole()
}

// threadNames reads a section of threads.
func (r *Reader) threadNames(k *coder) error {
	return readNames(r, k, "threads", r.names.Threads(), codeThread,
		func(*run.Thread) int { return 80 }, func(t run.Thread) { r.names.AddThread(t) })
}

// objectNames reads a section of objects.
func (r *Reader) objectNames(k *coder) error {
	return readNames(r, k, "objects", r.names.Objects(), codeObject,
		func(*run.Object) int { return 64 }, func(o run.Object) { r.names.AddObject(o) })
}

// funcNames reads a section of functions.
func (r *Reader) funcNames(k *coder) error {
	return readNames(r, k, "functions", r.names.Funcs(), codeFunc,
		func(f *event.Func) int { return 128 + 32*len(f.Params) + 24*len(f.Patterns) }, func(f event.Func) { r.names.AddFunc(f) })
}

// stackNames reads the frames of stacks.
func (r *Reader) stackNames(k *coder) error {
	c := k.in
	for n := c.uvarint(); n > 0 && !c.bad; n-- {
		var id event.StackID
		var frames []event.Frame
		num(k, &id)
		list(k, &frames, MaxFrames, codeFrame)
		if c.bad {
			return errNames
		}
		if err := r.charge(64 + 128*len(frames)); err != nil {
			return err
		}
		r.names.SetFrames(id, frames)
		r.evicted.addStack(id)
	}
	return c.whole()
}

// starts reads, for known stacks, the lines on which the functions of their frames begin.
func (r *Reader) starts(k *coder) error {
	c := k.in
	for n := c.uvarint(); n > 0 && !c.bad; n-- {
		id := event.StackID(c.number())
		frames := slices.Clone(r.names.Frames(id)) // other goroutines may read the old slice
		if count := c.uvarint(); c.bad || count != uint64(len(frames)) {
			return errNames
		}
		for i := range frames {
			codeStart(k, &frames[i])
		}
		if c.bad {
			return errNames
		}
		r.names.SetFrames(id, frames)
	}
	return c.whole()
}

// members reads Member and Class of known objects.
func (r *Reader) members(k *coder) error {
	return r.updateObjects(k, func() (func(*run.Object), bool) {
		var read run.Object
		codeMember(k, &read)
		return func(o *run.Object) { o.Member, o.Class = read.Member, read.Class }, true
	})
}

// blocks reads the allocated blocks that known objects lie in.
func (r *Reader) blocks(k *coder) error {
	return r.updateObjects(k, func() (func(*run.Object), bool) {
		var b run.Block
		codeBlock(k, &b)
		return func(o *run.Object) { o.Block = b }, b.Offset < b.Size
	})
}

// forms reads forms, then the known objects that have them.
func (r *Reader) forms(k *coder) error {
	var forms []*event.Form
	for n := k.in.uvarint(); n > 0 && !k.in.bad; n-- {
		f, err := r.form(k)
		if err != nil {
			return err
		}
		forms = append(forms, f)
	}
	return r.updateObjects(k, func() (func(*run.Object), bool) {
		i := k.in.uvarint()
		if i == 0 || i > uint64(len(forms)) {
			return nil, false
		}
		return func(o *run.Object) { o.Form = forms[i-1] }, true
	})
}

// updateObjects reads a section that adds fields to known objects. Read reads the fields of one
// object, and returns a function that sets them.
func (r *Reader) updateObjects(k *coder, read func() (change func(*run.Object), ok bool)) error {
	c := k.in
	for n := c.uvarint(); n > 0 && !c.bad; n-- {
		id := c.number()
		change, ok := read()
		if c.bad || !ok || id == 0 || int(id) > r.names.Objects() {
			return errNames
		}
		r.names.UpdateObject(event.ObjectID(id), change)
	}
	return c.whole()
}

// form reads one form. If an equal one was read before, in this block or another, it returns that.
func (r *Reader) form(k *coder) (*event.Form, error) {
	c := k.in
	f := &event.Form{Class: event.FormClass(c.byte()), Bits: c.byte()}
	n := c.uvarint()
	if c.bad || n > event.MaxFormNames || f.Bits == 0 || f.Bits > 64 {
		return nil, errNames
	}
	key := []byte{byte(f.Class), f.Bits}
	last := uint64(0)
	for i := range n {
		var name event.Name
		codeFormName(k, &name)
		if c.bad || i > 0 && name.Value <= last {
			return nil, errNames
		}
		last = name.Value
		f.Names = append(f.Names, name)
		key = binary.AppendUvarint(key, name.Value)
		key = append(binary.AppendUvarint(key, uint64(len(name.Text))), name.Text...)
		if len(key) > maxFormKey {
			return nil, errNames
		}
	}
	if known, ok := r.formsByEncoding[string(key)]; ok {
		return known, nil
	}
	if err := r.charge(64 + 2*len(key) + 32*len(f.Names)); err != nil {
		return nil, err
	}
	r.formsByEncoding[string(key)] = f
	return f, nil
}

// maxFormKey bounds the bytes of an encoded form: its names, and two numbers with each.
const maxFormKey = event.MaxFormText + 24*event.MaxFormNames

// whole returns an error if the section was too short or wrong, or if bytes are left.
func (c *cursor) whole() error {
	if c.bad || c.left() > 0 {
		return errNames
	}
	return nil
}
