package observer

import "slices"

// addrs is a map from addresses to values that can also search a range. It consists of
// sorted slices of a bounded size, so that both a search and an insertion are fast. The
// zero value is empty.
type addrs[V any] struct {
	pieces [][]addrOf[V] // in order of address; none is empty
}

type addrOf[V any] struct {
	addr uint64
	v    V
}

// maxPiece bounds the entries of a piece.
const maxPiece = 512

// find returns the position of the first entry at or after an address; piece is
// len(m.pieces) if there is none.
func (m *addrs[V]) find(addr uint64) (piece, at int) {
	piece, _ = slices.BinarySearchFunc(m.pieces, addr, func(p []addrOf[V], a uint64) int {
		if p[len(p)-1].addr < a {
			return -1
		}
		return 1
	})
	if piece == len(m.pieces) {
		return piece, 0
	}
	at, _ = slices.BinarySearchFunc(m.pieces[piece], addr, func(e addrOf[V], a uint64) int {
		if e.addr < a {
			return -1
		}
		return 1
	})
	return piece, at
}

func (m *addrs[V]) put(addr uint64, v V) {
	p, i := m.find(addr)
	switch {
	case len(m.pieces) == 0:
		m.pieces = append(m.pieces, []addrOf[V]{{addr, v}})
		return
	case p == len(m.pieces):
		p--
		i = len(m.pieces[p])
	case m.pieces[p][i].addr == addr:
		m.pieces[p][i].v = v
		return
	}
	m.pieces[p] = slices.Insert(m.pieces[p], i, addrOf[V]{addr, v})
	if n := len(m.pieces[p]); n > maxPiece {
		upper := slices.Clone(m.pieces[p][n/2:])
		m.pieces[p] = m.pieces[p][:n/2]
		m.pieces = slices.Insert(m.pieces, p+1, upper)
	}
}

func (m *addrs[V]) remove(addr uint64) {
	p, i := m.find(addr)
	if p == len(m.pieces) || m.pieces[p][i].addr != addr {
		return
	}
	m.pieces[p] = slices.Delete(m.pieces[p], i, i+1)
	if len(m.pieces[p]) == 0 {
		m.pieces = slices.Delete(m.pieces, p, p+1)
	}
}

// upTo returns the last entry at or before an address.
func (m *addrs[V]) upTo(addr uint64) (at uint64, v V, ok bool) {
	p, i := m.find(addr)
	if p < len(m.pieces) && m.pieces[p][i].addr == addr {
		return addr, m.pieces[p][i].v, true
	}
	switch {
	case i > 0:
		i--
	case p > 0:
		p--
		i = len(m.pieces[p]) - 1
	default:
		return 0, v, false
	}
	e := m.pieces[p][i]
	return e.addr, e.v, true
}

// next returns the first entry of a range [lo, hi).
func (m *addrs[V]) next(lo, hi uint64) (at uint64, v V, ok bool) {
	if p, i := m.find(lo); p < len(m.pieces) && m.pieces[p][i].addr < hi {
		e := m.pieces[p][i]
		return e.addr, e.v, true
	}
	return 0, v, false
}
