package trace

import (
	"encoding/binary"

	"github.com/tracepredict/tracepredict/observer/event"
)

// key is a kind of event: the fields that are equal in all events that differ only in time,
// values and arguments. A program makes events of a few kinds again and again.
type key struct {
	thread, peer    event.ThreadID
	object, object2 event.ObjectID
	place           event.StackID
	op              event.Op
	kind            event.Kind
	flags           event.Flags
	args            uint8 // number of arguments
	fn              event.FuncID
}

func keyOf(e *event.Event) key {
	return key{e.Thread, e.Peer, e.Object, e.Object2, e.Stack, e.Op, e.Kind, e.Flags, uint8(min(len(e.Args), event.MaxArgs)), e.Func}
}

// slots is the size of the Writer's direct-mapped cache of kinds of event.
const slots = 1 << 12

func (k *key) slot() uint64 {
	h := uint64(k.thread)<<32 | uint64(k.object)
	h = h*0x9e3779b97f4a7c15 ^ (uint64(k.place)<<32 | uint64(k.op)<<16 | uint64(k.flags))
	h = h*0x9e3779b97f4a7c15 ^ (uint64(k.object2)<<32 | uint64(k.peer) ^ uint64(k.fn)<<8)
	h *= 0x9e3779b97f4a7c15
	return h >> (64 - 12)
}

// known is an entry of that cache: a kind of event that a block defines.
type known struct {
	block uint64 // number of the block; the entry is valid only in this one
	key   key
	index uint64                // number of the kind in the block, from 1
	value uint64                // Value of the last event of the kind
	args  [event.MaxArgs]uint64 // Args of the last event of the kind
}

// columns holds the events of the current block. Each event consists of the number of its
// kind, the time since the previous event, and the difference of its value to that of the
// previous event of its kind. Each of these has a column of its own, which compresses better
// than rows.
type columns struct {
	first, last   uint64 // Seq of the first and the last event
	events        int    // number of events
	kinds         uint64 // number of kinds defined
	time          uint64 // of the last event
	object, place uint64 // of the kind defined last

	kind, index, times, values []byte // the columns: definitions of kinds, numbers of kinds, times, values

	// The identifiers that need names: stacks new to the file, and the highest other ones.
	places  []event.StackID
	objects event.ObjectID
	threads event.ThreadID
	funcs   event.FuncID
}

func (c *columns) reset() {
	*c = columns{kind: c.kind[:0], index: c.index[:0], times: c.times[:0], values: c.values[:0], places: c.places[:0]}
}

func (c *columns) full() bool {
	return c.events >= blockEvents || len(c.kind)+len(c.index)+len(c.times)+len(c.values) >= blockBytes
}

func zigzag(d uint64) uint64   { return d<<1 ^ uint64(int64(d)>>63) }
func unzigzag(u uint64) uint64 { return u>>1 ^ -(u & 1) }

// define appends a kind of event. Objects and stacks are written as differences to those of
// the previous kind, because events close in time have identifiers close to each other.
func (c *columns) define(k *key) {
	b := append(c.kind, byte(k.op), byte(k.kind))
	b = binary.AppendUvarint(b, uint64(k.flags))
	b = binary.AppendUvarint(b, uint64(k.thread))
	b = binary.AppendUvarint(b, uint64(k.peer))
	b = binary.AppendUvarint(b, zigzag(uint64(k.object)-c.object))
	b = binary.AppendUvarint(b, uint64(k.object2))
	b = binary.AppendUvarint(b, zigzag(uint64(k.place)-c.place))
	if k.op.IsCall() {
		b = append(binary.AppendUvarint(b, uint64(k.fn)), k.args)
		c.funcs = max(c.funcs, k.fn)
	}
	c.kind = b
	c.object, c.place = uint64(k.object), uint64(k.place)
	c.kinds++
	c.objects = max(c.objects, k.object, k.object2)
	c.threads = max(c.threads, k.thread, k.peer)
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

func (c *cursor) byte() byte {
	if c.at >= len(c.b) {
		c.bad = true
		return 0
	}
	c.at++
	return c.b[c.at-1]
}

// uvarint reads one number: most are one byte.
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

func (c *cursor) bytes(n uint64) []byte {
	if n > uint64(c.left()) {
		c.fail()
		return nil
	}
	v := c.b[c.at : c.at+int(n)]
	c.at += int(n)
	return v
}
