// Package ring reads the BPF ring buffer: it passes records, in the order of the run, to a
// Handler, on one goroutine, and reports how full the buffer is. It knows the kinds of records,
// and not what they mean.
package ring

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"
)

// Buffer reads a BPF ring buffer in place. The Reader of cilium/ebpf takes a lock, copies the
// record and releases its space for each record. The producers read the consumer's position
// whenever they reserve space, so that releasing each record by itself moves that cache line
// from core to core. Here a record is read in place and the space of many is released at once.
// The producers' side is kernel/bpf/ringbuf.c of the kernel.
//
// cilium/ebpf's ringbuf.RawReader is to replace this file once a release has it and the
// benchmark of the pipeline is equal; v0.22.0, the newest release, does not have it.
//
// One goroutine calls Run. Other goroutines may call AvailableBytes, BufferSize, Between and
// Close.
type Buffer struct {
	m      *ebpf.Map
	fd     int // epoll descriptor for wake-ups and for closing
	wakeup int // eventfd that is written at closing
	closed atomic.Bool

	mu            sync.RWMutex // guards the mappings
	consumerPage  []byte       // mapping of the consumer's position
	producerPages []byte       // mapping of the producers' position, then of the data twice

	consumed, produced *uint64
	data               []byte // twice the size, so that a record that wraps around is contiguous
	size               uint64
	batch              uint64 // bytes that are read before their space is released
	highWater          uint64 // most unread bytes seen so far; used by the reader's goroutine alone

	requests chan betweenRequest // calls of Between
	pending  *betweenRequest     // the one that waits for its position; used by the reader's goroutine alone
}

// The program waits from when 1/HighMark of the ring buffer is unread until no more than
// 1/LowMark is. The half above the high mark has room for the records that the threads make
// until they have stopped. The quarter below the low mark keeps the reader busy while they start
// again.
const (
	HighMark = 2
	LowMark  = 4
)

const (
	recordHeader = 8
	busyBit      = 1 << 31 // in a record's length: reserved, not committed yet
	discardBit   = 1 << 30 // in a record's length: discarded by its writer
	// maxBatch is small beside a ring buffer of any use and large beside a record.
	maxBatch = 1 << 16
	// spins is the number of looks at a record that is being written, after which the reader
	// yields the processor: the record's writer may need it.
	spins = 100
)

// New maps a ring buffer for reading.
func New(m *ebpf.Map) (*Buffer, error) {
	size, page := int(m.MaxEntries()), os.Getpagesize()
	r := &Buffer{m: m, fd: -1, wakeup: -1, requests: make(chan betweenRequest), size: uint64(size), batch: min(uint64(size)/16, maxBatch)}
	var err error
	if r.fd, err = r.WakeUps(); err != nil {
		return nil, err
	}
	if err = r.watchClosing(); err == nil {
		r.consumerPage, err = unix.Mmap(m.FD(), 0, page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	}
	if err == nil {
		r.producerPages, err = unix.Mmap(m.FD(), int64(page), page+2*size, unix.PROT_READ, unix.MAP_SHARED)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("map the ring buffer: %w", err), r.Close())
	}
	r.consumed = (*uint64)(unsafe.Pointer(&r.consumerPage[0]))
	r.produced = (*uint64)(unsafe.Pointer(&r.producerPages[0]))
	r.data = r.producerPages[page:]
	return r, nil
}

func (r *Buffer) watchClosing() error {
	var err error
	if r.wakeup, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err != nil {
		return err
	}
	return unix.EpollCtl(r.fd, unix.EPOLL_CTL_ADD, r.wakeup, &unix.EpollEvent{Events: unix.EPOLLIN})
}

// wait waits until a producer wakes the reader, but no longer than atMost. It returns
// os.ErrClosed once the ring buffer is closed.
func (r *Buffer) wait(atMost time.Duration) error {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if r.closed.Load() {
		return os.ErrClosed
	}
	var events [2]unix.EpollEvent
	_, err := unix.EpollWait(r.fd, events[:], int(atMost.Milliseconds()))
	switch {
	case r.closed.Load():
		return os.ErrClosed
	case err != nil && err != unix.EINTR:
		return fmt.Errorf("wait for the ring buffer: %w", err)
	}
	return nil
}

