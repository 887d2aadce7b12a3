// Package ring reads the BPF ring buffers: it passes records, in the order of the run, to a
// Handler, on one goroutine, and reports how full the buffers are. It knows the kinds of records,
// and not what they mean.
package ring

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"github.com/tracepredict/tracepredict/bpf"
)

// Buffer reads several BPF ring buffers, of which each is that of some CPUs, as one: the order of
// their records is that of the records' numbers.
//
// It reads in place. The Reader of cilium/ebpf takes a lock, copies the
// record and releases its space for each record. The producers read the consumer's position
// whenever they reserve space, so that releasing each record by itself moves that cache line
// from core to core. Here a record is read in place and the space of many is released at once.
// The producers' side is kernel/bpf/ringbuf.c of the kernel.
//
// One goroutine calls Run. Other goroutines may call AvailableBytes, BufferSize, Between and
// Close.
type Buffer struct {
	order  merger
	fd     int // epoll descriptor for wake-ups and for closing
	wakeup int // eventfd that is written at closing
	closed atomic.Bool

	mu        sync.RWMutex // guards parts, and their mappings
	parts     []*part      // all of one size
	batch     uint64       // bytes of a part that are read before their space is released
	highWater uint64       // most unread bytes of a part seen so far; used by the reader's goroutine alone

	requests chan betweenRequest // calls of Between
	pending  *betweenRequest     // the one that waits for its positions; used by the reader's goroutine alone
}

// The program waits from when 1/HighMark of a ring buffer is unread until no more than
// 1/LowMark of each is. The half above the high mark has room for the records that the threads make
// until they have stopped. The quarter below the low mark keeps the reader busy while they start
// again.
const (
	HighMark = 2
	LowMark  = 4
)

// MaxParts is the largest number of ring buffers.
const MaxParts = bpf.MaxRings

// minPart is the smallest size of a ring buffer, in bytes, of which there are several: half of it has room for the
// records that a CPU makes in 20 ms.
const minPart = 4 << 20

// maxBatch is small beside a ring buffer of any use and large beside a record.
const maxBatch = 1 << 16

// Parts returns how many ring buffers there are, a power of two, for a number of CPUs and a total size in bytes.
func Parts(cpus, total int) int {
	n := 1
	for n < cpus && n < MaxParts && total/(2*n) >= minPart {
		n *= 2
	}
	return n
}

// New maps ring buffers, of which there is at least one, for reading. It closes the maps with the Buffer, or if it fails.
func New(maps []*ebpf.Map) (*Buffer, error) {
	r := &Buffer{fd: -1, wakeup: -1, requests: make(chan betweenRequest)}
	var err error
	for _, m := range maps {
		p := &part{m: m, size: uint64(m.MaxEntries())}
		r.parts = append(r.parts, p)
		if err == nil {
			err = p.open()
		}
	}
	r.begin()
	if err == nil {
		r.fd, err = r.WakeUps()
	}
	if err == nil {
		err = r.watchClosing()
	}
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// begin makes what reads the parts.
func (r *Buffer) begin() {
	r.order, r.batch = newMerger(), min(r.parts[0].size/16, maxBatch)
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
//
// A record that is still being written, and all that come behind it in the order of the run, are waited for, but no longer
// than patience: it is late then, and the others are passed on.
func (r *Buffer) drain(handle func([]byte) error) (n int, err error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	for idle := 0; ; {
		if r.closed.Load() {
			return n, os.ErrClosed
		}
		placed, err := r.look(handle)
		if err != nil {
			return n, err
		}
		passed, err := r.order.pass(handle)
		n += passed
		r.release()
		if err != nil {
			return n, err
		}
		r.serveBetween()
		if placed || passed > 0 {
			idle = 0
			continue
		}
		if idle++; !r.unsettled() || !r.order.wait(r.parts, idle) {
			return n, nil
		}
	}
}

// look hands the records that are there to the merger, batch bytes of each part at most. It reports whether there were any.
func (r *Buffer) look(handle func([]byte) error) (any bool, err error) {
	for _, p := range r.parts {
		until := atomic.LoadUint64(p.produced)
		r.highWater = max(r.highWater, until-p.released)
		placed, err := p.look(&r.order, until, r.batch, handle)
		if any = any || placed; err != nil {
			return any, err
		}
	}
	return any, nil
}

// release lets the BPF programs write again where records were that have been passed on.
func (r *Buffer) release() {
	for _, p := range r.parts {
		p.release(r.order.next)
	}
}

// unsettled reports whether a record has been looked at that was not passed on.
func (r *Buffer) unsettled() bool {
	return slices.ContainsFunc(r.parts, func(p *part) bool { return p.released != p.scanned })
}

// AvailableBytes returns how many bytes would be unread, headers included, if each part had as many as the one that has
// most; 0 while the ring buffer is being closed.
func (r *Buffer) AvailableBytes() int {
	if !r.mu.TryRLock() {
		return 0
	}
	defer r.mu.RUnlock()
	most := uint64(0)
	for _, p := range r.parts {
		if p.produced != nil {
			most = max(most, atomic.LoadUint64(p.produced)-atomic.LoadUint64(p.consumed))
		}
	}
	return int(most) * len(r.parts)
}

// producedUpTo returns the position in each part behind all records that have been reserved.
func (r *Buffer) producedUpTo() []uint64 {
	r.mu.RLock()
	defer r.mu.RUnlock()
	all := make([]uint64, 0, len(r.parts))
	for _, p := range r.parts {
		if p.produced != nil {
			all = append(all, atomic.LoadUint64(p.produced))
		}
	}
	return all
}

// readUpTo reports whether all records up to a position in each part have been read.
func (r *Buffer) readUpTo(all []uint64) bool {
	for i, at := range all {
		if r.parts[i].released < at {
			return false
		}
	}
	return true
}

// WakeUps returns a new epoll descriptor that becomes ready once at each wake-up. The descriptors
// of the ring buffers themselves are ready as long as anything is unread.
func (r *Buffer) WakeUps() (int, error) {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	for _, p := range r.parts {
		if err == nil {
			err = unix.EpollCtl(fd, unix.EPOLL_CTL_ADD, p.m.FD(), &unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLET})
		}
	}
	if err != nil {
		if fd >= 0 {
			unix.Close(fd)
		}
		return -1, fmt.Errorf("watch the ring buffer: %w", err)
	}
	return fd, nil
}

// HighWater returns how many bytes would have been unread if each part had had as many as the reader has seen in one at
// most. It is valid once the reader has ended.
func (r *Buffer) HighWater() uint64 { return r.highWater * uint64(len(r.parts)) }

// Late returns how many records came so late that others behind them were passed on before: a hole is in their place. It
// is valid once the reader has ended.
func (r *Buffer) Late() uint64 { return r.order.late }

// BufferSize returns the size of all ring buffers together, in bytes.
func (r *Buffer) BufferSize() int { return int(r.parts[0].size) * len(r.parts) }

// Close frees the ring buffers. It first ends a wait or a drain of another goroutine, which
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
	for _, p := range r.parts {
		errs = append(errs, p.close())
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("close the ring buffer: %w", err)
	}
	return nil
}
