// Package ring reads the BPF ring buffer: it hands records, in the order of the run, to a Handler,
// on one goroutine, and says how full the buffer is. It knows how records are told apart, and not
// what they mean.
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
// record and releases its space for each record. The producers read the same word whenever they
// reserve space, so that each record moves it from core to core. Here a record is read in place
// and the space of many is released at once. kernel/bpf/ringbuf.c of the kernel is the other side.
//
// cilium/ebpf's ringbuf.RawReader is to replace this file once a release has it and the benchmark
// of the pipeline is equal; v0.22.0, the newest release, does not.
//
// One goroutine reads. AvailableBytes, BufferSize and Close may be called by others.
type Buffer struct {
	m      *ebpf.Map
	fd     int // epoll, of the ring buffer and of closing
	wakeup int // eventfd that reports closing
	closed atomic.Bool

	mu    sync.RWMutex // guards what is mapped
	own   []byte       // our position
	their []byte       // the producers' position, then the data twice

	consumed, produced *uint64
	data               []byte // twice the size: what wraps around lies in one piece
	size               uint64
	batch              uint64 // bytes to read before their space is given back
	high               uint64 // most bytes that were taken when the reader looked; of the reader alone

	visits  chan visit // see between
	visitor *visit     // the one that waits; of the reader alone
}

// The program waits once 1/HighMark of the ring buffer is unread, until no more than 1/LowMark
// is: half of it is left for what the threads make until they have stopped, and a quarter stays
// to be read while they start again.
const (
	HighMark = 2
	LowMark  = 4
)

const (
	recordHeader = 8
	busyBit      = 1 << 31 // reserved, not committed yet
	discardBit   = 1 << 30
	// maxBatch is small beside a ring buffer of any use and large beside a record.
	maxBatch = 1 << 16
	// spins is how often a record that is being written is looked at before
	// the processor is given away: its writer may want it.
	spins = 100
)

// New maps a ring buffer for reading.
func New(m *ebpf.Map) (*Buffer, error) {
	size, page := int(m.MaxEntries()), os.Getpagesize()
	r := &Buffer{m: m, fd: -1, wakeup: -1, visits: make(chan visit), size: uint64(size), batch: min(uint64(size)/16, maxBatch)}
	var err error
	if r.fd, err = r.WakeUps(); err != nil {
		return nil, err
	}
	if err = r.watchClosing(); err == nil {
		r.own, err = unix.Mmap(m.FD(), 0, page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	}
	if err == nil {
		r.their, err = unix.Mmap(m.FD(), int64(page), page+2*size, unix.PROT_READ, unix.MAP_SHARED)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("map the ring buffer: %w", err), r.Close())
	}
	r.consumed = (*uint64)(unsafe.Pointer(&r.own[0]))
	r.produced = (*uint64)(unsafe.Pointer(&r.their[0]))
	r.data = r.their[page:]
	return r, nil
}

func (r *Buffer) watchClosing() error {
	var err error
	if r.wakeup, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err != nil {
		return err
	}
	return unix.EpollCtl(r.fd, unix.EPOLL_CTL_ADD, r.wakeup, &unix.EpollEvent{Events: unix.EPOLLIN})
}

// wait waits until a producer asks for the reader, or so long. The error is
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

// drain hands take all records that there are, and gives their number. What take
// is given lies in memory that is shared with the kernel: it cannot be written,
// and is good until take returns. The error is os.ErrClosed once the ring buffer is closed.
func (r *Buffer) drain(take func([]byte) error) (n int, err error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if r.closed.Load() {
		return 0, os.ErrClosed
	}
	at := atomic.LoadUint64(r.consumed)
	given := at // back
	defer func() { atomic.StoreUint64(r.consumed, at) }()
	for {
		until := atomic.LoadUint64(r.produced)
		if at == until {
			return n, nil
		}
		r.high = max(r.high, until-given)
		for at != until {
			next, raw, err := r.record(at, until)
			if err != nil {
				return n, err
			}
			if raw != nil {
				n++
				if err := take(raw); err != nil {
					return n, err
				}
			}
			if at = next; at-given < r.batch {
				continue
			}
			atomic.StoreUint64(r.consumed, at)
			r.high = max(r.high, atomic.LoadUint64(r.produced)-given)
			if given = at; r.closed.Load() {
				return n, os.ErrClosed
			}
			r.serve(at)
		}
	}
}

// record returns the record at a position, and the position of the next one. It is nil
// for a record that its writer has discarded.
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

// AvailableBytes returns how much is unread, headers included; 0 when it is being closed.
func (r *Buffer) AvailableBytes() int {
	if !r.mu.TryRLock() {
		return 0
	}
	defer r.mu.RUnlock()
	if r.their == nil {
		return 0
	}
	consumed := atomic.LoadUint64(r.consumed)
	return int(atomic.LoadUint64(r.produced) - consumed)
}

// written returns the position behind all records that there are.
func (r *Buffer) written() uint64 {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if r.their == nil {
		return 0
	}
	return atomic.LoadUint64(r.produced)
}

// read returns the position behind all records that have been read.
func (r *Buffer) read() uint64 {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if r.own == nil {
		return 0
	}
	return atomic.LoadUint64(r.consumed)
}

// WakeUps returns a new epoll descriptor for the wake-ups of the ring buffer, each once: the
// ring buffer itself is ready to be read whenever anything is unread.
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

// HighWater returns the most bytes that were taken when the reader looked; valid once it
// has ended.
func (r *Buffer) HighWater() uint64 { return r.high }

// BufferSize returns the size of the ring buffer in bytes.
func (r *Buffer) BufferSize() int { return int(r.size) }

// Close ends a wait or a drain under way, which end with os.ErrClosed, and frees
// the ring buffer.
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
	for _, b := range [][]byte{r.own, r.their} {
		if b != nil {
			errs = append(errs, unix.Munmap(b))
		}
	}
	r.own, r.their, r.data, r.consumed, r.produced = nil, nil, nil, nil, nil
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("close the ring buffer: %w", err)
	}
	return nil
}
