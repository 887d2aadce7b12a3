package event

// Clock is a vector clock: for each slot, the number of its events that the clock includes. The
// zero value is a clock of no events.
//
// The entries of the first LowSlots slots lie in one array, which belongs to the Clock: that is
// all of it in most runs. The others lie in pages of pageSlots entries that vectors share. A
// vector copies a shared page before it changes it, and a join takes the page of the other side
// where that includes its own. So threads that know the same past share the memory for it, and a
// thread that learns all that another one knows, and adds an event, costs one page and a
// directory of O(slots / pageSlots). Garbage collection frees a page that no vector refers to.
//
// Steady state allocates nothing up to LowSlots slots. Beyond that, what a shared page costs is
// allocated where it is changed. Assignment of a Clock does not copy it: use Copy.
type Clock struct {
	low  []Epoch
	high *upper // of the slots from LowSlots on; nil: all entries are zero
}

// LowSlots is the number of slots whose entries a Clock shares with no other.
const LowSlots = 256

const pageSlots = 256

// upper is the directory of a vector's pages.
type upper struct {
	pages  []*page // nil: all entries are zero
	owned  []bool  // by page: nothing else refers to it, as long as shared is false
	shared bool    // several vectors refer to this directory: it and its pages never change again
}

type page [pageSlots]Epoch

// ClockOf returns a vector with these entries.
func ClockOf(entries ...Epoch) *Clock {
	v := &Clock{}
	for slot, n := range entries {
		if n != 0 {
			v.Set(uint32(slot), n)
		}
	}
	return v
}

// At returns the entry of a slot.
func (v *Clock) At(slot uint32) Epoch {
	if int(slot) < len(v.low) {
		return v.low[slot]
	}
	return v.high.at(slot)
}

func (u *upper) at(slot uint32) Epoch {
	if u == nil || slot < LowSlots {
		return 0
	}
	at := slot - LowSlots
	if i := int(at / pageSlots); i < len(u.pages) && u.pages[i] != nil {
		return u.pages[i][at%pageSlots]
	}
	return 0
}

// Len returns a number of slots beyond which all entries are zero.
func (v *Clock) Len() int {
	if v.high == nil {
		return len(v.low)
	}
	return LowSlots + len(v.high.pages)*pageSlots
}

// Set sets the entry of a slot.
func (v *Clock) Set(slot uint32, n Epoch) {
	if int(slot) < len(v.low) {
		v.low[slot] = n
		return
	}
	v.setBeyond(slot, n)
}

// setBeyond is Set for a slot that is not in low.
func (v *Clock) setBeyond(slot uint32, n Epoch) {
	if slot < LowSlots {
		v.Extend(int(slot) + 1)
		v.low[slot] = n
	} else if v.high.at(slot) != n {
		at := slot - LowSlots
		v.page(int(at / pageSlots))[at%pageSlots] = n
	}
}

// Raise sets the entry of a slot to n if it is less.
func (v *Clock) Raise(slot uint32, n Epoch) {
	if v.At(slot) < n {
		v.Set(slot, n)
	}
}

// Extend makes room for the entries of the first n slots, so that Set of one of them does not move
// others in memory. Slots from LowSlots on need no room.
func (v *Clock) Extend(n int) {
	old := len(v.low)
	if n = min(n, LowSlots); n > old {
		v.low = extended(v.low, n)
		clear(v.low[old:])
	}
}

// extended returns s with length n, which is more than its own. The new elements have any value.
func extended(s []Epoch, n int) []Epoch {
	if n <= cap(s) {
		return s[:n]
	}
	longer := make([]Epoch, n, max(n, min(2*cap(s), LowSlots)))
	copy(longer, s)
	return longer
}

// Reset makes v the clock of no events.
func (v *Clock) Reset() {
	v.low = v.low[:0]
	if v.high != nil {
		v.high = nil
	}
}

