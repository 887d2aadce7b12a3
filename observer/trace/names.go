package trace

import (
	"encoding/binary"
	"unicode/utf8"

	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

// nameWriter collects the names of a block; those of the file are written once.
type nameWriter struct {
	namer   run.Namer
	objects event.ObjectID // written up to
	threads event.ThreadID
	funcs   event.FuncID
	places  map[event.StackID]bool // written

	index                       map[string]uint64 // of strings
	str, place, object, thread  []byte
	fn                          []byte
	forms                       formWriter
	members                     memberWriter
	starts                      startWriter
	firstObject, firstThread    uint64 // of the block
	nPlaces, nObjects, nThreads uint64
	firstFunc, nFuncs           uint64
}

func newNameWriter(n run.Namer) nameWriter {
	if n == nil {
		n = &run.Names{}
	}
	return nameWriter{namer: n, places: map[event.StackID]bool{}, index: map[string]uint64{}}
}

// collect takes up what is new in c. Full is called when what has been
// collected is much for one block, and takes it.
func (n *nameWriter) collect(c *columns, full func() error) error {
	check := func() error {
		if len(n.str)+len(n.place)+len(n.object)+len(n.thread)+len(n.fn)+n.forms.size()+len(n.members.objects)+len(n.starts.places) < nameBytes {
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
		n.addFunc(n.funcs)
		if err := check(); err != nil {
			return err
		}
	}
	for _, p := range c.places {
		n.addPlace(p)
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

func (n *nameWriter) addThread(id event.ThreadID) {
	if n.nThreads++; n.nThreads == 1 {
		n.firstThread = uint64(id)
	}
	t := n.namer.Thread(id)
	b := n.thread
	for _, v := range []uint64{uint64(t.TID), uint64(t.TGID), uint64(t.Parent), uint64(t.Created), n.string(t.Start), n.string(t.Name), bit(t.Main)} {
		b = binary.AppendUvarint(b, v)
	}
	n.thread = b
	n.addPlace(t.Created)
}

func (n *nameWriter) addObject(id event.ObjectID) {
	if n.nObjects++; n.nObjects == 1 {
		n.firstObject = uint64(id)
	}
	o := n.namer.Object(id)
	b := n.object
	for _, v := range []uint64{uint64(o.Kind), n.string(o.Name), o.Addr, uint64(o.TGID), uint64(o.Init), uint64(o.First), uint64(o.FirstThread)} {
		b = binary.AppendUvarint(b, v)
	}
	n.object = b
	n.forms.add(id, o.Form, n.string)
	n.members.add(id, o, n.string)
	n.addPlace(o.Init)
	n.addPlace(o.First)
}

func (n *nameWriter) addFunc(id event.FuncID) {
	if n.nFuncs++; n.nFuncs == 1 {
		n.firstFunc = uint64(id)
	}
	f := n.namer.Func(id)
	b := n.fn
	for _, v := range []uint64{n.string(f.Name), n.string(f.Module), n.string(f.Result), bit(f.Makes), uint64(f.Life)} {
		b = binary.AppendUvarint(b, v)
	}
	params := f.Params[:min(len(f.Params), event.MaxArgs)]
	b = binary.AppendUvarint(b, uint64(len(params)))
	for _, p := range params {
		b = binary.AppendUvarint(binary.AppendUvarint(binary.AppendUvarint(b, n.string(p.Name)), n.string(p.Type)), zigzag(uint64(p.Index)))
	}
	on := f.On[:min(len(f.On), maxPatterns)]
	b = binary.AppendUvarint(b, uint64(len(on)))
	for _, o := range on {
		b = binary.AppendUvarint(binary.AppendUvarint(b, n.string(o.Pattern)), bit(o.Return))
	}
	n.fn = b
}

func (n *nameWriter) addPlace(id event.StackID) {
	if id == 0 || n.places[id] {
		return
	}
	n.places[id] = true
	n.nPlaces++
	frames := n.namer.Frames(id)
	frames = frames[:min(len(frames), MaxFrames)]
	b := binary.AppendUvarint(n.place, uint64(id))
	b = binary.AppendUvarint(b, uint64(len(frames)))
	for i := range frames {
		f := &frames[i]
		for _, v := range []uint64{n.string(f.Function), n.string(f.File), n.string(f.Module), uint64(max(f.Line, 0)), f.Offset, bit(f.Inlined), f.Addr} {
			b = binary.AppendUvarint(b, v)
		}
	}
	n.place = b
	n.starts.add(id, frames)
}

func bit(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// string gives the number of a string in the block; 0 is "".
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
	n.str = binary.AppendUvarint(n.str, uint64(len(s)))
	n.str = append(n.str, s...)
	return i
}

// Shorten gives a name as long as a trace can hold: 16 KiB.
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

// take appends the sections of names to b and forgets what they hold.
func (n *nameWriter) take(b []byte) []byte {
	b = appendSection(b, sectionStrings, n.str)
	if n.nPlaces > 0 {
		b = appendCounted(b, sectionPlaces, n.place, n.nPlaces)
	}
	if n.nObjects > 0 {
		b = appendCounted(b, sectionObjects, n.object, n.firstObject, n.nObjects)
	}
	if n.nThreads > 0 {
		b = appendCounted(b, sectionThreads, n.thread, n.firstThread, n.nThreads)
	}
	if n.nFuncs > 0 {
		b = appendCounted(b, sectionFunctions, n.fn, n.firstFunc, n.nFuncs)
	}
	n.str, n.place, n.object, n.thread, n.fn = n.str[:0], n.place[:0], n.object[:0], n.thread[:0], n.fn[:0]
	n.nPlaces, n.nObjects, n.nThreads, n.nFuncs = 0, 0, 0, 0
	clear(n.index)
	return b
}

// appendCounted appends a section that begins with numbers.
func appendCounted(b []byte, tag byte, content []byte, numbers ...uint64) []byte {
	var head []byte
	for _, v := range numbers {
		head = binary.AppendUvarint(head, v)
	}
	b = append(b, tag)
	b = binary.AppendUvarint(b, uint64(len(head)+len(content)))
	return append(append(b, head...), content...)
}
