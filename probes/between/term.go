package between

import "math"

// A term is what is known of a number of 64 bits: off if sym is 0, else the unknown number that sym stands for, plus
// off. Equal terms are equal numbers. Of an unknown number, the n low bytes may be known, which are those of low;
// if wide is not 0, the bytes behind the first wide ones are 0.
type term struct {
	sym, off uint64
	low      uint64
	n, wide  uint8
}

// The symbols of addresses of which only the thread knows. Others are hashes (symbol).
const (
	noSymbol    = 0
	stackSymbol = 1 // the canonical frame address of the outermost function of whose frame more is known
	localSymbol = 2 // the address of thread-local storage
)

func number(n uint64) term { return term{off: n} }

// symbol returns a symbol for what is computed from some numbers: the same for the same.
func symbol(parts ...uint64) uint64 {
	h := uint64(14695981039346656037)
	for _, p := range parts {
		for range 8 {
			h = (h ^ p&0xff) * 1099511628211
			p >>= 8
		}
		h ^= h >> 29
	}
	return h | 1<<63
}

func mask(size int) uint64 { return ^uint64(0) >> (64 - 8*min(max(size, 1), 8)) }

// trunc returns the low bytes of a term, extended with zeros.
func (t term) trunc(size int) term {
	switch {
	case size >= wordSize:
		return t
	case t.sym == noSymbol:
		return number(t.off & mask(size))
	case int(t.n) >= size:
		return number(t.low & mask(size))
	case t.wide != 0 && int(t.wide) <= size:
		return t
	}
	return term{sym: symbol(1, uint64(size), t.sym, t.off), wide: uint8(size)}
}

// constant returns the number of a term.
func (t term) constant() (n uint64, ok bool) { return t.off, t.sym == noSymbol }

// plus returns the sum of a term and a number.
func (t term) plus(n uint64) term {
	if n == 0 {
		return t
	}
	return term{sym: t.sym, off: t.off + n}
}

// apart reports whether two terms are certainly different numbers.
func (t term) apart(u term) bool { return t.sym == u.sym && t.off != u.off }

// same reports whether two terms are certainly the same number.
func (t term) same(u term) bool { return t.sym == u.sym && t.off == u.off }

// extended returns the low bytes of a term, extended with their sign.
func (t term) extended(size int) term {
	if n, ok := t.trunc(size).constant(); ok {
		shift := 64 - 8*size
		return number(uint64(int64(n<<shift) >> shift))
	}
	return term{sym: symbol(2, uint64(size), t.sym, t.off)}
}

// with returns the term with the low bytes of another.
func (t term) with(low term, size int) term {
	low = low.trunc(size)
	n, ok := low.constant()
	if old, all := t.constant(); all && ok {
		return number(old&^mask(size) | n)
	}
	out := term{sym: symbol(3, uint64(size), t.sym, t.off, low.sym, low.off)}
	if ok {
		out.low, out.n = n, uint8(size)
	}
	return out
}

// combined returns the result of an operation of which only the operands are known.
func combined(op uint64, size int, a, b term) term {
	return term{sym: symbol(4, op, uint64(size), a.sym, a.off, b.sym, b.off)}
}

// operate returns the result of an operation of calculate.
func operate(group int, a, b term, size int) term {
	a, b = a.trunc(size), b.trunc(size)
	x, ok := a.constant()
	y, ok2 := b.constant()
	switch {
	case (group == subtracts || group == 6) && a.same(b):
		return number(0)
	case group == 4 && (ok && x == 0 || ok2 && y == 0):
		return number(0)
	case (group == 1 || group == 4) && a.same(b):
		return a
	case ok && ok2:
		if n, ok := calculate(group, x, y, size); ok {
			return number(n & mask(size))
		}
	case group == adds && size == wordSize && ok2:
		return a.plus(y)
	case group == adds && size == wordSize && ok:
		return b.plus(x)
	case group == subtracts && size == wordSize && ok2:
		return a.plus(-y)
	case group == subtracts && size == wordSize && a.sym == b.sym:
		return number(a.off - b.off)
	}
	return combined(uint64(group), size, a, b)
}

// A comparison is what the flags say: those of x - y, or of comparing two floating-point numbers. If partial, only
// whether the result x is zero or negative is known; y is 0.
type comparison struct {
	known, partial, float bool
	size                  int
	x, y                  term
}

// A fact is what is known of an unknown number of size bytes, by the branches that were taken: it lies between lo and
// hi, with and without a sign, and is none of not.
type fact struct {
	of       term
	size     int
	lo, hi   int64
	ulo, uhi uint64
	not      []uint64
}

func anyNumber(of term, size int) fact {
	return fact{of: of, size: size, lo: math.MinInt64 >> (64 - 8*size), hi: math.MaxInt64 >> (64 - 8*size), uhi: mask(size)}
}

// The conditions, by the low bits of the opcode without the one that negates.
const (
	ifBelow        = 2
	ifEqual        = 4
	ifBelowOrEqual = 6
	ifNegative     = 8
	ifParity       = 10
	ifLess         = 12
	ifLessOrEqual  = 14
)

