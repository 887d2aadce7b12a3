package trace

import (
	"encoding/binary"
	"slices"
	"unicode/utf8"

	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

// nameWriter collects the names of a block. Each name is written once in a file.
type nameWriter struct {
	namer   run.Namer
	objects event.ObjectID         // the last object written
	threads event.ThreadID         // the last thread written
	funcs   event.FuncID           // the last function written
	stacks  map[event.StackID]bool // the stacks written

	// The fields below belong to the current block.
	index     map[string]uint64 // the numbers of strings, from 1
	strings   []byte
	sections  [sectionStarts + 1]section // the sections of names, by tag
	formIndex map[string]uint64          // the numbers of encoded forms, from 1
	forms     []byte
	form      coder // scratch of formNumber
}

// section is a section of names: the encoded fields of count threads, objects, functions,
// stacks or forms, the first of which has the identifier first.
type section struct {
	content      []byte
	first, count uint64
}

func newNameWriter(n run.Namer) nameWriter {
	if n == nil {
		n = &run.Names{}
	}
	return nameWriter{namer: n, stacks: map[event.StackID]bool{}, index: map[string]uint64{}, formIndex: map[string]uint64{}}
}

// collect adds the names that no events before those of c needed. When the names fill a
// block, it calls full, which writes the block.
func (n *nameWriter) collect(c *columns, full func() error) error {
	check := func() error {
		if n.size() < nameBytes {
			return nil
		}
		return full()
	}
	for n.threads < c.threads {
		n.threads++
		n.addThread(n.threads)
		if err := check(); err != nil {
			return err
		}
	}
	for n.objects < c.objects {
		n.objects++
		n.addObject(n.objects)
		if err := check(); err != nil {
			return err
		}
	}
	for n.funcs < c.funcs {
		n.funcs++
		f := n.namer.Func(n.funcs)
		n.add(sectionFunctions, uint64(n.funcs), func(k *coder) { codeFunc(k, &f) })
		if err := check(); err != nil {
			return err
		}
	}
	for _, p := range c.places {
		n.addStack(p)
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// size returns the number of bytes of names in the current block.
func (n *nameWriter) size() int {
	size := len(n.strings) + len(n.forms)
	for i := range n.sections {
		size += len(n.sections[i].content)
	}
	return size
}

// add appends the fields that code writes to a section. Id is their identifier.
func (n *nameWriter) add(tag byte, id uint64, code func(*coder)) {
	s := &n.sections[tag]
	if s.count++; s.count == 1 {
		s.first = id
	}
	k := coder{out: s.content, number: n.string}
	code(&k)
	s.content = k.out
}

func (n *nameWriter) addThread(id event.ThreadID) {
	t := n.namer.Thread(id)
	n.add(sectionThreads, uint64(id), func(k *coder) { codeThread(k, &t) })
	n.addStack(t.Created)
}

func (n *nameWriter) addObject(id event.ObjectID) {
	o := n.namer.Object(id)
	n.add(sectionObjects, uint64(id), func(k *coder) { codeObject(k, &o) })
	if o.Form != nil {
		form := n.formNumber(o.Form)
		n.add(sectionForms, uint64(id), func(k *coder) { num(k, &id); k.uvarint(&form) })
	}
	if o.Member != "" || o.Class != "" {
		n.add(sectionMembers, uint64(id), func(k *coder) { num(k, &id); codeMember(k, &o) })
	}
	n.addStack(o.Init)
	n.addStack(o.First)
}

// formNumber returns the number of a form in the block, and adds the form if it is new.
func (n *nameWriter) formNumber(f *event.Form) uint64 {
	k := &n.form
	k.out, k.number = append(k.out[:0], byte(f.Class), f.Bits), n.string
	names := f.Names
	list(k, &names, event.MaxFormNames, codeFormName)
	i, ok := n.formIndex[string(k.out)]
	if !ok {
		i = uint64(len(n.formIndex) + 1)
		n.formIndex[string(k.out)] = i
		n.forms = append(n.forms, k.out...)
	}
	return i
}

func (n *nameWriter) addStack(id event.StackID) {
	if id == 0 || n.stacks[id] {
		return
	}
	n.stacks[id] = true
	frames := n.namer.Frames(id)
	n.add(sectionPlaces, uint64(id), func(k *coder) { num(k, &id); list(k, &frames, MaxFrames, codeFrame) })
	shown := frames[:min(len(frames), MaxFrames)]
	if slices.ContainsFunc(shown, func(f event.Frame) bool { return f.Start > 0 }) {
		n.add(sectionStarts, uint64(id), func(k *coder) { num(k, &id); list(k, &frames, MaxFrames, codeStart) })
	}
}

// string returns the number of a string in the block, and adds the string if it is new; 0 is
// "".
func (n *nameWriter) string(s string) uint64 {
	if s == "" {
		return 0
	}
	if i, ok := n.index[s]; ok {
		return i
	}
	i := uint64(len(n.index) + 1)
	n.index[s] = i
	s = Shorten(s)
	n.strings = binary.AppendUvarint(n.strings, uint64(len(s)))
	n.strings = append(n.strings, s...)
	return i
}

// Shorten returns a name, cut to the largest length in a trace: 16 KiB.
func Shorten(s string) string {
	if len(s) <= maxString {
		return s
	}
	cut := maxString - len("…")
	for low := cut - utf8.UTFMax; cut > low && !utf8.RuneStart(s[cut]); {
		cut--
	}
	return s[:cut] + "…"
}

// takeFirst appends to b the sections that precede those of events, and empties them.
func (n *nameWriter) takeFirst(b []byte) []byte {
	b = appendSection(b, sectionStrings, n.strings)
	b = n.take(b, sectionPlaces)
	for _, tag := range []byte{sectionObjects, sectionThreads, sectionFunctions} {
		b = n.take(b, tag, n.sections[tag].first)
	}
	n.strings = n.strings[:0]
	clear(n.index)
	return b
}

// takeLast appends to b the sections that follow those of events, and empties them.
func (n *nameWriter) takeLast(b []byte) []byte {
	if s := &n.sections[sectionForms]; s.count > 0 {
		content := append(binary.AppendUvarint(nil, uint64(len(n.formIndex))), n.forms...)
		content = append(binary.AppendUvarint(content, s.count), s.content...)
		b = appendSection(b, sectionForms, content)
		*s, n.forms = section{content: s.content[:0]}, n.forms[:0]
		clear(n.formIndex)
	}
	return n.take(n.take(b, sectionMembers), sectionStarts)
}

// take appends a section to b and empties it. The section begins with the given numbers and
// its count.
func (n *nameWriter) take(b []byte, tag byte, numbers ...uint64) []byte {
	s := &n.sections[tag]
	if s.count > 0 {
		b = appendCounted(b, tag, s.content, append(numbers, s.count)...)
	}
	*s = section{content: s.content[:0]}
	return b
}

// appendCounted appends a section to b that consists of numbers, then content.
func appendCounted(b []byte, tag byte, content []byte, numbers ...uint64) []byte {
	var head []byte
	for _, v := range numbers {
		head = binary.AppendUvarint(head, v)
	}
	b = append(b, tag)
	b = binary.AppendUvarint(b, uint64(len(head)+len(content)))
	return append(append(b, head...), content...)
}
