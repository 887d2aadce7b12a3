package stats

import "math/bits"

// Latency measures the time from an event to its verdict, which is known when the level of
// the lattice that contains the event on the observed run is closed. Level k contains the
// first k events. A nil Latency measures nothing.
type Latency struct {
	now          func() uint64
	times        []uint64 // circular buffer of the times of events whose level is not closed
	first        int      // index in times of the oldest event
	n            int      // number of events in times
	closedLevels uint64   // number of levels that have been closed
	spread       *Histogram
}

// NewLatency returns a Latency. The function now returns the time on the clock of the events,
// in nanoseconds; events without a time are left out.
func NewLatency(now func() uint64) *Latency { return &Latency{now: now, spread: &Histogram{}} }

// Another returns a Latency of another lattice of the same run, which adds to the same distribution.
func (l *Latency) Another() *Latency {
	if l == nil {
		return nil
	}
	return &Latency{now: l.now, spread: l.spread}
}

// Event adds the time of the next event of the lattice, in nanoseconds; 0 if it has none.
func (l *Latency) Event(time uint64) {
	if l == nil {
		return
	}
	if l.n == len(l.times) {
		l.grow()
	}
	l.times[(l.first+l.n)&(len(l.times)-1)] = time
	l.n++
}

func (l *Latency) grow() {
	larger := make([]uint64, max(64, 2*len(l.times)))
	n := copy(larger, l.times[l.first:])
	copy(larger[n:], l.times[:l.first])
	l.times, l.first = larger, 0
}

// LevelsClosed adds the latencies of the events whose levels have been closed since the last
// call. Levels is the number of levels that have been closed so far.
func (l *Latency) LevelsClosed(levels uint64) {
	if l == nil || levels == l.closedLevels {
		return
	}
	now := l.now()
	for ; l.closedLevels < levels && l.n > 0; l.closedLevels++ {
		t := l.times[l.first]
		if l.first, l.n = (l.first+1)&(len(l.times)-1), l.n-1; t != 0 {
			l.spread.add(now - min(t, now))
		}
	}
}

// Spread returns the distribution of the latencies, in nanoseconds.
func (l *Latency) Spread() *Histogram { return l.spread }

// Histogram counts values in buckets whose width is at most 1/32 of the value, as HDR
// histograms do. The zero value is empty.
type Histogram struct {
	counts [(64 - subBits + 1) << subBits]uint64
	n, max uint64
}

// subBits is the binary logarithm of the number of buckets for each power of two.
const subBits = 5

// add counts a value.
func (h *Histogram) add(v uint64) {
	h.counts[bucket(v)]++
	h.n++
	h.max = max(h.max, v)
}

// bucket returns the bucket of a value. Values below 2<<subBits have a bucket each. For others
// the highest bit and the subBits bits below it determine the bucket.
func bucket(v uint64) int {
	shift := max(bits.Len64(v)-subBits-1, 0)
	return shift<<subBits + int(v>>shift)
}

// top returns the largest value of a bucket.
func top(b int) uint64 {
	shift := max(b>>subBits-1, 0)
	return (uint64(b-shift<<subBits)+1)<<shift - 1
}

// N returns the number of values that were counted.
func (h *Histogram) N() uint64 { return h.n }

// Max returns the largest value; 0 if there was none.
func (h *Histogram) Max() uint64 { return h.max }

// Quantile returns the q-quantile of the values, for q from 0 to 1, up to the width of a bucket:
// the least value that a share q of the values do not exceed. It returns 0 without values.
func (h *Histogram) Quantile(q float64) uint64 {
	want := uint64(q*float64(h.n) + 0.999999)
	want = min(max(want, 1), h.n)
	var seen uint64
	for b, n := range h.counts {
		if seen += n; n > 0 && seen >= want {
			return min(top(b), h.max)
		}
	}
	return 0
}
