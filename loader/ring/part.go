package ring

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"unsafe"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"github.com/tracepredict/tracepredict/bpf"
)

// part is one of the ring buffers.
type part struct {
	m             *ebpf.Map
	consumerPage  []byte // mapping of the consumer's position
	producerPages []byte // mapping of the producers' position, then of the data twice

	consumed, produced *uint64
	data               []byte // twice the size, so that a record that wraps around is contiguous
	size               uint64

	// Positions up to which records were looked at, and up to which their space has been released. In between are those
	// that wait for their turn.
	scanned, released uint64
	// placeless are the positions before scanned, ascending, of records that had no place in the order when they were
	// looked at: they are being written, or far ahead.
	placeless []uint64
}

const (
	recordHeader = 8
	busyBit      = 1 << 31 // in a record's length: reserved, not committed yet
	discardBit   = 1 << 30 // in a record's length: discarded by its writer
	// maxPlaceless bounds part.placeless. There is one for each thread of a CPU that another one has preempted while it
	// wrote a record.
	maxPlaceless = 64
)

func (p *part) open() (err error) {
	page := os.Getpagesize()
	p.consumerPage, err = unix.Mmap(p.m.FD(), 0, page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err == nil {
		p.producerPages, err = unix.Mmap(p.m.FD(), int64(page), page+2*int(p.size), unix.PROT_READ, unix.MAP_SHARED)
	}
	if err != nil {
		return fmt.Errorf("map the ring buffer: %w", err)
	}
	p.consumed = (*uint64)(unsafe.Pointer(&p.consumerPage[0]))
	p.produced = (*uint64)(unsafe.Pointer(&p.producerPages[0]))
	p.data = p.producerPages[page:]
	return nil
}

func (p *part) close() error {
	var errs []error
	for _, b := range [][]byte{p.consumerPage, p.producerPages} {
		if b != nil {
			errs = append(errs, unix.Munmap(b))
		}
	}
	p.consumerPage, p.producerPages, p.data, p.consumed, p.produced = nil, nil, nil, nil, nil
	return errors.Join(append(errs, p.m.Close())...)
}

// look hands records to the merger: those that it had to leave out before, and new ones, from scanned up to the position
// until, but no more than most bytes of these. It reports whether the merger took any.
func (p *part) look(o *merger, until, most uint64, handle func([]byte) error) (any bool, err error) {
	left := p.placeless[:0]
	for _, at := range p.placeless {
		_, placed, err := p.place(o, at, until, handle)
		if err != nil {
			return any, err
		}
		if any = any || placed; !placed {
			left = append(left, at)
		}
	}
	p.placeless = left
	for end := min(until, p.scanned+most); p.scanned < end && len(p.placeless) < maxPlaceless; {
		next, placed, err := p.place(o, p.scanned, until, handle)
		if err != nil {
			return any, err
		}
		if any = any || placed; !placed {
			p.placeless = append(p.placeless, p.scanned)
		}
		p.scanned = next
	}
	return any, nil
}

// place hands the record at a position to the merger. It returns the position of the next record, and whether this one is
// done with: it is not while its writer has not finished it, or if the merger cannot take it yet.
func (p *part) place(o *merger, at, until uint64, handle func([]byte) error) (next uint64, placed bool, err error) {
	next, state, raw, err := p.record(at, until)
	if err != nil || state != whole {
		return next, state == discarded, err
	}
	placed, err = o.place(raw, handle)
	return next, placed, err
}

// recordState is how far a record is.
type recordState int

const (
	whole recordState = iota
	busy
	discarded
)

// record returns the record at a position, and the position of the next one. raw is nil unless the record is whole.
func (p *part) record(at, until uint64) (next uint64, state recordState, raw []byte, err error) {
	if until-at < recordHeader {
		return at, busy, nil, fmt.Errorf("the header of a record in the ring buffer: %w", io.ErrUnexpectedEOF)
	}
	start := at & (p.size - 1)
	length := atomic.LoadUint32((*uint32)(unsafe.Pointer(&p.data[start])))
	n := uint64(length &^ (busyBit | discardBit))
	next = at + recordHeader + (n+7)&^7
	switch {
	case next-at > until-at:
		return at, busy, nil, fmt.Errorf("a record in the ring buffer: %w", io.ErrUnexpectedEOF)
	case length&busyBit != 0:
		return next, busy, nil, nil
	case length&discardBit != 0:
		return next, discarded, nil, nil
	case n < minRecord:
		return at, busy, nil, fmt.Errorf("the ring buffer brought a record with the length %d, which has no number", n)
	}
	return next, whole, p.data[start+recordHeader:][:n:n], nil
}

// Where the number of a record is.
const (
	numberAt  = unsafe.Offsetof(bpf.Record{}.Number)
	minRecord = uint64(numberAt + unsafe.Sizeof(bpf.Record{}.Number))
)

// numberOf returns the number of a record. The kernel aligns records by 8 bytes.
func numberOf(raw []byte) uint64 { return *(*uint64)(unsafe.Pointer(&raw[numberAt])) }

// release lets the BPF programs write again where records were that have been passed on, up to the first one that has not:
// those are passed on whose numbers are before next.
func (p *part) release(next uint64) {
	before, end := p.released, p.scanned
	if len(p.placeless) > 0 {
		end = p.placeless[0]
	}
	for p.released < end {
		behind, state, raw, err := p.record(p.released, p.scanned)
		if err != nil || state == busy || state == whole && !isBefore(numberOf(raw), next) {
			break
		}
		p.released = behind
	}
	if p.released != before {
		atomic.StoreUint64(p.consumed, p.released)
	}
}
