package between

import "github.com/tracepredict/tracepredict/probes/elf"

// value is what is known of a register or of a word of a stack frame. The zero value is any number
// that was not made from an address of a frame, and does not depend on shared memory.
type value struct {
	// base, if not 0, says that the value is an address in the object of that number minus one: a
	// stack frame or, in a summary, what an argument points to. If exact, it is off bytes from the
	// frame's canonical frame address, or from the argument.
	base  uint8
	exact bool
	// bytes is the number of low bytes of the value that are those of off; 0 if base is not 0.
	bytes uint8
	off   int64
	// in, for a constant, is the file whose code made it.
	in *elf.File
	// local means that it is an address of thread-local storage.
	local bool
	// may has the objects whose address, or an address stored in them, the value may be made from.
	may objects
	// read is the address of the code that read shared memory, if the value depends on it; 0: none.
	read uint64
}

// objects is a set of objects, as a bit for each.
type objects uint32

// maxObjects is the number of objects that fit a set.
const maxObjects = 32

func only(object int) objects { return 1 << object }

// to returns the value of an address in an object.
func to(object int, off int64) value {
	return value{base: uint8(object + 1), exact: true, off: off, may: only(object)}
}

// somewhere returns the value without the offset in its object.
func (v value) somewhere() value {
	v.exact, v.off = false, 0
	return v
}

// constant returns the value of a constant in the code of a file.
func constant(c int64, in *elf.File) value {
	v := value{bytes: 8, off: c}
	if v.isAddress() {
		v.in = in
	}
	return v
}

// vague returns the value of which only the origin is known.
func (v value) vague() value { return value{may: v.may, read: v.read} }

// object returns the number of the object that the value certainly points into.
func (v value) object() (n int, ok bool) { return int(v.base) - 1, v.base != 0 }

// number returns the low n bytes of a constant.
func (v value) number(n int) (c uint64, ok bool) {
	if n <= 0 || n > int(v.bytes) {
		return 0, false
	}
	return uint64(v.off) & (^uint64(0) >> (64 - 8*n)), true
}

// isAddress reports whether a constant may be an address, to which the load bias is added.
func (v value) isAddress() bool { return v.bytes == 8 && (v.off < 0 || v.off >= 4096) }

// plain reports whether nothing is known of the value and nothing is to be remembered of it.
func (v value) plain() bool { return v == value{} }

// join returns what two values have in common.
func join(a, b value) value {
	if a == b {
		return a
	}
	out := value{may: a.may | b.may, read: firstRead(a.read, b.read)}
	switch {
	case a.base != 0 && a.base == b.base:
		out.base = a.base
		if a.exact && b.exact && a.off == b.off {
			out.exact, out.off = true, a.off
		}
	case a.local && b.local:
		out.local = true
	case a.bytes > 0 && b.bytes > 0 && a.in == b.in:
		n := min(a.bytes, b.bytes)
		x, _ := a.number(int(n))
		if y, _ := b.number(int(n)); x == y {
			out.bytes, out.off, out.in = n, int64(x), a.in
		}
	}
	return out
}

// firstRead returns the one of two addresses that is set, the lower one if both are.
func firstRead(a, b uint64) uint64 {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// plus returns the sum of a value and a constant.
func (v value) plus(n int64) value {
	switch {
	case n == 0:
	case v.exact || v.bytes == 8 || v.region():
		v.off += n
	case v.bytes > 0:
		return v.vague()
	}
	return v
}

// sum returns the sum of two values. An address plus a number is an address in the same object.
func sum(a, b value) value {
	if a.base == 0 && !a.local && (b.base != 0 || b.local || b.isAddress()) {
		a, b = b, a
	}
	both := value{may: a.may | b.may, read: firstRead(a.read, b.read)}
	switch {
	case (a.base != 0 || a.local) && b.bytes == 8 && !b.isAddress():
		out := a.plus(b.off)
		out.may, out.read = both.may, both.read
		return out
	case (a.base != 0 || a.local) && b.base == 0 && b.may == 0 && !b.local:
		both.base, both.local = a.base, a.local
	case a.bytes == 8 && b.bytes == 8:
		both.bytes, both.off, both.in = 8, a.off+b.off, a.in
	case a.isAddress() && b.plain():
		both.in, both.off = a.in, a.off // an element of an array at a constant address; see region
	}
	return both
}

// region reports whether the value is the address off plus an unknown index, in static memory.
func (v value) region() bool { return v.in != nil && v.bytes == 0 }
