package trace

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"

	"github.com/tracepredict/tracepredict/internal/plural"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

// Error describes an error in a trace, and its position.
type Error struct {
	Name   string // name of the trace
	Offset int64  // offset in bytes of the wrong block or header
	Err    error
}

// Error returns name, offset and cause.
func (e *Error) Error() string {
	return fmt.Sprintf("%s: at byte %d: %v", e.Name, e.Offset, e.Err)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Cut describes where a trace is cut short.
type Cut struct {
	After   uint64 // Seq of the last event read; 0: none
	Offset  int64  // offset in bytes of the end of the last whole block
	Dropped int64  // bytes behind Offset, of an incomplete block
}

// String returns a sentence on what is missing.
func (c Cut) String() string {
	s := fmt.Sprintf("the trace is cut short after event %d", c.After)
	if c.Dropped > 0 {
		s += plural.Sprintf(" (at byte %d; %d {byte|bytes} of a block that is not whole {was|were} left out)", c.Offset, c.Dropped)
	}
	return s + ": what followed is missing, and what the end tells of the run"
}

// maxNames bounds the memory of the names of a trace, in bytes.
const maxNames = 1 << 30

// Reader reads a trace; a Source. It holds one block and all names, and allocates nothing
// for each event.
type Reader struct {
	in     *bufio.Reader
	name   string
	offset int64 // offset in the file of the next byte of in
	start  int64 // offset in the file of the current block

	dec         *zstd.Decoder
	buf, raw    []byte                // the current block, compressed and decompressed
	left        int                   // events of the block that have not been returned
	seq         uint64                // Seq of the next event
	kinds       []definedKind         // the kinds of event read so far from definitions
	definitions cursor                // columns.kinds
	kindNumbers cursor                // columns.kindNumbers
	times       cursor                // columns.times
	values      cursor                // columns.values
	time        uint64                // of the last event
	object      uint64                // of the kind defined last
	stack       uint64                // of the kind defined last
	args        [event.MaxArgs]uint64 // of the last event

	names           run.Names
	strings         map[string]string      // all strings, to share equal ones
	formsByEncoding map[string]*event.Form // all forms by their encoding, to share equal ones
	size            int                    // approximate bytes of the names
	summary         run.Summary
	noNames         bool     // SkipNames was called
	evicted         *evicted // that of Reread; nil: names are never evicted
	ended           bool     // the last block has been read
	cut             *Cut     // nil if the trace is whole
	err             error    // the error that ended the reading; nil: none yet
}

// definedKind is a kind of event that the current block has defined.
type definedKind struct {
	kind  eventKind
	value uint64                // Value of the last event of the kind
	args  [event.MaxArgs]uint64 // Args of the last event of the kind
}

// NewReader reads the header of a trace. Errors use the given name of the trace.
func NewReader(in io.Reader, name string) (*Reader, error) {
	dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxRaw), zstd.WithDecodeAllCapLimit(true),
		zstd.WithDecoderLowmem(true))
	if err != nil {
		return nil, fmt.Errorf("start the decompression: %w", err)
	}
	r := newReader(in, name, dec)
	return r, r.header()
}

// newReader returns a Reader of what follows the header.
func newReader(in io.Reader, name string, dec *zstd.Decoder) *Reader {
	return &Reader{in: bufio.NewReaderSize(in, 1<<16), name: name, dec: dec, strings: map[string]string{}, formsByEncoding: map[string]*event.Form{}, summary: run.Summary{Program: name}}
}

// header reads and checks the header of the file.
func (r *Reader) header() error {
	b := make([]byte, headerSize)
	n, err := io.ReadFull(r.in, b)
	switch {
	case n == 0 || !IsTrace(b[:n]):
		return r.wrong(errors.New("this is not a trace"))
	case err == io.ErrUnexpectedEOF:
		return r.wrong(errNoBlock)
	case err != nil:
		return fmt.Errorf("read %s: %w", r.name, err)
	case checksum(b[:12]) != binary.LittleEndian.Uint32(b[12:]):
		return r.wrong(errors.New("the header is damaged: its checksum does not match"))
	}
	if v := binary.LittleEndian.Uint16(b[8:]); v != version {
		return r.wrong(fmt.Errorf("the trace has version %d of the format; this program reads version %d", v, version))
	}
	r.offset = headerSize
	return nil
}