// Copy makes v equal to d.
func (v *Clock) Copy(d *Clock) {
	v.low = append(v.low[:0], d.low...)
	v.share(d.high)
}

// Clone returns a vector that equals v; nil is a clock of no events.
func (v *Clock) Clone() *Clock {
	c := &Clock{}
	if v != nil {
		c.Copy(v)
	}
	return c
}

// share makes v refer to another vector's directory.
func (v *Clock) share(u *upper) {
	if v.high == u {
		return
	}
	if u != nil {
		u.shared = true
	}
	v.high = u
}

// Join makes v the pointwise maximum of v and d.
func (v *Clock) Join(d *Clock) {
	v.Extend(len(d.low))
	s := v.low[:len(d.low)]
	for i, n := range d.low {
		if n > s[i] {
			s[i] = n
		}
	}
	if d.high != nil {
		v.joinHigh(d.high)
	}
}

// Maximum makes v the pointwise maximum of a and b. v may be a or b itself.
func (v *Clock) Maximum(a, b *Clock) {
	long, short := a.low, b.low
	if len(long) < len(short) {
		long, short = short, long
	}
	high, other := a.high, b.high
	if v == b {
		high, other = other, high
	}
	v.low = extended(v.low[:0], len(long))
	maximum(v.low, long, short)
	v.share(high)
	if other != nil {
		v.joinHigh(other)
	}
}

// maximum sets dst to the pointwise maximum of a and b. dst and a have the same length; b may be
// shorter.
func maximum(dst, a, b []Epoch) {
	n := min(len(a), len(b))
	x, y, z := a[:n], b[:n], dst[:n]
	for len(z) >= 4 && len(x) >= 4 && len(y) >= 4 {
		z[0] = max(x[0], y[0])
		z[1] = max(x[1], y[1])
		z[2] = max(x[2], y[2])
		z[3] = max(x[3], y[3])
		x, y, z = x[4:], y[4:], z[4:]
	}
	for i := range z {
		z[i] = max(x[i], y[i])
	}
	copy(dst[n:], a[n:])
}

// joinHigh joins the slots from LowSlots on.
func (v *Clock) joinHigh(d *upper) {
	if v.high == nil {
		v.share(d)
		return
	}
	if v.high == d {
		return
	}
	for i, from := range d.pages {
		if i < len(v.high.pages) && v.high.pages[i] == from || from == nil {
			continue
		}
		var own *page
		if i < len(v.high.pages) {
			own = v.high.pages[i]
		}
		switch less, more := compare(own, from); {
		case !less: // own includes it
		case !more:
			v.directory(i + 1).pages[i] = from
			v.high.owned[i], d.owned[i] = false, false
		default:
			to := v.page(i)
			maximum(to[:], to[:], from[:])
		}
	}
}

// compare reports whether an entry of a is less than b's, and whether one is more. a may be nil: all
// entries are zero.
func compare(a, b *page) (less, more bool) {
	if a == nil {
		return true, false
	}
	for i := range a {
		if a[i] < b[i] {
			less = true
		} else if a[i] > b[i] {
			more = true
		}
	}
	return less, more
}

// directory returns v's directory with at least n pages, which v may change.
func (v *Clock) directory(n int) *upper {
	u := v.high
	switch {
	case u == nil:
		u = &upper{}
	case u.shared:
		n = max(n, len(u.pages))
		u = &upper{pages: make([]*page, n), owned: make([]bool, n)}
		copy(u.pages, v.high.pages)
	}
	for len(u.pages) < n {
		u.pages, u.owned = append(u.pages, nil), append(u.owned, false)
	}
	v.high = u
	return u
}

// page returns a page of v that v may change.
func (v *Clock) page(i int) *page {
	u := v.directory(i + 1)
	if !u.owned[i] {
		p := &page{}
		if old := u.pages[i]; old != nil {
			*p = *old
		}
		u.pages[i], u.owned[i] = p, true
	}
	return u.pages[i]
}

