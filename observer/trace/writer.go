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

	"github.com/tracepredict/tracepredict/internal/safely"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

// WriterOptions configures a Writer.
type WriterOptions struct {
	// Names returns the names of identifiers. The goroutine of the Writer asks it once for each
	// identifier in events. Default nil: there are no names.
	Names run.Namer
	// Start returns the summary of the run that the first block contains, for a file that
	// may be cut short. It is called from the goroutine of the Writer. Default nil: the
	// first block has no summary.
	Start func() run.Summary
	// Fresh, if not nil, is called within Event with each event that may have an identifier
	// that is new to the trace, and also with some events that have none.
	Fresh func(*event.Event)
	// FlushEvery bounds the time that an event waits to be written in a run that makes few
	// events. Default 0: a second. Negative: until a block is full.
	FlushEvery time.Duration
}

const (
	defaultFlush = time.Second
	// maxQueued bounds the blocks that wait for their names and for the disk.
	maxQueued = 16
)

// Writer writes a trace. Event receives events. A goroutine of the Writer adds names,
// compresses and writes them, until Close ends it. When maxQueued blocks wait for that
// goroutine, Event waits. Event is for one goroutine, and allocates nothing for each event.
type Writer struct {
	mu         sync.Mutex             // guards the fields down to seenStacks
	cur        *columns               // the current block
	closed     bool                   // no event is accepted any more
	block      uint64                 // number of the current block, from 1
	kindCache  []cachedKind           // by eventKind.cacheIndex; entries of other blocks are stale
	seenStacks map[event.StackID]bool // stacks of the events of this block and of earlier ones

	queue   chan *columns     // blocks to be written
	free    chan *columns     // written blocks, to be reused
	drained chan struct{}     // closed when all blocks of the queue were written, after Drain
	end     chan *run.Summary // receives the summary of the end; nil for CloseCut
	done    chan struct{}     // closed when the writing goroutine has ended
	stop    chan struct{}     // closed to end the flushing goroutine
	stopped chan struct{}     // closed when the flushing goroutine has ended

	failed atomic.Bool // a write has failed: further events are discarded
	err    error       // valid once done is closed

	// Used by the writing goroutine alone.
	out      io.Writer
	enc      *zstd.Encoder
	opts     WriterOptions
	names    nameWriter
	raw, buf []byte // the current block, decompressed and compressed
	written  uint64 // Seq of the last event written to out
	begun    bool   // the first block has been written
	headed   bool   // the header has been written
}

// NewWriter starts a trace, which Close ends. Nothing is written before the first block, or Close: until then, out may
// be a file that keeps what it held.
func NewWriter(out io.Writer, opts WriterOptions) (*Writer, error) {
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false), zstd.WithLowerEncoderMem(true))
	if err != nil {
		return nil, fmt.Errorf("start the compression: %w", err)
	}
	w := &Writer{
		cur: &columns{}, block: 1, kindCache: make([]cachedKind, kindCacheSize), seenStacks: map[event.StackID]bool{}, queue: make(chan *columns, maxQueued), free: make(chan *columns, maxQueued+2),
		drained: make(chan struct{}), end: make(chan *run.Summary, 1), done: make(chan struct{}), stop: make(chan struct{}), stopped: make(chan struct{}),
		out: out, enc: enc, opts: opts, names: newNameWriter(opts.Names),
	}
	safely.Go(w.write, w.fail)
	safely.Go(w.flush, w.fail)
	return w, nil
}

// header returns the header of a file.
func header() []byte {
	b := append(make([]byte, 0, headerSize), magic...)
	b = binary.LittleEndian.AppendUint16(b, version)
	b = binary.LittleEndian.AppendUint16(b, 0)
	return binary.LittleEndian.AppendUint32(b, checksum(b))
}

func checksum(b []byte) uint32 { return crc32.Checksum(b, castagnoli()) }

// castagnoli returns the CRC-32C table, which package crc32 makes once and shares.
func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

// Event adds the next event of the run. Close returns its errors.
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
		w.queue <- w.startBlock()
	}
	w.add(e)
}

// add adds an event to the current block.
func (w *Writer) add(e *event.Event) {
	c := w.cur
	if c.events == 0 {
		c.first = e.Seq
	}
	c.events++
	c.last = e.Seq
	k := kindOf(e)
	cached := &w.kindCache[k.cacheIndex()]
	if cached.block != w.block || cached.kind != k {
		c.define(&k)
		if w.opts.Fresh != nil {
			w.opts.Fresh(e)
		}
		*cached = cachedKind{block: w.block, kind: k, number: c.kindCount}
		c.kindNumbers = append(c.kindNumbers, 0)
		if e.Stack != 0 && !w.seenStacks[e.Stack] {
			w.seenStacks[e.Stack] = true
			c.stacks = append(c.stacks, e.Stack)
		}
	} else {
		c.kindNumbers = binary.AppendUvarint(c.kindNumbers, cached.number)
	}
	c.times = binary.AppendUvarint(c.times, zigzag(e.Time-c.time))
	c.time = e.Time
	if e.Flags&event.HasValue != 0 {
		c.values = binary.AppendUvarint(c.values, zigzag(e.Value-cached.value))
		cached.value = e.Value
	}
	for i, v := range e.Args[:k.args] {
		c.values = binary.AppendUvarint(c.values, zigzag(v-cached.args[i]))
		cached.args[i] = v
	}
}