// wrong returns an error about the current block.
func (r *Reader) wrong(err error) error {
	return &Error{Name: r.name, Offset: r.start, Err: err}
}

// Names returns the names read so far; Source.
func (r *Reader) Names() *run.Names { return &r.names }

// Summary returns the last summary read, and whether the whole trace was read; Source.
func (r *Reader) Summary() (s run.Summary, whole bool) { return r.summary, r.ended }

// Cut returns, after io.EOF, where the trace is cut short; nil if the trace is whole.
func (r *Reader) Cut() *Cut { return r.cut }

// Next reads the next event into e, all fields except its clock. After the last event the
// error is io.EOF, also if the trace is cut short; see Cut. If the checksum of a block does
// not match, the error is an *Error, and no event of the block is returned.
func (r *Reader) Next(e *event.Event) error {
	for r.left == 0 {
		if r.err != nil {
			return r.err
		}
		if r.err = r.block(); r.err != nil {
			return r.err
		}
	}
	r.left--
	n, ok := r.kindNumbers.short()
	if !ok {
		n = r.kindNumbers.long()
	}
	if n == 0 {
		if err := r.define(); err != nil {
			r.left, r.err = 0, err
			return err
		}
		n = uint64(len(r.kinds))
	}
	if n > uint64(len(r.kinds)) {
		return r.broken("an event is of a kind that the block has not")
	}
	k := &r.kinds[n-1]
	t, ok := r.times.short()
	if !ok {
		t = r.times.long()
	}
	r.time += unzigzag(t)
	if k.kind.flags&event.HasValue != 0 {
		k.value += unzigzag(r.values.uvarint())
		e.Value = k.value
	} else {
		e.Value = 0
	}
	e.Seq, e.Time = r.seq, r.time
	e.Thread, e.Peer, e.Object, e.Object2 = k.kind.thread, k.kind.peer, k.kind.object, k.kind.object2
	e.Stack, e.Op, e.Kind, e.Flags = k.kind.stack, k.kind.op, k.kind.objectKind, k.kind.flags
	e.Func, e.Args = k.kind.fn, nil
	if k.kind.args > 0 {
		for i := range k.kind.args {
			k.args[i] += unzigzag(r.values.uvarint())
		}
		r.args = k.args
		e.Args = r.args[:k.kind.args]
	}
	e.Slot, e.Epoch, e.Since, e.Must = 0, 0, 0, nil
	r.seq++
	if r.left == 0 {
		return r.blockEnd()
	}
	return nil
}

// blockEnd returns an error if the columns of the block were too short for its events, or if
// bytes are left.
func (r *Reader) blockEnd() error {
	for _, c := range []*cursor{&r.definitions, &r.kindNumbers, &r.times, &r.values} {
		if c.bad {
			return r.broken("the block has less than its events need")
		}
		if c.left() > 0 {
			return r.broken("the block has more than its events need")
		}
	}
	return nil
}

// broken ends the reading with an error about the current block, and returns it.
func (r *Reader) broken(why string) error {
	r.left, r.err = 0, r.wrong(errors.New(why))
	return r.err
}

// define reads the definition of the next kind of event. It returns an error if no event can be
// of that kind.
func (r *Reader) define() error {
	c := &r.definitions
	k := eventKind{op: event.Op(c.byte()), objectKind: event.Kind(c.byte())}
	flags := c.number()
	k.flags = event.Flags(flags)
	k.thread, k.peer = event.ThreadID(c.number()), event.ThreadID(c.number())
	r.object += unzigzag(c.uvarint())
	k.object, k.object2 = event.ObjectID(r.object), event.ObjectID(c.number())
	r.stack += unzigzag(c.uvarint())
	k.stack = event.StackID(r.stack)
	if k.op.HasArgs() {
		k.fn, k.args = event.FuncID(c.number()), c.byte()
	}
	threads, objects := event.ThreadID(r.names.Threads()), uint64(r.names.Objects())
	var why string
	switch {
	case c.bad:
		why = "the block has less than its events need"
	case k.op == event.None || k.op >= event.NumOps || flags > uint32(event.AllFlags):
		why = fmt.Sprintf("unknown operation %d, flags %#x: a newer program wrote it", k.op, flags)
	case k.thread == 0 || k.thread > threads || k.peer > threads:
		why = fmt.Sprintf("threads %d and %d of %d", k.thread, k.peer, threads)
	case r.object > objects || uint64(k.object2) > objects:
		why = fmt.Sprintf("objects %d and %d of %d", r.object, k.object2, objects)
	case r.stack > 1<<32-1:
		why = fmt.Sprintf("place %d", r.stack)
	case k.args > event.MaxArgs || int64(k.fn) > int64(r.names.Funcs()):
		why = plural.Sprintf("function %d of %d, %d {argument|arguments}", k.fn, r.names.Funcs(), k.args)
	case k.op.IsCall() && k.fn == 0:
		why = fmt.Sprintf("%s without a function", k.op)
	case needsPeer(k.op) && k.peer == 0:
		why = fmt.Sprintf("%s without the other thread", k.op)
	case needsObject(k.op) && k.object == 0:
		why = fmt.Sprintf("%s without an object", k.op)
	}
	if why != "" {
		return r.wrong(fmt.Errorf("event %d cannot be: %s", r.seq, why))
	}
	r.kinds = append(r.kinds, definedKind{kind: k})
	return nil
}