// drain calls handle with each record that is there, and returns the number of records. The
// argument of handle lies in memory that is shared with the kernel: it is read-only, and valid
// until handle returns. drain returns os.ErrClosed once the ring buffer is closed.
func (r *Buffer) drain(handle func([]byte) error) (n int, err error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if r.closed.Load() {
		return 0, os.ErrClosed
	}
	at := atomic.LoadUint64(r.consumed)
	released := at // position up to which space has been released
	defer func() { atomic.StoreUint64(r.consumed, at) }()
	for {
		until := atomic.LoadUint64(r.produced)
		if at == until {
			return n, nil
		}
		r.highWater = max(r.highWater, until-released)
		for at != until {
			next, raw, err := r.record(at, until)
			if err != nil {
				return n, err
			}
			if raw != nil {
				n++
				if err := handle(raw); err != nil {
					return n, err
				}
			}
			if at = next; at-released < r.batch {
				continue
			}
			atomic.StoreUint64(r.consumed, at)
			r.highWater = max(r.highWater, atomic.LoadUint64(r.produced)-released)
			if released = at; r.closed.Load() {
				return n, os.ErrClosed
			}
			r.serveBetween(at)
		}
	}
}

// record returns the record at a position, and the position of the next one. raw is nil for a
// record that its writer has discarded.
func (r *Buffer) record(at, until uint64) (next uint64, raw []byte, err error) {
	if until-at < recordHeader {
		return at, nil, fmt.Errorf("the header of a record in the ring buffer: %w", io.ErrUnexpectedEOF)
	}
	start := at & (r.size - 1)
	header := (*uint32)(unsafe.Pointer(&r.data[start]))
	length := atomic.LoadUint32(header)
	for i := 1; length&busyBit != 0; i++ {
		if r.closed.Load() {
			return at, nil, os.ErrClosed
		}
		if i%spins == 0 {
			_, _, _ = unix.RawSyscall(unix.SYS_SCHED_YIELD, 0, 0, 0)
		}
		length = atomic.LoadUint32(header)
	}
	n := uint64(length &^ (busyBit | discardBit))
	next = at + recordHeader + (n+7)&^7
	if next-at > until-at {
		return at, nil, fmt.Errorf("a record in the ring buffer: %w", io.ErrUnexpectedEOF)
	}
	if length&discardBit != 0 {
		return next, nil, nil
	}
	return next, r.data[start+recordHeader:][:n:n], nil
}

// AvailableBytes returns the number of unread bytes, headers included; 0 while the ring buffer
// is being closed.
func (r *Buffer) AvailableBytes() int {
	if !r.mu.TryRLock() {
		return 0
	}
	defer r.mu.RUnlock()
	if r.producerPages == nil {
		return 0
	}
	consumed := atomic.LoadUint64(r.consumed)
	return int(atomic.LoadUint64(r.produced) - consumed)
}

// producedUpTo returns the position behind all records that have been reserved.
func (r *Buffer) producedUpTo() uint64 {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if r.producerPages == nil {
		return 0
	}
	return atomic.LoadUint64(r.produced)
}

// consumedUpTo returns the position behind all records that have been read.
func (r *Buffer) consumedUpTo() uint64 {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if r.consumerPage == nil {
		return 0
	}
	return atomic.LoadUint64(r.consumed)
}

// WakeUps returns a new epoll descriptor that becomes ready once at each wake-up. The descriptor
// of the ring buffer itself is ready as long as anything is unread.
func (r *Buffer) WakeUps() (int, error) {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err == nil {
		err = unix.EpollCtl(fd, unix.EPOLL_CTL_ADD, r.m.FD(), &unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLET})
	}
	if err != nil {
		return -1, fmt.Errorf("watch the ring buffer: %w", err)
	}
	return fd, nil
}

// HighWater returns the most unread bytes that the reader has seen. It is valid once the reader
// has ended.
func (r *Buffer) HighWater() uint64 { return r.highWater }

// BufferSize returns the size of the ring buffer in bytes.
func (r *Buffer) BufferSize() int { return int(r.size) }

// Close frees the ring buffer. It first ends a wait or a drain of another goroutine, which
// return os.ErrClosed.
func (r *Buffer) Close() error {
	if r.closed.Swap(true) {
		return nil
	}
	if r.wakeup >= 0 {
		_, _ = unix.Write(r.wakeup, []byte{1, 0, 0, 0, 0, 0, 0, 0}) // cannot be full
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	var errs []error
	for _, fd := range []int{r.fd, r.wakeup} {
		if fd >= 0 {
			errs = append(errs, unix.Close(fd))
		}
	}
	for _, b := range [][]byte{r.consumerPage, r.producerPages} {
		if b != nil {
			errs = append(errs, unix.Munmap(b))
		}
	}
	r.consumerPage, r.producerPages, r.data, r.consumed, r.produced = nil, nil, nil, nil, nil
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("close the ring buffer: %w", err)
	}
	return nil
}