// startBlock starts a new block, and returns the one that was current.
func (w *Writer) startBlock() *columns {
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

// flush writes incomplete blocks at intervals in a run that makes few events, so that little
// is lost if the tool is killed. It skips a run that has filled the queue.
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

// flushNow queues the current block, unless it is empty or the queue is full.
func (w *Writer) flushNow() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed || w.cur.events == 0 || len(w.queue) == cap(w.queue) {
		return
	}
	w.queue <- w.startBlock() // does not block: all senders hold the lock, and there was room
}

// Drain writes all events so far. After it has returned, the Writer calls no method of Names.
// No Event may follow.
func (w *Writer) Drain() {
	w.mu.Lock()
	if !w.closed {
		w.closed = true
		if w.cur.events > 0 {
			w.queue <- w.startBlock()
		}
		close(w.queue)
		close(w.stop)
	}
	w.mu.Unlock()
	<-w.drained
	<-w.stopped
}

// Close writes the remaining events and the summary, and returns the first error since the
// beginning. It does not close the file. It must be called once.
func (w *Writer) Close(s run.Summary) error { return w.close(&s) }

// CloseCut is Close for a run whose end is not known. It writes no summary, so that a Reader
// reports the trace as cut short.
func (w *Writer) CloseCut() error { return w.close(nil) }

// close ends the trace, with a summary unless s is nil.
func (w *Writer) close(s *run.Summary) error {
	w.Drain()
	w.end <- s
	<-w.done
	return w.err
}

// write writes blocks until the end of the trace. It is the body of the writing goroutine.
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
	s := <-w.end
	w.attempt(w.writeHeader)
	if s != nil {
		w.attempt(func() error { return w.emit(nil, s, flagEnd) })
	}
	w.err = errors.Join(w.err, w.enc.Close())
}

// fail handles a panic of a goroutine outside of attempt: further events are discarded.
func (w *Writer) fail(*safely.Panic) { w.failed.Store(true) }

// attempt calls f unless an earlier call has failed: a file with a gap is worse than one that
// is cut short.
func (w *Writer) attempt(f func() error) {
	if w.err != nil {
		return
	}
	var err error
	if p := safely.Call(func() { err = f() }); p != nil {
		err = p
	}
	if err != nil {
		w.err = fmt.Errorf("the trace ends after event %d: %w", w.written, err)
		w.failed.Store(true)
	}
}

// writeHeader writes the header of the file, unless it has been written.
func (w *Writer) writeHeader() error {
	if w.headed {
		return nil
	}
	w.headed = true
	if _, err := w.out.Write(header()); err != nil {
		return fmt.Errorf("write the header of the trace: %w", err)
	}
	return nil
}

// put writes a block of events, with the names that no earlier block needed. Blocks that have
// only names precede it if there are many names.
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

// emit writes a block: the collected names, the events c and the summary s. Each of c and s may
// be nil.
func (w *Writer) emit(c *columns, s *run.Summary, flags uint32) error {
	var err error
	w.raw = w.names.flushLeading(w.raw[:0])
	if s != nil {
		if w.raw, err = appendSummary(w.raw, s); err != nil {
			return err
		}
	}
	events, first := 0, w.written+1
	if c != nil {
		events, first = c.events, c.first
		w.raw = appendSection(w.raw, sectionKinds, c.kinds)
		w.raw = appendSection(w.raw, sectionIndex, c.kindNumbers)
		w.raw = appendSection(w.raw, sectionTimes, c.times)
		w.raw = appendSection(w.raw, sectionValues, c.values)
	}
	w.raw = w.names.flushTrailing(w.raw)
	if len(w.raw) > maxRaw {
		return fmt.Errorf("a block of %d bytes is too large", len(w.raw))
	}
	w.buf = w.enc.EncodeAll(w.raw, append(w.buf[:0], make([]byte, blockHeaderSize)...))
	fillBlockHeader(w.buf, blockHeader{flags: flags, events: uint32(events), raw: uint32(len(w.raw)), first: first})
	if err := w.writeHeader(); err != nil {
		return err
	}
	if _, err := w.out.Write(w.buf); err != nil {
		return err
	}
	if c != nil {
		w.written = c.last
	}
	return nil
}

// appendSection appends a section to b, unless its content is empty.
func appendSection(b []byte, tag byte, content []byte) []byte {
	if len(content) == 0 {
		return b
	}
	b = append(b, tag)
	b = binary.AppendUvarint(b, uint64(len(content)))
	return append(b, content...)
}

// appendSummary appends the section of the summary to b.
func appendSummary(b []byte, s *run.Summary) ([]byte, error) {
	text, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("encode the summary: %w", err)
	}
	return appendSection(b, sectionSummary, text), nil
}

// blockHeader is the header of a block. Events is the number of its events; raw and size are the
// numbers of bytes of its payload, decompressed and compressed.
type blockHeader struct {
	flags, events, raw, size uint32
	first                    uint64 // Seq of the first event
	sum                      uint32 // checksum of the compressed payload
}

// fillBlockHeader writes the header before the payload, which block contains already.
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