// needsPeer reports whether every event of an operation has a Peer.
func needsPeer(op event.Op) bool {
	return op == event.Fork || op == event.Join || op == event.Detach
}

// needsObject reports whether every event of an operation has an Object.
func needsObject(op event.Op) bool {
	return op >= event.Read && op <= event.Release || op >= event.Wait && op <= event.Destroy
}

// block reads the next block, with its names and summary. Next decodes its events.
func (r *Reader) block() error {
	h, payload, err := r.load()
	if err != nil {
		return err
	}
	r.raw, err = r.decompress(payload, h.raw)
	if err != nil {
		return err
	}
	if h.events > 0 && h.first < r.seq || h.first > 1<<63 {
		return r.wrong(fmt.Errorf("its first event is number %d, and there was one of number %d before", h.first, r.seq-1))
	}
	r.kinds, r.time, r.object, r.stack = r.kinds[:0], 0, 0, 0
	r.definitions, r.kindNumbers, r.times, r.values = cursor{}, cursor{}, cursor{}, cursor{}
	r.evicted.begin(r)
	if err := r.sections(); err != nil {
		return r.wrong(err)
	}
	if r.evicted.full(r.size) {
		r.Shrink()
	}
	if h.events > 0 {
		r.seq, r.left = h.first, int(h.events)
	}
	r.ended = h.flags&flagEnd != 0
	return nil
}

// load reads a block in its compressed form. At the end of the file, whole or cut, the error is
// io.EOF.
func (r *Reader) load() (h blockHeader, payload []byte, err error) {
	r.start = r.offset
	var b [blockHeaderSize]byte
	n, err := r.read(b[:])
	switch {
	case r.ended && err == io.EOF:
		return h, nil, io.EOF
	case r.ended && n > 0:
		return h, nil, r.wrong(errors.New("bytes after the end of the trace"))
	}
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return h, nil, r.cutHere(n)
	}
	if err != nil {
		return h, nil, err
	}
	if h, err = r.parseHeader(b[:]); err != nil {
		return h, nil, r.wrong(err)
	}
	r.buf = grow(r.buf, int(h.size))
	n, err = r.read(r.buf)
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return h, nil, r.cutHere(blockHeaderSize + n)
	}
	if err != nil {
		return h, nil, err
	}
	if checksum(r.buf) != h.sum {
		return h, nil, r.wrong(errors.New("the block is damaged: its checksum does not match"))
	}
	return h, r.buf, nil
}

// errNoBlock is the error of a file that ends before its first block does. A report without
// findings would be a false statement about such a run.
var errNoBlock = errors.New("the trace is cut short before anything of the run is in it")

// cutHere records that the file ends within the current block, of which it has some bytes, and
// returns the error for Next.
func (r *Reader) cutHere(dropped int) error {
	if r.start == headerSize {
		return r.wrong(errNoBlock)
	}
	r.cut = &Cut{After: max(r.seq, 1) - 1, Offset: r.start, Dropped: int64(dropped)}
	return io.EOF
}

// read fills b, and returns the number of bytes read. The errors io.EOF and io.ErrUnexpectedEOF
// are as io.ReadFull returns them.
func (r *Reader) read(b []byte) (int, error) {
	n, err := io.ReadFull(r.in, b)
	r.offset += int64(n)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		err = fmt.Errorf("read %s: %w", r.name, err)
	}
	return n, err
}

