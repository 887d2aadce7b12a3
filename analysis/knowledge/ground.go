package knowledge

import (
	"slices"

	"github.com/tracepredict/tracepredict/observer/event"
)

// ground is a body with threads in place of the numbers that it names, and one bit for each
// operator that looks at the past.
type ground struct {
	body      *Body
	threads   []*thread // by number; nil: not bound here
	subject   *thread   // in whose states it is evaluated
	member    *thread   // the thread that a quantifier binds here; nil: none
	top       int       // index in Formula.Tops; -1: it is none
	bits      []bool
	parts     [][]*ground // by input: of operators and quantifiers
	links     []*remote   // by input: of Remote, as far as they were asked for
	fresh     bool        // no state of it was evaluated since it began
	evaluated bool
	violated  bool
	dead      bool
}

// remoteKey identifies a remote expression with threads in place of the bound ones that it names.
type remoteKey struct {
	body    *Body
	threads [MaxBound]uint32 // serials; 0: not named
}

// remote is an expression that other threads evaluate by @.
type remote struct {
	key     remoteKey
	ground  *ground
	entry   int
	from    uint64 // the number of the entry before it was this one's
	initial uint64
	known   bool // initial is valid
	value   uint64
	last    entry  // the one of its last change; seq 0: it has not changed
	state   uint64 // Monitor.now when value was evaluated
	dead    bool
}

func (m *Monitor) newThread() *thread {
	m.serial++
	return &thread{serial: m.serial, life: -1}
}

// thread returns the state of a thread, and makes it if there is none.
func (m *Monitor) thread(id event.ThreadID) *thread {
	if t := m.threads[id]; t != nil {
		return t
	}
	var t *thread
	for n, d := range m.declared {
		if d.id == 0 && m.o.Is != nil && m.o.Is(id, n) {
			t = d
		}
	}
	if t == nil {
		t = m.newThread()
	}
	t.id = id
	m.threads[id] = t
	return t
}

// enrol adds a thread to the formulas of its types, at its first event. It returns whether the
// thread begins with a state of its own: with what its creator knew.
func (m *Monitor) enrol(t *thread) bool {
	if t.enrolled {
		return false
	}
	t.enrolled = true
	if t.forked {
		for _, g := range t.tops {
			g.fresh = true
		}
		for _, r := range t.remotes {
			r.ground.fresh = true
		}
	}
	m.admit(t)
	return t.forked
}

// named adds a thread that has got another name to the formulas of what that makes it. It returns whether the thread has a
// state for that.
func (m *Monitor) named(t *thread) bool {
	became := false
	for n, d := range m.declared {
		if d.id == 0 && m.o.Is != nil && m.o.Is(t.id, n) {
			m.become(n, t)
			became = true
		}
	}
	return m.admit(t) || became
}

// admit adds a thread to the formulas of the types that it has by now. It returns whether there are more of them.
func (m *Monitor) admit(t *thread) bool {
	var fresh set
	full := len(m.newest)-len(m.spare) >= maxEntries
	for n := range m.members {
		if t.types.has(n) || m.o.Of == nil || !m.o.Of(t.id, n) {
			continue
		}
		if full {
			m.unbound++
			break
		}
		fresh |= 1 << n
		m.members[n] = append(m.members[n], t)
	}
	if fresh == 0 {
		return false
	}
	if t.types == 0 {
		t.life = m.newEntry()
		t.lifeFrom = m.newest[t.life]
	}
	t.types |= fresh
	if m.misses(fresh) {
		m.unmet++
	}
	m.addRemotes(t)
	for i := range m.o.Formula.Tops {
		if bound := m.o.Formula.Tops[i].Bound; len(bound) > 0 {
			m.assign(i, m.environment(nil), 0, admitted{t, fresh}, false)
		}
	}
	for n := range m.overTypes {
		if fresh.has(n) {
			m.addToQuantifiers(n, t)
		}
	}
	return true
}

// misses reports whether a formula would bind a thread that has got types together with one that has ended, if that still lived.
func (m *Monitor) misses(fresh set) bool {
	for _, types := range m.gone {
		for i := range m.o.Formula.Tops {
			if bound := m.o.Formula.Tops[i].Bound; m.binds(bound, fresh, types) {
				return true
			}
		}
	}
	return false
}

// binds reports whether two bound threads may be of the one types and of the other.
func (m *Monitor) binds(bound []int, one, other set) bool {
	for i, a := range bound {
		for k, b := range bound {
			if i != k && one.has(m.typeOf(a)) && other.has(m.typeOf(b)) {
				return true
			}
		}
	}
	return false
}

