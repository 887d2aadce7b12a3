package ring

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"github.com/tracepredict/tracepredict/internal/loadertest"
)

// sampler is a BPF program that puts one record into a ring buffer.
type sampler struct {
	prog    *ebpf.Program
	want    []byte
	discard bool
}

// newSampler makes a sampler whose record has size bytes of the value fill. The program returns
// 1 if there was no room.
func newSampler(t *testing.T, m *ebpf.Map, size int, fill byte, discard bool) sampler {
	t.Helper()
	end := asm.FnRingbufSubmit
	if discard {
		end = asm.FnRingbufDiscard
	}
	code := asm.Instructions{
		asm.LoadMapPtr(asm.R1, m.FD()), asm.Mov.Imm(asm.R2, int32(size)), asm.Mov.Imm(asm.R3, 0), asm.FnRingbufReserve.Call(),
		asm.JEq.Imm(asm.R0, 0, "full"), asm.Mov.Reg(asm.R1, asm.R0),
	}
	for i := range size {
		code = append(code, asm.StoreImm(asm.R1, int16(i), int64(fill), asm.Byte))
	}
	code = append(code,
		asm.Mov.Imm(asm.R2, 0), end.Call(), asm.Mov.Imm(asm.R0, 0), asm.Return(),
		asm.Mov.Imm(asm.R0, 1).WithSymbol("full"), asm.Return())
	prog, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.SocketFilter, License: "MIT", Instructions: code})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { prog.Close() })
	return sampler{prog, bytes.Repeat([]byte{fill}, size), discard}
}

// put runs the program and returns whether there was room.
func (s sampler) put(t *testing.T) bool {
	t.Helper()
	full, err := s.prog.Run(&ebpf.RunOptions{Data: make([]byte, 64)})
	if err != nil {
		t.Fatal(err)
	}
	return full == 0
}

func newTestRing(t *testing.T) (*Buffer, *ebpf.Map) {
	t.Helper()
	loadertest.NeedBPF(t)
	m, err := ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.RingBuf, MaxEntries: uint32(os.Getpagesize())})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	r, err := New(m)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r, m
}

// TestRing: the reader gets the records that were not discarded, in order, from a ring buffer so
// small that it wraps around often.
func TestRing(t *testing.T) {
	r, m := newTestRing(t)
	var samplers []sampler
	for i, size := range []int{1, 8, 64, 100, 333} {
		samplers = append(samplers, newSampler(t, m, size, byte(i+1), false))
	}
	samplers = append(samplers, newSampler(t, m, 64, 99, true))
	random := rand.New(rand.NewPCG(1, 2))
	var queue [][]byte
	refused, total := 0, 0
	for range 5000 {
		s := samplers[random.IntN(len(samplers))]
		switch room := s.put(t); {
		case !room:
			refused++
		case !s.discard:
			queue = append(queue, s.want)
		}
		if random.IntN(20) > 0 {
			continue
		}
		n, err := r.drain(func(raw []byte) error {
			if len(queue) == 0 || !bytes.Equal(raw, queue[0]) {
				t.Fatalf("record %d is %x; %d were left to come", total, raw, len(queue))
			}
			queue = queue[1:]
			total++
			return nil
		})
		if err != nil || len(queue) > 0 {
			t.Fatalf("%d records, %d missing: %v", n, len(queue), err)
		}
		if left := r.AvailableBytes(); left != 0 {
			t.Fatalf("%d bytes are unread", left)
		}
	}
	if refused == 0 || total < 1000 {
		t.Errorf("%d records, %d refused: the ring was never full", total, refused)
	}
}

// TestRingGivesSpaceBack: space is released while the reader still drains.
func TestRingGivesSpaceBack(t *testing.T) {
	r, m := newTestRing(t)
	s := newSampler(t, m, 333, 1, false)
	for s.put(t) {
	}
	if left := r.AvailableBytes(); left > r.BufferSize() || left < r.BufferSize()-400 {
		t.Fatalf("%d bytes of %d are unread in a full ring", left, r.BufferSize())
	}
	n, taken := 0, uint64(r.AvailableBytes())
	_, err := r.drain(func([]byte) error {
		if n++; n < 100 {
			s.put(t)
		}
		return nil
	})
	if err != nil || n < 100 {
		t.Errorf("%d records: %v", n, err)
	}
	if r.highWater < taken || r.highWater > r.size {
		t.Errorf("at most %d bytes of %d were taken; %d are told of", taken, r.size, r.highWater)
	}
}

// TestRingErrors: a record that take refuses ends the drain and stays unread.
func TestRingErrors(t *testing.T) {
	r, m := newTestRing(t)
	s := newSampler(t, m, 8, 1, false)
	s.put(t)
	no := errors.New("no")
	for range 2 {
		if n, err := r.drain(func([]byte) error { return no }); n != 1 || err != no {
			t.Errorf("%d records, %v", n, err)
		}
	}
}

// TestRingClose: Close ends a wait, and all later reads fail.
func TestRingClose(t *testing.T) {
	r, _ := newTestRing(t)
	waited := make(chan error)
	go func() {
		for {
			if err := r.wait(time.Minute); err != nil {
				waited <- err
				return
			}
		}
	}()
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if err := <-waited; err != os.ErrClosed {
		t.Error(err)
	}
	if _, err := r.drain(nil); err != os.ErrClosed {
		t.Error(err)
	}
	if err := r.Close(); err != nil || r.AvailableBytes() != 0 {
		t.Error(err, r.AvailableBytes())
	}
}

// TestRingWakes: a wait ends when a record comes.
func TestRingWakes(t *testing.T) {
	r, m := newTestRing(t)
	s := newSampler(t, m, 8, 1, false)
	done := make(chan error)
	go func() {
		n := 0
		for n == 0 {
			if err := r.wait(time.Minute); err != nil {
				done <- err
				return
			}
			n, _ = r.drain(func([]byte) error { return nil })
		}
		done <- nil
	}()
	s.put(t)
	if err := <-done; err != nil {
		t.Error(err)
	}
}