// parseHeader decodes and checks the header of a block.
func (r *Reader) parseHeader(b []byte) (blockHeader, error) {
	le := binary.LittleEndian
	h := blockHeader{
		flags: le.Uint32(b[4:]), events: le.Uint32(b[8:]), raw: le.Uint32(b[12:]), size: le.Uint32(b[16:]),
		first: le.Uint64(b[20:]), sum: le.Uint32(b[28:]),
	}
	switch {
	case string(b[:4]) != blockMark || checksum(b[:32]) != le.Uint32(b[32:]):
		return h, errors.New("the header of the block is damaged: its checksum does not match")
	case h.raw > maxRaw || h.size > maxRaw || h.events > maxEvents:
		return h, fmt.Errorf("a block of %d bytes, %d compressed, with %d events is too large", h.raw, h.size, h.events)
	case h.flags&^flagEnd != 0:
		return h, fmt.Errorf("unknown flags %#x: a newer program wrote it", h.flags)
	}
	return h, nil
}

// grow returns a slice of n bytes, in the memory of b if that is large enough. Their content is
// undefined.
func grow(b []byte, n int) []byte {
	if cap(b) < n {
		return make([]byte, n)
	}
	return b[:n]
}

// decompress returns the payload of a block, which must have the size that the header states.
func (r *Reader) decompress(payload []byte, size uint32) ([]byte, error) {
	out, err := r.dec.DecodeAll(payload, grow(r.raw, int(size))[:0])
	if err != nil {
		return r.raw, r.wrong(fmt.Errorf("decompress the block: %w", err))
	}
	if len(out) != int(size) {
		return out, r.wrong(fmt.Errorf("the length of the decompressed block is %d, and it says %d", len(out), size))
	}
	return out, nil
}

// sections reads the names and the summary of a block, and finds the columns of its events.
func (r *Reader) sections() error {
	b := cursor{b: r.raw}
	var table []string
	for b.left() > 0 {
		tag := b.byte()
		c := cursor{b: b.bytes(b.uvarint())}
		if b.bad {
			return errors.New("a section reaches beyond its block")
		}
		if r.noNames && ofNames(tag) {
			r.countNames(tag, &c)
			continue
		}
		k := &coder{in: &c, table: table}
		var err error
		switch tag {
		case sectionStrings:
			table, err = r.stringTable(&c)
		case sectionStacks:
			err = r.stackNames(k)
		case sectionObjects:
			err = r.objectNames(k)
		case sectionThreads:
			err = r.threadNames(k)
		case sectionFunctions:
			err = r.funcNames(k)
		case sectionSummary:
			err = r.readSummary(c.b)
		case sectionKinds:
			r.definitions = c
		case sectionIndex:
			r.kindNumbers = c
		case sectionTimes:
			r.times = c
		case sectionValues:
			r.values = c
		case sectionForms:
			err = r.forms(k)
		case sectionMembers:
			err = r.members(k)
		case sectionStarts:
			err = r.starts(k)
		case sectionBlocks:
			err = r.blocks(k)
		}
		if wrong := wrongNames[tag]; wrong != nil && err == errNames {
			err = wrong
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// SkipNames has the names only counted of all blocks, before the first of which it is called.
func (r *Reader) SkipNames() { r.noNames = true }

// countNames counts the names in a section.
func (r *Reader) countNames(tag byte, c *cursor) {
	objects, threads, funcs := r.names.Objects(), r.names.Threads(), r.names.Funcs()
	c.uvarint() // the number of the first
	const most = 1 << 31
	switch n := int(min(c.uvarint(), most)); tag {
	case sectionObjects:
		objects += n
	case sectionThreads:
		threads += n
	case sectionFunctions:
		funcs += n
	}
	r.names.BeginAfter(objects, threads, funcs)
}

// ofNames reports whether a section has names, and nothing that the events of its block need.
func ofNames(tag byte) bool {
	switch tag {
	case sectionKinds, sectionIndex, sectionTimes, sectionValues, sectionSummary:
		return false
	}
	return true
}

// readSummary reads the section of the summary.
func (r *Reader) readSummary(text []byte) error {
	var s run.Summary
	if err := json.Unmarshal(text, &s); err != nil {
		return fmt.Errorf("the summary of the run: %w", err)
	}
	r.summary = s
	return nil
}