// admitted is a thread with the types that it has got.
type admitted struct {
	*thread
	fresh set
}

// become makes a thread that has had events a declared one, whose past begins here.
func (m *Monitor) become(number int, t *thread) {
	d := m.declared[number]
	m.declared[number] = t
	for _, r := range m.remotes {
		r.ground.replace(d, t)
	}
	for _, x := range m.threads {
		for _, g := range x.tops {
			g.replace(d, t)
		}
	}
	for _, x := range m.declared {
		for _, g := range x.tops {
			g.replace(d, t)
		}
	}
	for _, g := range d.tops {
		g.replace(d, t)
		g.fresh = true
		t.tops = appendLive(t.tops, g, groundIsDead)
	}
	for _, r := range d.remotes {
		r.ground.fresh = true
		t.remotes = appendLive(t.remotes, r, remoteIsDead)
	}
}

// replace puts a thread in the place of another one.
func (g *ground) replace(old, by *thread) {
	for i, x := range g.threads {
		if x == old {
			g.threads[i] = by
		}
	}
	if g.subject == old {
		g.subject = by
	}
	for _, parts := range g.parts {
		for _, x := range parts {
			x.replace(old, by)
		}
	}
}

// environment returns the declared threads by number, or a copy of an environment.
func (m *Monitor) environment(of []*thread) []*thread {
	threads := make([]*thread, len(m.declared)+len(m.o.Formula.Bound))
	if of != nil {
		copy(threads, of)
	} else {
		copy(threads, m.declared)
	}
	return threads
}

// typeOf returns the type of a bound thread, by its number.
func (m *Monitor) typeOf(number int) int { return m.o.Formula.Bound[number-len(m.declared)] }

// assign adds a formula for each assignment of living threads to its bound threads, from the
// next-th on, in which t is one of them by a type that it has got.
func (m *Monitor) assign(top int, threads []*thread, next int, t admitted, has bool) {
	f := &m.o.Formula.Tops[top]
	if next == len(f.Bound) {
		if has && differ(f.Differ, threads) {
			m.addTop(top, m.environment(threads))
		}
		return
	}
	number := f.Bound[next]
	for _, x := range m.members[m.typeOf(number)] {
		if next == len(f.Bound)-1 && !has && x != t.thread {
			continue
		}
		threads[number] = x
		m.assign(top, threads, next+1, t, has || x == t.thread && t.fresh.has(m.typeOf(number)))
	}
	threads[number] = nil
}

// differ reports whether no pair is of the same thread, as far as both are bound.
func differ(pairs [][2]int, threads []*thread) bool {
	return !slices.ContainsFunc(pairs, func(p [2]int) bool { return threads[p[0]] != nil && threads[p[0]] == threads[p[1]] })
}

// addTop adds a formula with its threads.
func (m *Monitor) addTop(top int, threads []*thread) {
	f := &m.o.Formula.Tops[top]
	g := m.ground(f.Body, threads)
	g.top, g.fresh = top, len(f.Bound) > 0 || g.subject.forked
	g.subject.tops = appendLive(g.subject.tops, g, groundIsDead)
	for i, n := range f.Bound {
		if !slices.ContainsFunc(f.Bound[:i], func(k int) bool { return threads[k] == threads[n] }) {
			m.involve(threads[n], g)
		}
	}
	m.linkAll(g)
}

// involve records that a ground names a thread.
func (m *Monitor) involve(t *thread, g *ground) {
	t.grounds = appendLive(t.grounds, g, groundIsDead)
	t.active++
}

// ground makes a body with its threads.
func (m *Monitor) ground(b *Body, threads []*thread) *ground {
	n := len(b.Inputs)
	g := &ground{body: b, threads: threads, subject: threads[b.Thread], top: -1, bits: make([]bool, n), parts: make([][]*ground, n), links: make([]*remote, n)}
	for k := range b.Inputs {
		in := &b.Inputs[k]
		if in.Kind != ForAll && in.Kind != Exists {
			for _, x := range in.parts() {
				g.parts[k] = append(g.parts[k], m.ground(x, threads))
			}
			continue
		}
		of := m.typeOf(in.Index)
		m.overTypes[of] = appendLive(m.overTypes[of], g, groundIsDead)
		for _, t := range m.members[of] {
			m.addPart(g, k, t)
		}
	}
	return g
}

// addPart adds a thread to the k-th input of a ground, a quantifier.
func (m *Monitor) addPart(g *ground, k int, t *thread) {
	in := &g.body.Inputs[k]
	threads := m.environment(g.threads)
	threads[in.Index] = t
	if !differ(in.Differ, threads) {
		return
	}
	x := m.ground(in.X, threads)
	x.member, x.fresh = t, true
	g.parts[k] = appendLive(g.parts[k], x, groundIsDead)
	m.involve(t, x)
}

