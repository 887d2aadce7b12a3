package stacks

import (
	"encoding/binary"

	"github.com/tracepredict/tracepredict/bpf"
)

// Copy is what a new place's call stack is found from: the registers, and the
// top of the stack as far as it could be read.
type Copy struct {
	head    bpf.StackRecord
	base    uint64 // address of the first byte
	bytes   []byte
	returns []replacedReturn
}

// replacedReturn is a return address that a uretprobe replaced by one of its own.
type replacedReturn struct{ at, original uint64 }

// Collector puts the parts of stacks together. Those of one thread come in order, those
// of several mixed; the stack record of a place comes behind its parts. Of the reader
// alone.
type Collector map[uint32]*Copy

// by thread

// maxCollected bounds the stacks that are collected at a time. One whose record was lost stays
// until its thread has another.
const maxCollected = 1 << 12

// Part takes a part. What does not go on where the one before ended is left out.
func (c Collector) Part(p *bpf.StackPart) {
	k := c[p.Tid]
	if k == nil || k.head.Stack != p.Stack {
		if len(c) >= maxCollected {
			clear(c)
		}
		k = &Copy{head: bpf.StackRecord{Stack: p.Stack}}
		c[p.Tid] = k
	}
	data := p.Data[:min(int(p.Size), len(p.Data))]
	switch {
	case p.Addr == 0:
		for ; len(data) >= 16; data = data[16:] {
			k.returns = append(k.returns, replacedReturn{binary.LittleEndian.Uint64(data), binary.LittleEndian.Uint64(data[8:])})
		}
	case len(k.bytes) == 0:
		k.base, k.bytes = p.Addr, append(k.bytes, data...)
	case p.Addr == k.base+uint64(len(k.bytes)) && len(k.bytes) < bpf.MaxStack:
		k.bytes = append(k.bytes, data...)
	}
}

// Finish returns the copy of a stack whose record has come.
func (c Collector) Finish(r *bpf.StackRecord) *Copy {
	k := c[r.Tid]
	if k == nil || k.head.Stack != r.Stack {
		return &Copy{head: *r}
	}
	delete(c, r.Tid)
	k.head = *r
	k.putBack()
	return k
}

// putBack undoes what uretprobes did to the copy.
func (k *Copy) putBack() {
	for _, r := range k.returns {
		if at := r.at - k.base; at < uint64(len(k.bytes)) && uint64(len(k.bytes))-at >= 8 {
			binary.LittleEndian.PutUint64(k.bytes[at:], r.original)
		}
	}
}

// word reads size bytes of the copied stack, at most 8.
func (k *Copy) word(addr uint64, size int) (uint64, bool) {
	at := addr - k.base
	if size < 1 || size > 8 || at >= uint64(len(k.bytes)) || uint64(len(k.bytes))-at < uint64(size) {
		return 0, false
	}
	var b [8]byte
	copy(b[:], k.bytes[at:at+uint64(size)])
	return binary.LittleEndian.Uint64(b[:]), true
}
