package stacks

import (
	"encoding/binary"
	"slices"

	"github.com/tracepredict/tracepredict/bpf"
)

// Copy is what a new call stack is found from: the registers, and the top of the stack as far as
// it could be read.
type Copy struct {
	head    bpf.StackRecord
	base    uint64 // address of bytes[0]
	bytes   []byte
	returns []replacedReturn
}

// replacedReturn is a return address on the stack that a uretprobe has replaced by its own.
type replacedReturn struct{ at, original uint64 }

// Collector puts the parts of copied stacks together, by thread. The parts of one thread arrive
// in order, those of several threads mixed; the StackRecord of a call stack arrives after its
// parts. The reader's goroutine alone uses a Collector.
type Collector map[uint32]*Copy

// maxCollected bounds the stacks that are collected at a time. A stack whose record was lost
// stays until its thread sends another.
const maxCollected = 1 << 12

// Part adds a part. It leaves out a part that does not begin where the one before it ended.
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
	case p.Addr == 0: // pairs of an address on the stack and the return address replaced there
		for ; len(data) >= 16; data = data[16:] {
			k.returns = append(k.returns, replacedReturn{binary.LittleEndian.Uint64(data), binary.LittleEndian.Uint64(data[8:])})
		}
	case len(k.bytes) == 0:
		k.base, k.bytes = p.Addr, append(k.bytes, data...)
	case p.Addr == k.base+uint64(len(k.bytes)) && len(k.bytes) < bpf.MaxStack:
		k.bytes = append(k.bytes, data...)
	}
}

// Finish returns the copy of the stack that a record belongs to.
func (c Collector) Finish(r *bpf.StackRecord) *Copy {
	k := c[r.Tid]
	if k == nil || k.head.Stack != r.Stack {
		return &Copy{head: *r}
	}
	delete(c, r.Tid)
	k.head = *r
	k.restoreReturns()
	return k
}

// restoreReturns replaces, in the copy, the return addresses of uretprobes by the original ones.
func (k *Copy) restoreReturns() {
	for _, r := range k.returns {
		if at := r.at - k.base; at < uint64(len(k.bytes)) && uint64(len(k.bytes))-at >= 8 {
			binary.LittleEndian.PutUint64(k.bytes[at:], r.original)
		}
	}
}

// returnsOf returns those words that a walk has read, in this order, from which it has its return addresses. One that a
// uretprobe has replaced is left out, as the stack itself has another.
func (k *Copy) returnsOf(pcs []uint64, read []Return) (out []Return) {
	for _, pc := range pcs {
		i := slices.IndexFunc(read, func(r Return) bool { return r.Value == pc })
		if i < 0 {
			continue // it is from a register
		}
		if r := read[i]; !slices.ContainsFunc(k.returns, func(x replacedReturn) bool { return x.at == r.Addr }) {
			out = append(out, r)
		}
		read = read[i+1:]
	}
	return out
}

// word returns the size bytes, at most 8, at an address of the copied stack.
func (k *Copy) word(addr uint64, size int) (uint64, bool) {
	at := addr - k.base
	if size < 1 || size > 8 || at >= uint64(len(k.bytes)) || uint64(len(k.bytes))-at < uint64(size) {
		return 0, false
	}
	var b [8]byte
	copy(b[:], k.bytes[at:at+uint64(size)])
	return binary.LittleEndian.Uint64(b[:]), true
}