// addToQuantifiers adds a thread to all formulas that quantify over its type.
func (m *Monitor) addToQuantifiers(of int, t *thread) {
	for _, g := range slices.Clone(m.overTypes[of]) {
		for k := range g.body.Inputs {
			in := &g.body.Inputs[k]
			quantifies := (in.Kind == ForAll || in.Kind == Exists) && m.typeOf(in.Index) == of
			if !g.dead && quantifies && !slices.ContainsFunc(g.parts[k], func(x *ground) bool { return !x.dead && x.member == t }) {
				m.addPart(g, k, t)
				m.linkAll(g)
			}
		}
	}
}

// linkAll finds all remote expressions that a ground names, so that threads evaluate them from now
// on.
func (m *Monitor) linkAll(g *ground) {
	for k := range g.body.Inputs {
		if g.body.Inputs[k].Kind == Remote {
			m.link(g, k)
		}
		for _, x := range g.parts[k] {
			m.linkAll(x)
		}
	}
}

// collectBodies collects the remote expressions that name at most one bound thread.
func (m *Monitor) collectBodies(b *Body) {
	for i := range b.Inputs {
		in := &b.Inputs[i]
		if in.Kind == Remote && m.boundIn(in.X).size() <= 1 {
			m.bodies = append(m.bodies, in.X)
		}
		for _, x := range []*Body{in.X, in.Y} {
			if x != nil {
				m.collectBodies(x)
			}
		}
	}
}

// addRemotes adds the remote expressions that name no bound thread, or with t only that one. They
// are there before a formula needs them: a thread that begins later may know what they were.
func (m *Monitor) addRemotes(t *thread) {
	for _, b := range m.bodies {
		bound := m.boundIn(b)
		if t == nil && bound == 0 {
			m.remote(b, m.environment(nil))
		}
		for i, typ := range m.o.Formula.Bound {
			if n := len(m.declared) + i; t != nil && bound.has(n) && t.types.has(typ) {
				threads := m.environment(nil)
				threads[n] = t
				m.remote(b, threads)
			}
		}
	}
}

// boundIn returns the bound threads that a body names and does not bind itself.
func (m *Monitor) boundIn(b *Body) set {
	if m.free[b.ID] == 0 {
		m.free[b.ID] = b.free()
	}
	return m.free[b.ID] &^ (1<<len(m.declared) - 1)
}

// link returns the remote expression that the k-th input of a ground names.
func (m *Monitor) link(g *ground, k int) *remote {
	if r := g.links[k]; r != nil {
		return r
	}
	r := m.remote(g.body.Inputs[k].X, g.threads)
	g.links[k] = r
	return r
}

// remote returns a remote expression with its threads, and makes it if there is none.
func (m *Monitor) remote(b *Body, threads []*thread) *remote {
	key, bound := remoteKey{body: b}, m.boundIn(b)
	own := m.environment(nil)
	for i := range m.o.Formula.Bound {
		if n := len(m.declared) + i; bound.has(n) {
			own[n] = threads[n]
			key.threads[i] = threads[n].serial
		}
	}
	if r := m.remotes[key]; r != nil {
		return r
	}
	r := &remote{key: key, ground: m.ground(b, own), entry: m.newEntry()}
	r.from = m.newest[r.entry]
	r.ground.fresh = r.ground.subject.forked || key.threads != [MaxBound]uint32{}
	m.remotes[key] = r
	r.ground.subject.remotes = appendLive(r.ground.subject.remotes, r, remoteIsDead)
	for _, t := range own[len(m.declared):] {
		if t != nil {
			t.involved = appendLive(t.involved, r, remoteIsDead)
		}
	}
	m.linkAll(r.ground)
	r.value = m.initialOf(r)
	return r
}

// newEntry returns an entry of vectors that is not in use.
func (m *Monitor) newEntry() int {
	if n := len(m.spare); n > 0 {
		i := m.spare[n-1]
		m.spare = m.spare[:n-1]
		return i
	}
	m.newest = append(m.newest, 0)
	return len(m.newest) - 1
}

// initialOf returns the value of a remote expression in the initial state.
func (m *Monitor) initialOf(r *remote) uint64 {
	if !r.known {
		r.known = true
		r.initial = m.evalInitial(r.ground)
	}
	return r.initial
}

func (m *Monitor) evalInitial(g *ground) uint64 {
	before := m.initially
	m.initially = true
	defer func() { m.initially = before }()
	return m.eval(g, true)
}