// decide returns whether a condition holds; ok is false if it is not known.
func (c *comparison) decide(cond byte, facts []fact) (holds, ok bool) {
	negated := cond&1 == 1
	cond &^= 1
	if !c.known || c.partial && cond != ifEqual && cond != ifNegative {
		return false, false
	}
	x, ok := c.x.constant()
	y, ok2 := c.y.constant()
	switch {
	case c.float:
		if holds, ok = floatDecide(cond, x, y, c.size, ok && ok2); !ok {
			return false, false
		}
	case ok && ok2:
		holds, ok = compare(cond, x, y, c.size)
	case c.x.same(c.y):
		holds, ok = compare(cond, 0, 0, c.size)
	case cond == ifEqual && c.size == wordSize && c.x.apart(c.y):
		holds, ok = false, true
	case ok2:
		f := factAbout(facts, c.x, c.size)
		holds, ok = f.decide(cond, y)
	case ok && cond == ifEqual:
		f := factAbout(facts, c.y, c.size)
		holds, ok = f.decide(cond, x)
	default:
		return false, false
	}
	return holds != negated, ok
}

func compare(cond byte, x, y uint64, size int) (holds, ok bool) {
	shift := 64 - 8*size
	a, b := int64(x<<shift)>>shift, int64(y<<shift)>>shift
	ux, uy := x&mask(size), y&mask(size)
	switch cond {
	case ifEqual:
		return a == b, true
	case ifBelow:
		return ux < uy, true
	case ifBelowOrEqual:
		return ux <= uy, true
	case ifLess:
		return a < b, true
	case ifLessOrEqual:
		return a <= b, true
	case ifNegative:
		return int64((x-y)<<shift) < 0, true
	}
	return false, false
}

func floatDecide(cond byte, x, y uint64, size int, known bool) (holds, ok bool) {
	if !known {
		return false, false
	}
	a, b := math.Float64frombits(x), math.Float64frombits(y)
	if size == 4 {
		a, b = float64(math.Float32frombits(uint32(x))), float64(math.Float32frombits(uint32(y)))
	}
	unordered := a != a || b != b
	switch cond {
	case ifEqual:
		return unordered || a == b, true
	case ifBelow:
		return unordered || a < b, true
	case ifBelowOrEqual:
		return unordered || a <= b, true
	case ifParity:
		return unordered, true
	}
	return false, false
}

// factAbout returns what is known of a number.
func factAbout(facts []fact, of term, size int) fact {
	for _, f := range facts {
		if f.size == size && f.of.same(of) {
			return f
		}
	}
	return anyNumber(of, size)
}

// decide returns whether a comparison with c holds for all numbers that are possible, or for none.
func (f *fact) decide(cond byte, c uint64) (holds, ok bool) {
	shift := 64 - 8*f.size
	c &= mask(f.size)
	s := int64(c<<shift) >> shift
	switch cond {
	case ifEqual:
		for _, n := range f.not {
			if n == c {
				return false, true
			}
		}
		if s < f.lo || s > f.hi || c < f.ulo || c > f.uhi {
			return false, true
		}
		return true, f.lo == f.hi || f.ulo == f.uhi
	case ifLess:
		return f.hi < s, f.hi < s || f.lo >= s
	case ifLessOrEqual:
		return f.hi <= s, f.hi <= s || f.lo > s
	case ifBelow:
		return f.uhi < c, f.uhi < c || f.ulo >= c
	case ifBelowOrEqual:
		return f.uhi <= c, f.uhi <= c || f.ulo > c
	case ifNegative:
		if c != 0 {
			return false, false
		}
		return f.hi < 0, f.hi < 0 || f.lo >= 0
	}
	return false, false
}

// assume returns the facts with what follows if a condition holds or not.
func (c *comparison) assume(cond byte, holds bool, facts []fact) []fact {
	of, by := c.x, c.y
	n, ok := by.constant()
	if !ok && cond&^1 == ifEqual {
		of, by = by, of
		n, ok = by.constant()
	}
	if !ok || !c.known || c.float || c.partial && cond&^1 != ifEqual || of.sym == noSymbol {
		return facts
	}
	f := factAbout(facts, of, c.size)
	f.narrow(cond&^1, holds != (cond&1 == 1), n)
	out := []fact{f}
	for _, g := range facts {
		if g.size != f.size || !g.of.same(f.of) {
			out = append(out, g)
		}
	}
	return out
}

// narrow leaves the numbers for which a comparison with c holds or not.
func (f *fact) narrow(cond byte, holds bool, c uint64) {
	shift := 64 - 8*f.size
	c &= mask(f.size)
	s := int64(c<<shift) >> shift
	switch {
	case cond == ifEqual && holds:
		f.lo, f.hi, f.ulo, f.uhi = s, s, c, c
	case cond == ifEqual:
		f.not = append(append([]uint64(nil), f.not...), c)
		if f.ulo == c && c < f.uhi {
			f.ulo++
		}
	case cond == ifLess && holds && s > f.lo:
		f.hi = min(f.hi, s-1)
	case cond == ifLess && !holds:
		f.lo = max(f.lo, s)
	case cond == ifLessOrEqual && holds:
		f.hi = min(f.hi, s)
	case cond == ifLessOrEqual && s < f.hi:
		f.lo = max(f.lo, s+1)
	case cond == ifBelow && holds && c > f.ulo:
		f.uhi = min(f.uhi, c-1)
	case cond == ifBelow && !holds:
		f.ulo = max(f.ulo, c)
	case cond == ifBelowOrEqual && holds:
		f.uhi = min(f.uhi, c)
	case cond == ifBelowOrEqual && c < f.uhi:
		f.ulo = max(f.ulo, c+1)
	}
}
