package stacks

import (
	"bytes"
	"encoding/binary"
	"slices"
	"testing"

	"github.com/tracepredict/tracepredict/bpf"
)

// partOf returns a part as the BPF program sends it.
func partOf(tid, id uint32, addr uint64, data ...byte) *bpf.StackPart {
	p := &bpf.StackPart{Addr: addr, Tid: tid, Stack: id, Size: uint16(len(data))}
	copy(p.Data[:], data)
	return p
}

func returnsOf(pairs ...uint64) (data []byte) {
	for _, v := range pairs {
		data = binary.LittleEndian.AppendUint64(data, v)
	}
	return data
}

// TestCollector: the parts of several threads arrive mixed, and each stack is put together.
func TestCollector(t *testing.T) {
	c := Collector{}
	c.Part(partOf(1, 10, 0x1000, 1, 2, 3))
	c.Part(partOf(2, 11, 0x5000, 9))
	c.Part(partOf(1, 10, 0x1003, 4))
	c.Part(partOf(1, 10, 0x2000, 5)) // not contiguous with the part before
	for _, want := range []struct {
		tid, id uint32
		base    uint64
		bytes   []byte
	}{{2, 11, 0x5000, []byte{9}}, {1, 10, 0x1000, []byte{1, 2, 3, 4}}, {3, 12, 0, nil}} {
		k := c.Finish(&bpf.StackRecord{Tid: want.tid, Stack: want.id, Site: 7})
		if k.base != want.base || !bytes.Equal(k.bytes, want.bytes) || k.head.Site != 7 {
			t.Errorf("thread %d: %+v", want.tid, k)
		}
	}
	if len(c) > 0 {
		t.Errorf("left: %v", c)
	}
}

// TestCollectorForgets: parts whose record was lost are discarded when their thread sends
// others.
func TestCollectorForgets(t *testing.T) {
	c := Collector{}
	c.Part(partOf(1, 10, 0x1000, 1))
	c.Part(partOf(1, 11, 0x2000, 2))
	if k := c.Finish(&bpf.StackRecord{Tid: 1, Stack: 11}); k.base != 0x2000 || !bytes.Equal(k.bytes, []byte{2}) {
		t.Errorf("%+v", k)
	}
	c.Part(partOf(1, 12, 0x1000, 1))
	if k := c.Finish(&bpf.StackRecord{Tid: 1, Stack: 13}); len(k.bytes) > 0 {
		t.Errorf("parts of another id: %+v", k)
	}
	for tid := range uint32(3 * maxCollected) {
		c.Part(partOf(tid, tid+1, 0x1000, 1))
	}
	if len(c) > maxCollected {
		t.Errorf("%d stacks are kept", len(c))
	}
}

// TestReturnsPutBack: the copy has the return addresses that the program put on its stack where
// uretprobes had reidd them.
func TestReturnsPutBack(t *testing.T) {
	c := Collector{}
	c.Part(partOf(1, 1, 0, returnsOf(0x1008, 0xaa, 0x100c, 0xbb, 0xff8, 0xcc)...))
	c.Part(partOf(1, 1, 0x1000, make([]byte, 16)...))
	k := c.Finish(&bpf.StackRecord{Tid: 1, Stack: 1})
	if v, ok := k.word(0x1008, 8); !ok || v != 0xaa {
		t.Errorf("%#x, %v", v, ok)
	}
	if slices.Index(k.bytes, 0xbb) >= 0 || slices.Index(k.bytes, 0xcc) >= 0 {
		t.Errorf("% x: written over the end", k.bytes)
	}
}

// TestReturnsOf: the words that hold the return addresses are found in the order of the walk, also where one calls itself;
// one that is from a register, or that a uretprobe has replaced, has no word of the stack.
func TestReturnsOf(t *testing.T) {
	k := &Copy{returns: []replacedReturn{{at: 40, original: 9}}}
	read := []Return{{8, 5}, {16, 7}, {24, 7}, {32, 1}, {40, 9}, {48, 5}}
	if got, want := k.returnsOf([]uint64{3, 7, 7, 9, 5}, read), []Return{{16, 7}, {24, 7}, {48, 5}}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestWord(t *testing.T) {
	k := &Copy{base: 0x1000, bytes: []byte{1, 2, 3, 4, 5, 6, 7, 8, 9}}
	for _, c := range []struct {
		addr uint64
		size int
		want uint64
		ok   bool
	}{
		{0x1000, 8, 0x0807060504030201, true}, {0x1001, 8, 0x0908070605040302, true}, {0x1008, 1, 9, true}, {0x1000, 2, 0x201, true},
		{0x1002, 8, 0, false}, {0xfff, 1, 0, false}, {0x1009, 1, 0, false}, {0x1000, 9, 0, false}, {0x1000, 0, 0, false}, {^uint64(0), 8, 0, false},
	} {
		if got, ok := k.word(c.addr, c.size); got != c.want || ok != c.ok {
			t.Errorf("%d bytes at %#x: %#x, %v", c.size, c.addr, got, ok)
		}
	}
}

// FuzzStackCopy: whatever a program's stack contains, and however it is cut into parts, call
// stacks stay bounded and nothing panics.
func FuzzStackCopy(f *testing.F) {
	f.Add([]byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17}, uint64(0x7fff0000), uint32(9))
	f.Add(returnsOf(0, 0, 0x1000, 0x400000), uint64(0), uint32(1<<20))
	code := newCode(f)
	f.Fuzz(func(t *testing.T, data []byte, addr uint64, size uint32) {
		c := Collector{}
		for i := range uint64(4) {
			p := partOf(1, 1, addr+i*uint64(len(data))/2)
			p.Size = uint16(size)
			copy(p.Data[:], data)
			c.Part(p)
		}
		r := &bpf.StackRecord{Tid: 1, Stack: 1}
		for i := range r.Regs {
			r.Regs[i] = addr
			if len(data) >= 8 {
				r.Regs[i] += binary.LittleEndian.Uint64(data[i%(len(data)-7):]) & 0xff
			}
		}
		k := c.Finish(r)
		if len(k.bytes) > bpf.MaxStack+bpf.StackPartBytes {
			t.Errorf("%d bytes", len(k.bytes))
		}
		for _, pc := range []uint64{addr, code.pc} {
			k.head.Regs[native().pc] = pc
			if chain, _, _ := New(code).unwind(k); len(chain) == 0 || len(chain) > maxFrames+1 {
				t.Errorf("a chain of %d", len(chain))
			}
		}
	})
}