// Includes reports whether v includes all events of d.
func (v *Clock) Includes(d *Clock) bool {
	for i, n := range d.low {
		if n > v.At(uint32(i)) {
			return false
		}
	}
	return d.high == nil || v.high.includes(d.high)
}

func (u *upper) includes(d *upper) bool {
	if u == d {
		return true
	}
	for i, from := range d.pages {
		if own := u.pageAt(i); from != nil && own != from {
			if less, _ := compareOrZero(own, from); less {
				return false
			}
		}
	}
	return true
}

// pageAt returns a page, or nil if all its entries are zero.
func (u *upper) pageAt(i int) *page {
	if u == nil || i >= len(u.pages) {
		return nil
	}
	return u.pages[i]
}

// compareOrZero is compare, except that a zero page includes one with no entry but zero.
func compareOrZero(a, b *page) (less, more bool) {
	if a == nil {
		return *b != page{}, false
	}
	return compare(a, b)
}

// EqualBut reports whether v and d are equal in all entries but that of slot.
func (v *Clock) EqualBut(slot uint32, d *Clock) bool {
	if len(v.low) != len(d.low) {
		return false
	}
	for i, n := range v.low {
		if n != d.low[i] && uint32(i) != slot {
			return false
		}
	}
	if v.high == d.high {
		return true
	}
	equal := true
	v.rises(d, func(at uint32, _ Epoch) { equal = equal && at == slot })
	d.rises(v, func(at uint32, _ Epoch) { equal = equal && at == slot })
	return equal
}

// Low returns the entries of the first slots, 256 at most; those beyond its length are zero. It
// belongs to v.
func (v *Clock) Low() []Epoch { return v.low }

// HighRises calls f, by slot, for each entry of d beyond the first 256 slots that is greater than v's.
// Pages that both share cost nothing.
func (v *Clock) HighRises(d *Clock, f func(slot uint32, n Epoch)) {
	if d.high != nil && v.high != d.high {
		v.rises(d, f)
	}
}

// rises is HighRises without the short way.
func (v *Clock) rises(d *Clock, f func(slot uint32, n Epoch)) {
	if d.high == nil {
		return
	}
	var zero page
	for i, from := range d.high.pages {
		own := v.high.pageAt(i)
		if from == nil || own == from {
			continue
		}
		if own == nil {
			own = &zero
		}
		for k, n := range from {
			if n > own[k] {
				f(LowSlots+uint32(i*pageSlots+k), n)
			}
		}
	}
}

// Entries returns all entries, without the zeros at the end. It is for tests and needs memory for
// each slot.
func (v *Clock) Entries() []Epoch {
	if v == nil {
		return nil
	}
	var all []Epoch
	for slot := range uint32(v.Len()) {
		all = append(all, v.At(slot))
	}
	for len(all) > 0 && all[len(all)-1] == 0 {
		all = all[:len(all)-1]
	}
	return all
}

// A Weigher adds up the memory of vectors, of which each page counts once however many share it.
type Weigher struct {
	uppers map[*upper]bool
	pages  map[*page]bool
	bytes  uint64
}

// Add adds a vector.
func (w *Weigher) Add(v *Clock) {
	const entry = 4
	w.bytes += uint64(cap(v.low)) * entry
	if v.high == nil || w.uppers[v.high] {
		return
	}
	if w.uppers == nil {
		w.uppers, w.pages = map[*upper]bool{}, map[*page]bool{}
	}
	w.uppers[v.high] = true
	w.bytes += uint64(cap(v.high.pages)) * 9
	for _, p := range v.high.pages {
		if p != nil && !w.pages[p] {
			w.pages[p] = true
			w.bytes += pageSlots * entry
		}
	}
}

// Bytes returns the memory of all vectors that were added.
func (w *Weigher) Bytes() uint64 { return w.bytes }
