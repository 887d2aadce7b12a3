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
	stringNumbers map[string]uint64          // the numbers of strings, from 1
	strings       []byte                     // the encoded strings, by number
	sections      [sectionBlocks + 1]section // the sections of names, by tag
	formNumbers   map[string]uint64          // the numbers of encoded forms, from 1
	forms         []byte                     // the encoded forms, by number
	form          coder                      // scratch of formNumber
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
	return nameWriter{namer: n, stacks: map[event.StackID]bool{}, stringNumbers: map[string]uint64{}, formNumbers: map[string]uint64{}}
}

// collect adds the names that the events of c need and no earlier ones needed. When the names
// fill a block, it calls full, which writes the block.
func (n *nameWriter) collect(c *columns, full func() error) error {
	check := func() error {
		if n.size() < nameBytes {
			return nil
		}
		return full()
	}
	for n.threads < c.maxThread {
		n.threads++
		n.addThread(n.threads)
		if err := check(); err != nil {
			return err
		}
	}
	for n.objects < c.maxObject {
		n.objects++
		n.addObject(n.objects)
		if err := check(); err != nil {
			return err
		}
	}
	for n.funcs < c.maxFunc {
		n.funcs++
		f := n.namer.Func(n.funcs)
		n.add(sectionFunctions, uint64(n.funcs), func(k *coder) { codeFunc(k, &f) })
		if err := check(); err != nil {
			return err
		}
	}
	for _, p := range c.stacks {
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
	k := coder{out: s.content, stringNumber: n.stringNumber}
	code(&k)
	s.content = k.out
}

// addThread adds a thread, and the stack that created it.
func (n *nameWriter) addThread(id event.ThreadID) {
	t := n.namer.Thread(id)
	n.add(sectionThreads, uint64(id), func(k *coder) { codeThread(k, &t) })
	n.addStack(t.Created)
}

// addObject adds an object, with its form and its stacks.
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
	if o.Block.Size > 0 {
		n.add(sectionBlocks, uint64(id), func(k *coder) { num(k, &id); codeBlock(k, &o.Block) })
	}
	n.addStack(o.Init)
	n.addStack(o.First)
}

// formNumber returns the number of a form in the block, and adds the form if it is new.
func (n *nameWriter) formNumber(f *event.Form) uint64 {
	k := &n.form
	k.out, k.stringNumber = append(k.out[:0], byte(f.Class), f.Bits), n.stringNumber
	names := f.Names
	list(k, &names, event.MaxFormNames, codeFormName)
	i, ok := n.formNumbers[string(k.out)]
	if !ok {
		i = uint64(len(n.formNumbers) + 1)
		n.formNumbers[string(k.out)] = i
		n.forms = append(n.forms, k.out...)
	}
	return i
}

// addStack adds a stack, unless it has been added before. The lines on which its functions begin
// are in a section of their own, which came later: programs that do not know it skip it.
func (n *nameWriter) addStack(id event.StackID) {
	if id == 0 || n.stacks[id] {
		return
	}
	n.stacks[id] = true
	frames := n.namer.Frames(id)
	n.add(sectionStacks, uint64(id), func(k *coder) { num(k, &id); list(k, &frames, MaxFrames, codeFrame) })
	shown := frames[:min(len(frames), MaxFrames)]
	if slices.ContainsFunc(shown, func(f event.Frame) bool { return f.Start > 0 }) {
		n.add(sectionStarts, uint64(id), func(k *coder) { num(k, &id); list(k, &frames, MaxFrames, codeStart) })
	}
}

// stringNumber returns the number of a string in the block, and adds the string if it is new; 0
// is "".
func (n *nameWriter) stringNumber(s string) uint64 {
	if s == "" {
		return 0
	}
	if i, ok := n.stringNumbers[s]; ok {
		return i
	}
	i := uint64(len(n.stringNumbers) + 1)
	n.stringNumbers[s] = i
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

// flushLeading appends to b the sections that precede those of events, and empties them.
func (n *nameWriter) flushLeading(b []byte) []byte {
	b = appendSection(b, sectionStrings, n.strings)
	b = n.flushSection(b, sectionStacks)
	for _, tag := range []byte{sectionObjects, sectionThreads, sectionFunctions} {
		b = n.flushSection(b, tag, n.sections[tag].first)
	}
	n.strings = n.strings[:0]
	clear(n.stringNumbers)
	return b
}

// flushTrailing appends to b the sections that follow those of events, and empties them.
func (n *nameWriter) flushTrailing(b []byte) []byte {
	if s := &n.sections[sectionForms]; s.count > 0 {
		content := append(binary.AppendUvarint(nil, uint64(len(n.formNumbers))), n.forms...)
		content = append(binary.AppendUvarint(content, s.count), s.content...)
		b = appendSection(b, sectionForms, content)
		*s, n.forms = section{content: s.content[:0]}, n.forms[:0]
		clear(n.formNumbers)
	}
	return n.flushSection(n.flushSection(n.flushSection(b, sectionMembers), sectionStarts), sectionBlocks)
}

// flushSection appends a section to b and empties it. The section begins with the given numbers
// and its count.
func (n *nameWriter) flushSection(b []byte, tag byte, numbers ...uint64) []byte {
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
