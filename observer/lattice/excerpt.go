package lattice

import (
	"cmp"
	"slices"
)

// Excerpt is the part of the lattice around a violation, for a picture: the cuts from shortly before its witness leaves the
// observed run up to where it turns bad, level by level.
type Excerpt struct {
	Levels []ExcerptLevel // in order; the last one has only the cut that is bad
	Links  []Link
}

// ExcerptLevel is a level of an Excerpt.
type ExcerptLevel struct {
	Number int // of events in each of its cuts
	Cuts   []Cut
	More   int // cuts of the lattice that are left out, or for which the level had no room
}

// Cut is a cut of an Excerpt.
type Cut struct {
	Values            []uint64 // of the variables
	Witness, Observed bool     // that run comes through it
}

// Link is an event that leads from a cut of a level to one of the next, both as indices.
type Link struct {
	Level, From, To   int
	Seq               uint64
	Witness, Observed bool
}

// The bounds of an excerpt.
const (
	maxExcerptLevels = 10
	maxExcerptCuts   = 40
	maxSearched      = 4096 // cuts of a level that are looked at
	commonLevels     = 3    // levels before the witness leaves the observed run
)

// Excerpt returns the part of the lattice around the violation, at most 40 cuts on ten levels. The witness must be that
// of the violation. Of cuts for which there is no room, those that are farthest from the witness are left out. It returns
// nil if the initial state is bad, or a level is no longer kept.
func (v *Violation) Excerpt(w *Witness) *Excerpt {
	if v.event == nil || len(w.Steps) == 0 {
		return nil
	}
	x := excerpt{l: v.lattice, w: w, first: max(0, len(w.Steps)+1-maxExcerptLevels)}
	path := x.path(v)
	if path == nil {
		return nil
	}
	x.base, x.values = path[0], w.Values
	if x.first > 0 {
		x.values = w.Steps[x.first-1].Values
	} else {
		path = append(x.before(maxExcerptLevels-len(path)), path...)
	}
	x.share = max(1, maxExcerptCuts/len(path))
	for i, on := range path {
		if !x.addLevel(v.Level()+1-len(path)+i, on, i == len(path)-1) {
			return nil
		}
	}
	out := &Excerpt{}
	for i := range x.levels {
		out.Levels = append(out.Levels, x.levels[i].out)
		if i > 0 {
			out.Links = append(out.Links, x.links(i-1)...)
		}
	}
	return out
}

// excerpt makes an Excerpt.
type excerpt struct {
	l      *Lattice
	w      *Witness
	first  int      // number of the witness's steps that are left out
	share  int      // of the cuts, for a level
	base   []uint32 // the first cut of the excerpt
	values []uint64 // at base
	levels []excerptLevel
}

type excerptLevel struct {
	out  ExcerptLevel
	cuts [][]uint32 // by slot
}

// path returns the cuts of the witness from the first one that is shown, by going back from the violation; nil if the
// witness does not lead there, or begins where cuts are no longer known.
func (x *excerpt) path(v *Violation) [][]uint32 {
	l := x.l
	cut := l.unpack(nil, l.current.key(v.from(), l.words))
	cut[v.event.Slot]++
	if l.level+1 != x.w.Common+len(x.w.Steps) {
		return nil // a non-deterministic monitor turned bad before
	}
	path := [][]uint32{slices.Clone(cut)}
	for i := len(x.w.Steps) - 1; i >= x.first; i-- {
		slot := x.w.Steps[i].Slot
		if int(slot) >= len(cut) || cut[slot] == 0 {
			return nil
		}
		cut[slot]--
		path = append(path, slices.Clone(cut))
	}
	slices.Reverse(path)
	return path
}

// before returns up to so many cuts of the observed run before it is left, and makes the first of them base.
func (x *excerpt) before(most int) (cuts [][]uint32) {
	l := x.l
	most = min(most, commonLevels, x.w.Common)
	for k := 1; k <= most; k++ {
		at := len(l.history) - (l.level - (x.w.Common - k))
		if at < l.droppedLevels || l.history[at].observed < 0 {
			break
		}
		cuts = append(cuts, x.unpacked(l.history[at], &l.history[at].packing, l.history[at].observed))
	}
	slices.Reverse(cuts)
	if len(cuts) == 0 {
		return nil
	}
	writes := x.writes(cuts[0], x.base)
	x.base, x.values = cuts[0], slices.Clone(x.values)
	for _, e := range slices.Backward(writes) {
		x.values[e.Variable] = e.before
	}
	return cuts
}

