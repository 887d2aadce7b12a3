package ring

import (
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"github.com/tracepredict/tracepredict/internal/loadertest"
)

// testRings are ring buffers, and the counter of the numbers that their records have.
type testRings struct {
	*Buffer
	maps    []*ebpf.Map
	numbers *ebpf.Map
}

// sampler is a BPF program that puts one record into a ring buffer.
type sampler struct {
	prog    *ebpf.Program
	size    int
	fill    byte
	discard bool
}

// newSampler makes a sampler whose record has size bytes of the value fill, and its number, if it is not discarded. The
// program returns 1 if there was no room.
func (r *testRings) newSampler(t *testing.T, part, size int, fill byte, discard bool) sampler {
	t.Helper()
	code := asm.Instructions{
		asm.LoadMapPtr(asm.R1, r.maps[part].FD()), asm.Mov.Imm(asm.R2, int32(size)), asm.Mov.Imm(asm.R3, 0), asm.FnRingbufReserve.Call(),
		asm.JEq.Imm(asm.R0, 0, "full"), asm.Mov.Reg(asm.R6, asm.R0),
	}
	for i := range size {
		code = append(code, asm.StoreImm(asm.R6, int16(i), int64(fill), asm.Byte))
	}
	end := asm.FnRingbufDiscard
	if !discard {
		end = asm.FnRingbufSubmit
		draw := asm.FetchAdd.Mem(asm.R1, asm.R2, asm.DWord, 0)
		draw.Constant = int64(asm.FetchAdd >> 8) // v0.22.0 of the library writes a plain addition otherwise
		code = append(code, asm.LoadMapValue(asm.R1, r.numbers.FD(), 0), asm.Mov.Imm(asm.R2, 1), draw,
			asm.StoreMem(asm.R6, int16(numberAt), asm.R2, asm.DWord))
	}
	code = append(code,
		asm.Mov.Reg(asm.R1, asm.R6), asm.Mov.Imm(asm.R2, 0), end.Call(), asm.Mov.Imm(asm.R0, 0), asm.Return(),
		asm.Mov.Imm(asm.R0, 1).WithSymbol("full"), asm.Return())
	prog, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.SocketFilter, License: "MIT", Instructions: code})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { prog.Close() })
	return sampler{prog, size, fill, discard}
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

// is reports whether a record is one of the sampler.
func (s sampler) is(raw []byte) bool {
	return len(raw) == s.size && raw[0] == s.fill && raw[len(raw)-1] == s.fill
}

// newTestRings makes so many ring buffers of a page.
func newTestRings(t *testing.T, parts int) *testRings {
	t.Helper()
	loadertest.NeedBPF(t)
	r := &testRings{}
	var err error
	if r.numbers, err = ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, ValueSize: 8, MaxEntries: 1}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.numbers.Close() })
	for range parts {
		m, err := ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.RingBuf, MaxEntries: uint32(os.Getpagesize())})
		if err != nil {
			t.Fatal(err)
		}
		r.maps = append(r.maps, m)
	}
	if r.Buffer, err = New(r.maps); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

// TestRing: the reader gets the records that were not discarded, in order, from ring buffers so
// small that they wrap around often.
func TestRing(t *testing.T) {
	for _, parts := range []int{1, 2, 4} {
		r := newTestRings(t, parts)
		var samplers []sampler
		for part := range parts {
			for i, size := range []int{32, 40, 64, 101, 333} {
				samplers = append(samplers, r.newSampler(t, part, size, byte(len(samplers)+i), false))
			}
			samplers = append(samplers, r.newSampler(t, part, 64, 99, true))
		}
		random := rand.New(rand.NewPCG(1, uint64(parts)))
		var queue []sampler
		refused, total := 0, 0
		for range 5000 {
			s := samplers[random.IntN(len(samplers))]
			switch room := s.put(t); {
			case !room:
				refused++
			case !s.discard:
				queue = append(queue, s)
			}
			if random.IntN(20*parts) > 0 {
				continue
			}
			n, err := r.drain(func(raw []byte) error {
				if len(queue) == 0 || !queue[0].is(raw) || binary.NativeEndian.Uint64(raw[numberAt:]) != uint64(total) {
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
		if refused == 0 || total < 1000 || r.Late() != 0 {
			t.Errorf("%d records, %d refused, %d late: the ring was never full", total, refused, r.Late())
		}
	}
}

// TestRingGivesSpaceBack: space is released while the reader still drains.
func TestRingGivesSpaceBack(t *testing.T) {
	r := newTestRings(t, 2)
	s := r.newSampler(t, 1, 333, 1, false)
	for s.put(t) {
	}
	if left := r.AvailableBytes(); left > r.BufferSize() || left < r.BufferSize()-800 {
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
	if high := r.HighWater(); high < taken || high > uint64(r.BufferSize()) {
		t.Errorf("at most %d bytes of %d were taken; %d are told of", taken, r.BufferSize(), high)
	}
}

// TestRingErrors: a record that take refuses ends the drain and stays unread.
func TestRingErrors(t *testing.T) {
	r := newTestRings(t, 1)
	s := r.newSampler(t, 0, 32, 1, false)
	s.put(t)
	no := errors.New("no")
	for range 2 {
		if n, err := r.drain(func([]byte) error { return no }); n != 1 || err != no {
			t.Errorf("%d records, %v", n, err)
		}
	}
}

// TestRingWithoutNumber: a record that is too short for a number is an error.
func TestRingWithoutNumber(t *testing.T) {
	r := newTestRings(t, 1)
	code := asm.Instructions{
		asm.LoadMapPtr(asm.R1, r.maps[0].FD()), asm.Mov.Imm(asm.R2, 16), asm.Mov.Imm(asm.R3, 0), asm.FnRingbufReserve.Call(),
		asm.JEq.Imm(asm.R0, 0, "full"), asm.Mov.Reg(asm.R1, asm.R0), asm.Mov.Imm(asm.R2, 0), asm.FnRingbufSubmit.Call(),
		asm.Mov.Imm(asm.R0, 0).WithSymbol("full"), asm.Return(),
	}
	prog, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.SocketFilter, License: "MIT", Instructions: code})
	if err != nil {
		t.Fatal(err)
	}
	defer prog.Close()
	sampler{prog: prog}.put(t)
	if n, err := r.drain(func([]byte) error { return nil }); n != 0 || err == nil {
		t.Errorf("%d records, %v", n, err)
	}
}

// TestRingClose: Close ends a wait, and all later reads fail.
func TestRingClose(t *testing.T) {
	r := newTestRings(t, 2)
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

// TestRingWakes: a wait ends when a record comes, into whichever ring buffer.
func TestRingWakes(t *testing.T) {
	for part := range 2 {
		r := newTestRings(t, 2)
		s := r.newSampler(t, part, 32, 1, false)
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
}

func TestParts(t *testing.T) {
	for _, c := range []struct{ cpus, total, want int }{
		{1, 64 << 20, 1}, {2, 64 << 20, 2}, {3, 64 << 20, 4}, {16, 64 << 20, 16}, {96, 64 << 20, 16},
		{96, 1 << 30, 64}, {16, 16 << 20, 4}, {16, 1 << 20, 1}, {2, 4096, 1},
	} {
		if got := Parts(c.cpus, c.total); got != c.want {
			t.Errorf("%d CPUs, %d bytes: %d, want %d", c.cpus, c.total, got, c.want)
		}
	}
}
