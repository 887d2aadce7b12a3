package eraser

import (
	"slices"

	"github.com/tracepredict/tracepredict/analysis/locks"
	"github.com/tracepredict/tracepredict/observer/event"
)

// setID identifies an interned lockset; 0 is the empty one.
type setID int32

// member is a member of a lockset: a lock with the mode in which it is held. A candidate set,
// which has no modes, is a lockset of exclusive members.
type member = locks.Member

// cacheLimit bounds each table of results of set operations. A table that reaches it is cleared,
// which costs time but never changes a result.
const cacheLimit = 1 << 16

// addKey has the operands of table.add.
type addKey struct {
	set setID
	m   member
}

// addResult is a cached result of table.add.
type addResult struct {
	key   addKey
	to    setID
	known bool
}

// cacheIndex returns the index of the operation in table.addedCache.
func (k addKey) cacheIndex() uint64 { return (uint64(k.set)*7 + uint64(k.m)) % cacheSize }

// refineResult is a cached result of table.meet.
type refineResult struct {
	key   refineKey
	to    setID
	known bool
}

// excludesResult is a cached result of table.excludes. Its zero value is correct: two empty sets do
// not exclude each other.
type excludesResult struct {
	a, b     setID
	excludes bool
}

// refineKey has the operands of table.refine.
type refineKey struct {
	candidates, held setID
	write            bool
}

// table interns locksets as sorted slices and caches the results of operations on them, so that a
// program in its steady state allocates nothing (as Savage et al., Eraser, TOCS 15(4) 1997,
// section 3.2, do).
type table struct {
	sets           [][]member                // by identifier
	buckets        map[uint64][]setID        // by hash: the sets with that hash
	added          map[addKey]setID          // results of add
	addedCache     [cacheSize]addResult      // direct-mapped cache of added
	refined        map[refineKey]setID       // results of refine
	exclusions     map[[2]setID]bool         // results of excludes
	common         map[[2]setID]setID        // results of guards
	refinedCache   [cacheSize]refineResult   // direct-mapped cache of refined
	exclusionCache [cacheSize]excludesResult // direct-mapped cache of exclusions
	scratch        []member
}

func newTable() *table {
	t := &table{
		added:      map[addKey]setID{},
		refined:    map[refineKey]setID{},
		exclusions: map[[2]setID]bool{}, common: map[[2]setID]setID{},
	}
	t.reset()
	return t
}

// reset removes every set but the empty one.
func (t *table) reset() {
	t.sets = [][]member{nil}
	t.buckets = map[uint64][]setID{hash(nil): {0}}
	clear(t.added)
	clear(t.addedCache[:])
	clear(t.refined)
	clear(t.exclusions)
	clear(t.common)
	clear(t.refinedCache[:])
	clear(t.exclusionCache[:])
}

// hash is FNV-1a over the members.
func hash(s []member) uint64 {
	h := uint64(14695981039346656037)
	for _, m := range s {
		for range 8 {
			h = (h ^ uint64(m&0xff)) * 1099511628211
			m >>= 8
		}
	}
	return h
}

// intern returns the identifier of a sorted set, which it copies if it is new.
func (t *table) intern(s []member) setID {
	h := hash(s)
	for _, id := range t.buckets[h] {
		if slices.Equal(t.sets[id], s) {
			return id
		}
	}
	id := setID(len(t.sets))
	t.sets = append(t.sets, slices.Clone(s))
	t.buckets[h] = append(t.buckets[h], id)
	return id
}

// cacheResult adds a result to a table of results, and returns it.
func cacheResult[K comparable, V any](cache map[K]V, k K, v V) V {
	if len(cache) >= cacheLimit {
		clear(cache)
	}
	cache[k] = v
	return v
}

// add returns the set s with member m added.
func (t *table) add(s setID, m member) setID {
	k := addKey{s, m}
	cached := &t.addedCache[k.cacheIndex()]
	if !cached.known || cached.key != k {
		*cached = addResult{k, t.addUncached(s, m), true}
	}
	return cached.to
}