// unpacked returns a cut of a level, with the threads that began later.
func (x *excerpt) unpacked(level *level, p *packing, i int) []uint32 {
	cut := p.unpack(make([]uint32, 0, len(x.base)), level.key(i, p.words))
	for len(cut) < len(x.base) {
		cut = append(cut, 0)
	}
	return cut
}

// from returns the index of the cut of the current level from which the violation comes.
func (v *Violation) from() int {
	if v.Observed {
		return v.lattice.current.observed
	}
	return v.cut
}

// addLevel adds the cuts of a level that come after base. The witness comes through on. It reports whether the level is
// kept.
func (x *excerpt) addLevel(number int, on []uint32, last bool) bool {
	if last {
		x.levels = append(x.levels, excerptLevel{ExcerptLevel{Number: number, Cuts: []Cut{{x.valuesAt(on), true, false}}}, [][]uint32{on}})
		return true
	}
	level, packed := x.l.current, &x.l.packing
	if at := len(x.l.history) - (x.l.level - number); number < x.l.level {
		if at < x.l.droppedLevels {
			return false
		}
		level = x.l.history[at]
		packed = &level.packing
	}
	var all [][]uint32
	var observed []uint32
	for i := range min(level.n, maxSearched) {
		cut := x.unpacked(level, packed, i)
		if i == level.observed {
			observed = cut
		}
		if x.after(cut) {
			all = append(all, cut)
		}
	}
	x.levels = append(x.levels, x.chosen(number, all, on, observed, int(level.dropped)+max(0, level.n-maxSearched)))
	return true
}

// after reports whether a cut has all events of base.
func (x *excerpt) after(cut []uint32) bool {
	for s, n := range x.base {
		if cut[s] < n {
			return false
		}
	}
	return true
}

// chosen returns a level with those of its cuts for which there is room: that of the witness, that of the observed run, and
// those that are nearest to the witness.
func (x *excerpt) chosen(number int, all [][]uint32, on, observed []uint32, dropped int) excerptLevel {
	slices.SortFunc(all, func(a, b []uint32) int {
		return cmp.Or(cmp.Compare(apart(a, on), apart(b, on)), cmp.Compare(apart(a, observed), apart(b, observed)), slices.Compare(a, b))
	})
	keep := all[:min(len(all), x.share)]
	if at := slices.IndexFunc(all, func(c []uint32) bool { return slices.Equal(c, observed) }); at >= len(keep) && len(keep) > 1 {
		keep = append(keep[:len(keep)-1:len(keep)-1], observed)
	}
	keep = slices.Clone(keep)
	slices.SortFunc(keep, func(a, b []uint32) int { return slices.Compare(b, a) }) // threads from left to right
	out := excerptLevel{out: ExcerptLevel{Number: number, More: len(all) - len(keep) + dropped}, cuts: keep}
	for _, c := range keep {
		out.out.Cuts = append(out.out.Cuts, Cut{x.valuesAt(c), slices.Equal(c, on), slices.Equal(c, observed)})
	}
	return out
}

// apart returns in how many events two cuts differ; 0 if one is unknown.
func apart(a, b []uint32) (n int) {
	for s := range min(len(a), len(b)) {
		n += int(max(a[s], b[s]) - min(a[s], b[s]))
	}
	return n
}

// valuesAt returns the values of the variables at a cut after base: the writes of a variable are ordered, as they come in
// the trace.
func (x *excerpt) valuesAt(cut []uint32) []uint64 {
	values := slices.Clone(x.values)
	for _, e := range x.writes(x.base, cut) {
		values[e.Variable] = e.Value
	}
	return values
}

// writes returns the writes of variables between two cuts, as they come in the trace.
func (x *excerpt) writes(after, to []uint32) (out []*entry) {
	for s := range to {
		for i := after[s] + 1; i <= to[s]; i++ {
			if e := x.l.chains[s].at(i); e.Variable >= 0 {
				out = append(out, e)
			}
		}
	}
	slices.SortFunc(out, func(a, b *entry) int { return cmp.Compare(a.order, b.order) })
	return out
}

// links returns the events that lead from a level to the next one.
func (x *excerpt) links(at int) (out []Link) {
	from, to := &x.levels[at], &x.levels[at+1]
	for i, a := range from.cuts {
		for j, b := range to.cuts {
			if apart(a, b) != 1 {
				continue
			}
			slot := 0
			for b[slot] == a[slot] {
				slot++
			}
			if b[slot] < a[slot] {
				continue
			}
			p, q := from.out.Cuts[i], to.out.Cuts[j]
			out = append(out, Link{at, i, j, x.l.chains[slot].at(b[slot]).Seq, p.Witness && q.Witness, p.Observed && q.Observed})
		}
	}
	return out
}
