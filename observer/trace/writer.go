package trace

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

// WriterOptions configures a Writer.
type WriterOptions struct {
	// Names is asked once for each identifier that events mention, from the goroutine of
	// the Writer. Default nil: nothing has a name.
	Names run.Namer
	// Start returns what is known of the run when the first block is written, for a file
	// that may be cut short. It is called from the goroutine of the Writer. Default nil:
	// nothing is known.
	Start func() run.Summary
	// Fresh, if not nil, is called within Event with events that may have new identifiers:
	// with one event of each kind in each block.
	Fresh func(*event.Event)
	// FlushEvery is how long an event may wait to be written in a run that makes few
	// events. Default 0: a second. Negative: until a block is full.
	FlushEvery time.Duration
}

const (
	defaultFlush = time.Second
	// queued bounds the blocks that wait for the disk, and for names.
	queued = 16
)

// Writer writes a trace. Event takes events. A goroutine of the Writer names, compresses
// and writes them, until Close ends it. When that goroutine is more than a few blocks
// behind, Event waits. Event is for one goroutine, and allocates nothing for each event.
type Writer struct {
	mu     sync.Mutex // guards cur and closed; held by Event, Close and the flusher
	cur    *columns
	closed bool

	block  uint64 // counts blocks; an element of known that belongs to another block is stale
	known  []known
	marked map[event.StackID]bool // stacks whose names have been asked for

	queue   chan *columns
	free    chan *columns
	drained chan struct{} // closed when the queue is empty for good
	end     chan *run.Summary
	done    chan struct{} // closed when the writing goroutine has ended
	stop    chan struct{} // ends the flusher
	stopped chan struct{} // closed when it has

	failed atomic.Bool
	err    error // valid once done is closed

	// Used by the writing goroutine alone.
	out      io.Writer
	enc      *zstd.Encoder
	opts     WriterOptions
	names    nameWriter
	raw, buf []byte // of the block at hand
	written  uint64 // Seq of the last event that out has
	begun    bool   // the first block has been written
}

// NewWriter writes the header and starts a trace, which Close ends.
func NewWriter(out io.Writer, opts WriterOptions) (*Writer, error) {
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false), zstd.WithLowerEncoderMem(true))
	if err != nil {
		return nil, fmt.Errorf("start the compression: %w", err)
	}
	w := &Writer{
		cur: &columns{}, block: 1, known: make([]known, slots), marked: map[event.StackID]bool{}, queue: make(chan *columns, queued), free: make(chan *columns, queued+2),
		drained: make(chan struct{}), end: make(chan *run.Summary, 1), done: make(chan struct{}), stop: make(chan struct{}), stopped: make(chan struct{}),
		out: out, enc: enc, opts: opts, names: newNameWriter(opts.Names),
	}
	if _, err := out.Write(header()); err != nil {
		return nil, fmt.Errorf("write the header of the trace: %w", err)
	}
	go w.write()
	go w.flush()
	return w, nil
}

func header() []byte {
	b := append(make([]byte, 0, headerSize), magic...)
	b = binary.LittleEndian.AppendUint16(b, version)
	b = binary.LittleEndian.AppendUint16(b, 0)
	return binary.LittleEndian.AppendUint32(b, checksum(b))
}

func checksum(b []byte) uint32 { return crc32.Checksum(b, castagnoli()) }

// castagnoli returns the table of package crc32, which makes it once and shares it.
func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

// Event takes the next event of the run. Close returns its errors.
func (w *Writer) Event(e *event.Event) {
	if w.failed.Load() {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return
	}
	if w.cur.events > 0 && (w.cur.full() || e.Seq != w.cur.last+1) {
		w.queue <- w.take()
	}
	w.add(e)
}

func (w *Writer) add(e *event.Event) {
	c := w.cur
	if c.events == 0 {
		c.first = e.Seq
	}
	c.events++
	c.last = e.Seq
	k := keyOf(e)
	slot := &w.known[k.slot()]
	if slot.block != w.block || slot.key != k {
		c.define(&k)
		if w.opts.Fresh != nil {
			w.opts.Fresh(e)
		}
		*slot = known{block: w.block, key: k, index: c.kinds}
		c.index = append(c.index, 0)
		if e.Stack != 0 && !w.marked[e.Stack] {
			w.marked[e.Stack] = true
			c.places = append(c.places, e.Stack)
		}
	} else {
		c.index = binary.AppendUvarint(c.index, slot.index)
	}
	c.times = binary.AppendUvarint(c.times, zigzag(e.Time-c.time))
	c.time = e.Time
	if e.Flags&event.HasValue != 0 {
		c.values = binary.AppendUvarint(c.values, zigzag(e.Value-slot.value))
		slot.value = e.Value
	}
	for i, v := range e.Args[:k.args] {
		c.values = binary.AppendUvarint(c.values, zigzag(v-slot.args[i]))
		slot.args[i] = v
	}
}

// take returns the current block and begins another.
func (w *Writer) take() *columns {
	c := w.cur
	select {
	case w.cur = <-w.free:
		w.cur.reset()
	default:
		w.cur = &columns{}
	}
	w.block++
	return c
}