func (t *table) addUncached(s setID, m member) setID {
	if r, ok := t.added[addKey{s, m}]; ok {
		return r
	}
	t.scratch = append(t.scratch[:0], t.sets[s]...)
	i, found := slices.BinarySearch(t.scratch, m)
	if !found {
		t.scratch = slices.Insert(t.scratch, i, m)
	}
	return cacheResult(t.added, addKey{s, m}, t.intern(t.scratch))
}

// protecting returns, as a candidate set, the locks that protect an access made under held. A
// write is protected only by locks held exclusively.
func (t *table) protecting(held setID, write bool) setID {
	t.scratch = t.scratch[:0]
	for _, m := range t.sets[held] {
		if write && m.Shared() {
			continue
		}
		t.scratch = append(t.scratch, locks.MemberOf(m.Lock(), false))
	}
	return t.intern(t.scratch)
}

// refine returns the candidates that protect an access made under held.
func (t *table) refine(candidates, held setID, write bool) setID {
	k := refineKey{candidates, held, write}
	cached := &t.refinedCache[(candidates*7+held)%cacheSize]
	if !cached.known || cached.key != k {
		*cached = refineResult{k, t.refineUncached(k), true}
	}
	return cached.to
}

func (t *table) refineUncached(k refineKey) setID {
	if r, ok := t.refined[k]; ok {
		return r
	}
	t.scratch = t.scratch[:0]
	for _, c := range t.sets[k.candidates] {
		if covers(t.sets[k.held], c.Lock(), k.write) {
			t.scratch = append(t.scratch, c)
		}
	}
	return cacheResult(t.refined, k, t.intern(t.scratch))
}

// covers reports whether the lock, as held in set s, protects an access.
func covers(s []member, lock event.ObjectID, write bool) bool {
	if _, ok := slices.BinarySearch(s, locks.MemberOf(lock, false)); ok {
		return true
	}
	if write {
		return false
	}
	_, ok := slices.BinarySearch(s, locks.MemberOf(lock, true))
	return ok
}

// excludes reports whether two threads cannot hold the two sets at the same time: some lock is in
// both sets, and in one of them exclusively.
func (t *table) excludes(a, b setID) bool {
	if a == 0 || b == 0 {
		return false
	}
	if a > b {
		a, b = b, a
	}
	cached := &t.exclusionCache[(a*7+b)%cacheSize]
	if cached.a != a || cached.b != b {
		*cached = excludesResult{a, b, t.excludesUncached(a, b)}
	}
	return cached.excludes
}

func (t *table) excludesUncached(a, b setID) bool {
	k := [2]setID{a, b}
	if r, ok := t.exclusions[k]; ok {
		return r
	}
	return cacheResult(t.exclusions, k, excludes(t.sets[a], t.sets[b]))
}

// guards returns, as a candidate set, the locks by which two sets exclude each other.
func (t *table) guards(a, b setID) setID {
	k := [2]setID{min(a, b), max(a, b)}
	if r, ok := t.common[k]; ok {
		return r
	}
	t.scratch = t.scratch[:0]
	for _, m := range t.sets[a] {
		i, exclusive := slices.BinarySearch(t.sets[b], locks.MemberOf(m.Lock(), false))
		shared := i < len(t.sets[b]) && t.sets[b][i] == locks.MemberOf(m.Lock(), true)
		if exclusive || shared && !m.Shared() {
			t.scratch = append(t.scratch, locks.MemberOf(m.Lock(), false))
		}
	}
	return cacheResult(t.common, k, t.intern(t.scratch))
}

// excludes is table.excludes for two sets as slices.
func excludes(a, b []member) bool {
	for len(a) > 0 && len(b) > 0 {
		switch la, lb := a[0].Lock(), b[0].Lock(); {
		case la < lb:
			a = a[1:]
		case lb < la:
			b = b[1:]
		case a[0].Shared() && b[0].Shared():
			a, b = a[1:], b[1:]
		default:
			return true
		}
	}
	return false
}
