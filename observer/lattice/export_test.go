package lattice

// OnLevel makes the lattice call f for each level that it closes, with the cuts in order of
// creation, their values, and by property whether some run into a cut is bad.
func (l *Lattice) OnLevel(f func(cuts [][]uint32, values [][]uint64, bad [][]bool)) {
	l.onClosed = func() {
		v, n, m := l.current, len(l.props), len(l.o.Initial)
		var cuts [][]uint32
		var values [][]uint64
		var bad [][]bool
		for i := range v.n {
			cuts = append(cuts, l.unpack(nil, v.key(i, l.words)))
			values = append(values, append([]uint64(nil), v.values[i*m:(i+1)*m]...))
			b := make([]bool, n)
			for p, a := range l.props {
				b[p] = a.bad(v.sets[i*n+p])
			}
			bad = append(bad, b)
		}
		f(cuts, values, bad)
	}
}

// Waiting returns the Seq of the events beyond the floor, in trace order.
func (l *Lattice) Waiting() []uint64 {
	var out []uint64
	for order := range l.total {
		for s := range l.chains {
			c := &l.chains[s]
			for i := l.floor[s] + 1; i <= c.last(); i++ {
				if c.at(i).order == order {
					out = append(out, c.at(i).Seq)
				}
			}
		}
	}
	return out
}

// Lanes returns the width of a lane in bits.
func (l *Lattice) Lanes() uint { return l.bits }

// Share sets the largest number of cores that build a level, and the number of cuts for which a
// further core is used.
func (l *Lattice) Share(cores, cuts int) { l.cores, l.share = cores, cuts }

// Pack sets the width of a lane in bits. It must be called before the first event.
func (l *Lattice) Pack(bits uint) { l.bits = bits }
