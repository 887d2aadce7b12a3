package trace

import (
	"errors"
	"fmt"

	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

var errNames = errors.New("the names of the block are cut short")

// charge counts the memory that names take.
func (r *Reader) charge(n int) error {
	if r.size += n; r.size > maxNames {
		return fmt.Errorf("the names of the trace take more than %d bytes", maxNames)
	}
	return nil
}

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

// lookup gives a string of the block, by its number; 0 is "".
func lookup(c *cursor, table []string) string {
	i := c.uvarint()
	switch {
	case i == 0:
		return ""
	case i < uint64(len(table)):
		return table[i]
	}
	c.bad = true
	return ""
}

func (r *Reader) placeNames(c *cursor, table []string) error {
	for n := c.uvarint(); n > 0 && !c.bad; n-- {
		id, count := c.number(), c.uvarint()
		if c.bad || count > MaxFrames {
			return errNames
		}
		if err := r.charge(64 + 128*int(count)); err != nil {
			return err
		}
		frames := make([]event.Frame, 0, count)
		for range count {
			f := event.Frame{Function: lookup(c, table), File: lookup(c, table), Module: lookup(c, table)}
			f.Line, f.Offset = int(c.number()), c.uvarint()
			f.Inlined, f.Addr = c.uvarint() != 0, c.uvarint()
			frames = append(frames, f)
			if c.bad {
				return errNames
			}
		}
		r.names.SetFrames(event.StackID(id), frames)
	}
	return c.whole()
}

// whole is an error if something is missing or left over.
func (c *cursor) whole() error {
	if c.bad || c.left() > 0 {
		return errNames
	}
	return nil
}

func (r *Reader) objectNames(c *cursor, table []string) error {
	first, n := c.uvarint(), c.uvarint()
	if first != uint64(r.names.Objects()+1) {
		return fmt.Errorf("objects are named from %d, and %d are known", first, r.names.Objects())
	}
	for ; n > 0 && !c.bad; n-- {
		o := run.Object{Kind: event.Kind(min(c.uvarint(), 255)), Name: lookup(c, table), Addr: c.uvarint(), TGID: c.number()}
		o.Init, o.First, o.FirstThread = event.StackID(c.number()), event.StackID(c.number()), event.ThreadID(c.number())
		if c.bad {
			return errNames
		}
		if err := r.charge(64); err != nil {
			return err
		}
		r.names.AddObject(o)
	}
	return c.whole()
}

func (r *Reader) threadNames(c *cursor, table []string) error {
	first, n := c.uvarint(), c.uvarint()
	if first != uint64(r.names.Threads()+1) {
		return fmt.Errorf("threads are named from %d, and %d are known", first, r.names.Threads())
	}
	for ; n > 0 && !c.bad; n-- {
		t := run.Thread{TID: c.number(), TGID: c.number(), Parent: event.ThreadID(c.number()), Created: event.StackID(c.number())}
		t.Start, t.Name, t.Main = lookup(c, table), lookup(c, table), c.uvarint() != 0
		if c.bad {
			return errNames
		}
		if err := r.charge(80); err != nil {
			return err
		}
		r.names.AddThread(t)
	}
	return c.whole()
}

func (r *Reader) funcNames(c *cursor, table []string) error {
	first, n := c.uvarint(), c.uvarint()
	if first != uint64(r.names.Funcs()+1) {
		return fmt.Errorf("functions are named from %d, and %d are known", first, r.names.Funcs())
	}
	for ; n > 0 && !c.bad; n-- {
		f := event.Func{Name: lookup(c, table), Module: lookup(c, table), Result: lookup(c, table), Makes: c.uvarint() != 0}
		f.Life = event.Life(min(c.uvarint(), 255))
		params := c.uvarint()
		if params > event.MaxArgs {
			return errNames
		}
		for ; params > 0 && !c.bad; params-- {
			f.Params = append(f.Params, event.Param{Name: lookup(c, table), Type: lookup(c, table), Index: int(int32(unzigzag(c.uvarint())))})
		}
		on := c.uvarint()
		if on > maxPatterns {
			return errNames
		}
		for ; on > 0 && !c.bad; on-- {
			f.On = append(f.On, event.On{Pattern: lookup(c, table), Return: c.uvarint() != 0})
		}
		if c.bad {
			return errNames
		}
		if err := r.charge(128 + 32*len(f.Params) + 24*len(f.On)); err != nil {
			return err
		}
		r.names.AddFunc(f)
	}
	return c.whole()
}