// flush writes the events of a quiet run after a while, so that little is lost if the tool
// is killed. A run that fills the queue is not quiet.
func (w *Writer) flush() {
	defer close(w.stopped)
	every := w.opts.FlushEvery
	if every < 0 {
		return
	}
	if every == 0 {
		every = defaultFlush
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-w.stop:
			return
		case <-tick.C:
			w.flushNow()
		}
	}
}

func (w *Writer) flushNow() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed || w.cur.events == 0 || len(w.queue) == cap(w.queue) {
		return
	}
	w.queue <- w.take() // only we and Event send, under the lock: there is room
}

// Drain writes all events so far. When it returns, only the names that Close needs will be
// asked for. No Event may follow.
func (w *Writer) Drain() {
	w.mu.Lock()
	if !w.closed {
		w.closed = true
		if w.cur.events > 0 {
			w.queue <- w.take()
		}
		close(w.queue)
		close(w.stop)
	}
	w.mu.Unlock()
	<-w.drained
	<-w.stopped
}

// Close writes what is left and the summary, and returns the first error since the
// beginning. It does not close the file. Call it once.
func (w *Writer) Close(s run.Summary) error { return w.close(&s) }

// CloseCut is Close for a run whose end is not known: the trace is read as one that is cut
// short.
func (w *Writer) CloseCut() error { return w.close(nil) }

func (w *Writer) close(s *run.Summary) error {
	w.Drain()
	w.end <- s
	<-w.done
	return w.err
}

// write is what the writing goroutine does.
func (w *Writer) write() {
	defer close(w.done)
	for c := range w.queue {
		w.attempt(func() error { return w.put(c) })
		select {
		case w.free <- c:
		default:
		}
	}
	close(w.drained)
	if s := <-w.end; s != nil {
		w.attempt(func() error { return w.emit(nil, s, flagEnd) })
	}
	w.err = errors.Join(w.err, w.enc.Close())
}

// attempt calls f unless something has failed before: a file with a hole is worse than one
// that is cut short.
func (w *Writer) attempt(f func() error) {
	if w.err != nil {
		return
	}
	if err := f(); err != nil {
		w.err = fmt.Errorf("the trace ends after event %d: %w", w.written, err)
		w.failed.Store(true)
	}
}

// put writes a block of events, with the names that it is the first to need. Blocks of
// names alone precede it if there are many names.
func (w *Writer) put(c *columns) error {
	var s *run.Summary
	if !w.begun {
		w.begun = true
		if w.opts.Start != nil {
			start := w.opts.Start()
			s = &start
		}
	}
	err := w.names.collect(c, func() error { return w.emit(nil, nil, 0) })
	if err != nil {
		return err
	}
	return w.emit(c, s, 0)
}

// emit writes a block: the names collected and, where they are not nil, events and a
// summary.
func (w *Writer) emit(c *columns, s *run.Summary, flags uint32) error {
	var err error
	w.raw = w.names.takeFirst(w.raw[:0])
	if s != nil {
		if w.raw, err = appendSummary(w.raw, s); err != nil {
			return err
		}
	}
	events, first := 0, w.written+1
	if c != nil {
		events, first = c.events, c.first
		w.raw = appendSection(w.raw, sectionKinds, c.kind)
		w.raw = appendSection(w.raw, sectionIndex, c.index)
		w.raw = appendSection(w.raw, sectionTimes, c.times)
		w.raw = appendSection(w.raw, sectionValues, c.values)
	}
	w.raw = w.names.takeLast(w.raw)
	if len(w.raw) > maxRaw {
		return fmt.Errorf("a block of %d bytes is too large", len(w.raw))
	}
	w.buf = w.enc.EncodeAll(w.raw, append(w.buf[:0], make([]byte, blockHeaderSize)...))
	fillBlockHeader(w.buf, blockHeader{flags: flags, events: uint32(events), raw: uint32(len(w.raw)), first: first})
	if _, err := w.out.Write(w.buf); err != nil {
		return err
	}
	if c != nil {
		w.written = c.last
	}
	return nil
}

func appendSection(b []byte, tag byte, content []byte) []byte {
	if len(content) == 0 {
		return b
	}
	b = append(b, tag)
	b = binary.AppendUvarint(b, uint64(len(content)))
	return append(b, content...)
}

func appendSummary(b []byte, s *run.Summary) ([]byte, error) {
	text, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("encode the summary: %w", err)
	}
	return appendSection(b, sectionSummary, text), nil
}

// blockHeader stands before each block.
type blockHeader struct {
	flags, events, raw, size uint32
	first                    uint64
	sum                      uint32 // of the payload
}

// fillBlockHeader puts the header before the payload, which block has already.
func fillBlockHeader(block []byte, h blockHeader) {
	payload := block[blockHeaderSize:]
	b := append(block[:0], blockMark...)
	b = binary.LittleEndian.AppendUint32(b, h.flags)
	b = binary.LittleEndian.AppendUint32(b, h.events)
	b = binary.LittleEndian.AppendUint32(b, h.raw)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(payload)))
	b = binary.LittleEndian.AppendUint64(b, h.first)
	b = binary.LittleEndian.AppendUint32(b, checksum(payload))
	binary.LittleEndian.AppendUint32(b, checksum(b))
}
