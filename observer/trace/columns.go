package trace

import (
	"encoding/binary"

	"github.com/tracepredict/tracepredict/observer/event"
)

// eventKind holds the fields that are equal in all events that differ only in time, value and
// arguments. A program makes events of a few kinds again and again.
type eventKind struct {
	thread, peer    event.ThreadID
	object, object2 event.ObjectID
	stack           event.StackID
	op              event.Op
	objectKind      event.Kind
	flags           event.Flags
	args            uint8 // number of arguments
	fn              event.FuncID
}

// kindOf returns the kind of an event.
func kindOf(e *event.Event) eventKind {
	return eventKind{e.Thread, e.Peer, e.Object, e.Object2, e.Stack, e.Op, e.Kind, e.Flags, uint8(min(len(e.Args), event.MaxArgs)), e.Func}
}

// kindCacheSize is the size of the Writer's direct-mapped cache of the kinds of event.
const (
	kindCacheBits = 12
	kindCacheSize = 1 << kindCacheBits
)

// cacheIndex returns the index of the only cache entry that may hold the kind.
func (k *eventKind) cacheIndex() uint64 {
	h := uint64(k.thread)<<32 | uint64(k.object)
	h = h*0x9e3779b97f4a7c15 ^ (uint64(k.stack)<<32 | uint64(k.op)<<24 | uint64(k.flags))
	h = h*0x9e3779b97f4a7c15 ^ (uint64(k.object2)<<32 | uint64(k.peer) ^ uint64(k.fn)<<8)
	h *= 0x9e3779b97f4a7c15
	return h >> (64 - kindCacheBits)
}

// cachedKind is an entry of that cache: a kind of event that a block defines.
type cachedKind struct {
	block  uint64 // number of the block; the entry is valid only in this one
	kind   eventKind
	number uint64                // number of the kind in the block, from 1
	value  uint64                // Value of the last event of the kind
	args   [event.MaxArgs]uint64 // Args of the last event of the kind
}

// columns holds the events of the current block. Each event consists of the number of its
// kind, the time since the previous event, and the differences of its value and arguments to
// those of the previous event of its kind. Kinds, numbers, times and values have a column each,
// which compresses better than rows.
type columns struct {
	first, last   uint64 // Seq of the first and the last event
	events        int    // number of events
	kindCount     uint64 // number of kinds defined
	time          uint64 // of the last event
	object, stack uint64 // of the kind defined last

	kinds       []byte // column: the definitions of kinds of event, in the order of their first use
	kindNumbers []byte // column: by event the number of its kind; 0: the next one in kinds
	times       []byte // column
	values      []byte // column: values and arguments

	// The identifiers that need names: the stacks that no earlier block has, and the highest
	// identifiers of the others.
	stacks    []event.StackID
	maxObject event.ObjectID
	maxThread event.ThreadID
	maxFunc   event.FuncID
}

// reset empties the block, and keeps its memory.
func (c *columns) reset() {
	*c = columns{kinds: c.kinds[:0], kindNumbers: c.kindNumbers[:0], times: c.times[:0], values: c.values[:0], stacks: c.stacks[:0]}
}

// full reports whether the next event belongs in a new block.
func (c *columns) full() bool {
	return c.events >= blockEvents || len(c.kinds)+len(c.kindNumbers)+len(c.times)+len(c.values) >= blockBytes
}

// zigzag encodes a signed difference so that a small one of either sign is a short varint.
func zigzag(d uint64) uint64   { return d<<1 ^ uint64(int64(d)>>63) }
func unzigzag(u uint64) uint64 { return u>>1 ^ -(u & 1) }

// define appends the definition of a kind of event. Objects and stacks are written as differences
// to those of the previous kind, because events close in time have identifiers close to each
// other.
func (c *columns) define(k *eventKind) {
	b := append(c.kinds, byte(k.op), byte(k.objectKind))
	b = binary.AppendUvarint(b, uint64(k.flags))
	b = binary.AppendUvarint(b, uint64(k.thread))
	b = binary.AppendUvarint(b, uint64(k.peer))
	b = binary.AppendUvarint(b, zigzag(uint64(k.object)-c.object))
	b = binary.AppendUvarint(b, uint64(k.object2))
	b = binary.AppendUvarint(b, zigzag(uint64(k.stack)-c.stack))
	if k.op.HasArgs() {
		b = append(binary.AppendUvarint(b, uint64(k.fn)), k.args)
		c.maxFunc = max(c.maxFunc, k.fn)
	}
	c.kinds = b
	c.object, c.stack = uint64(k.object), uint64(k.stack)
	c.kindCount++
	c.maxObject = max(c.maxObject, k.object, k.object2)
	c.maxThread = max(c.maxThread, k.thread, k.peer)
}

// cursor reads a column.
type cursor struct {
	b   []byte
	at  int  // index in b of the next byte
	bad bool // the content is too short or wrong
}

// left returns the number of bytes that have not been read.
func (c *cursor) left() int { return len(c.b) - c.at }

// fail skips the remaining bytes and sets bad.
func (c *cursor) fail() { c.at, c.bad = len(c.b), true }

// byte reads one byte.
func (c *cursor) byte() byte {
	if c.at >= len(c.b) {
		c.bad = true
		return 0
	}
	c.at++
	return c.b[c.at-1]
}

// uvarint reads a number. Most numbers are one byte.
func (c *cursor) uvarint() uint64 {
	if v, ok := c.short(); ok {
		return v
	}
	return c.long()
}

// short reads a number of one byte; ok is false if the next number is longer.
func (c *cursor) short() (v uint64, ok bool) {
	if c.at < len(c.b) && c.b[c.at] < 0x80 {
		c.at++
		return uint64(c.b[c.at-1]), true
	}
	return 0, false
}

// long reads a number of any length. Numbers of two bytes have a path of their own.
func (c *cursor) long() uint64 {
	if b := c.b[c.at:]; len(b) > 1 && b[1] < 0x80 {
		c.at += 2
		return uint64(b[0]&0x7f) | uint64(b[1])<<7
	}
	v, n := binary.Uvarint(c.b[c.at:])
	if n <= 0 {
		c.fail()
		return 0
	}
	c.at += n
	return v
}

// number reads a number that must fit into 32 bits.
func (c *cursor) number() uint32 {
	v := c.uvarint()
	if v > 1<<32-1 {
		c.bad = true
		return 0
	}
	return uint32(v)
}

// bytes reads n bytes. The result is part of the column.
func (c *cursor) bytes(n uint64) []byte {
	if n > uint64(c.left()) {
		c.fail()
		return nil
	}
	v := c.b[c.at : c.at+int(n)]
	c.at += int(n)
	return v
}