// restart evaluates the initial state again, for all that has not been evaluated since.
func (m *Monitor) restart() {
	for _, r := range m.remotes {
		r.known = false
	}
	for _, r := range m.remotes {
		if evaluated := r.ground.evaluated; !evaluated {
			r.value = m.initialOf(r)
		} else {
			m.initialOfRunning(r)
		}
	}
	for _, t := range m.declared {
		for _, g := range t.tops {
			if !g.dead && !g.evaluated {
				m.evalInitial(g)
			}
		}
	}
}

// initialOfRunning evaluates the initial state of a remote expression that has later states, whose
// memory must stay.
func (m *Monitor) initialOfRunning(r *remote) {
	copied := m.ground(r.ground.body, r.ground.threads)
	r.known, r.initial = true, m.evalInitial(copied)
	m.kill(copied)
}

// knowsAnEnd reports whether a thread knows that one of the bound threads of a formula has ended.
func (m *Monitor) knowsAnEnd(t *thread, g *ground) bool {
	for _, n := range m.o.Formula.Tops[g.top].Bound {
		if x := g.threads[n]; x != t && m.knowsEnd(t, x) {
			return true
		}
	}
	return false
}

// knowsEnd reports whether a thread knows that another one has ended.
func (m *Monitor) knowsEnd(t, x *thread) bool {
	return x.ended && x.life >= 0 && t.vector.at(x.life).seq > x.lifeFrom
}

// end ends a thread: it has no more states, and those that know of its end need not evaluate
// formulas on it.
func (m *Monitor) end(t *thread) {
	if t.ended {
		return
	}
	t.ended = true
	if t.types == 0 {
		return
	}
	if len(m.gone) < maxGone {
		m.gone[t.id] = t.types
	}
	m.newest[t.life]++
	m.vectors.put(&t.vector, t.life, entry{m.newest[t.life], 1, newHop(moment{}, m.present, nil)})
	t.version++
	for n := range m.members {
		if t.types.has(n) {
			m.members[n] = slices.DeleteFunc(m.members[n], func(x *thread) bool { return x == t })
		}
	}
	m.lingering = append(m.lingering, t)
	for _, g := range t.tops {
		if len(m.o.Formula.Tops[g.top].Bound) > 0 {
			m.retire(g)
		}
	}
	for _, r := range t.remotes {
		m.retireParts(r.ground)
	}
	m.settle(t)
	if len(m.lingering) > maxLingering {
		m.leftOut++
		for _, g := range slices.Clone(m.lingering[0].grounds) {
			m.retire(g)
		}
	}
}

// retire takes a ground out of its formula.
func (m *Monitor) retire(g *ground) {
	if g.dead {
		return
	}
	m.kill(g)
	if g.member != nil {
		g.member.active--
		m.settle(g.member)
		return
	}
	bound := m.o.Formula.Tops[g.top].Bound
	for i, n := range bound {
		if !slices.ContainsFunc(bound[:i], func(k int) bool { return g.threads[k] == g.threads[n] }) {
			g.threads[n].active--
			m.settle(g.threads[n])
		}
	}
}

// kill marks a ground and its parts as dead; the parts of quantifiers are retired.
func (m *Monitor) kill(g *ground) {
	g.dead = true
	m.retireParts(g)
}

func (m *Monitor) retireParts(g *ground) {
	for _, parts := range g.parts {
		for _, x := range parts {
			if x.member != nil {
				m.retire(x)
			} else {
				m.retireParts(x)
			}
		}
	}
}

// settle drops what formulas keep of a thread that has ended, if no formula names it any more.
func (m *Monitor) settle(t *thread) {
	if !t.ended || t.active > 0 || t.dropped || t.types == 0 {
		return
	}
	t.dropped = true
	m.lingering = slices.DeleteFunc(m.lingering, func(x *thread) bool { return x == t })
	m.spare = append(m.spare, t.life)
	for _, r := range t.involved {
		if !r.dead {
			r.dead = true
			m.kill(r.ground)
			delete(m.remotes, r.key)
			m.spare = append(m.spare, r.entry)
		}
	}
	if slices.Contains(m.declared, t) {
		return
	}
	t.tops, t.remotes, t.involved, t.grounds = nil, nil, nil, nil
}

func groundIsDead(g *ground) bool { return g.dead }
func remoteIsDead(r *remote) bool { return r.dead }

// appendLive appends to a list, from which it removes what is dead before the list would grow.
func appendLive[T any](list []T, x T, dead func(T) bool) []T {
	if len(list) == cap(list) {
		list = slices.DeleteFunc(list, dead)
	}
	return append(list, x)
}
