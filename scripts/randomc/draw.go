package main

import (
	"math/rand/v2"
	"slices"
	"strconv"
)

// statement is a statement of a program, which becomes instructions and lines of C.
type statement struct {
	kind                 kind
	object, mutex, value int
	test                 bool
	body, other          []statement // of a test or an attempt
}

// drawer draws the statements of a program.
type drawer struct {
	*program
	r      *rand.Rand
	weight weights
	left   int // operations that the code in hand may still have
}

// weights say how often a program uses each kind of thing.
type weights struct {
	locks, handovers, semaphores, atomics, plain float64
}

// draw makes a random program from a seed, with its run: the first of those that the seed leads to
// whose run can end well and which is small enough to enumerate.
func draw(seed uint64) (*program, []event, truth) {
	for attempt := uint64(0); ; attempt++ {
		r := rand.New(rand.NewPCG(seed, attempt))
		p := drawProgram(r)
		p.compile()
		run, ok := p.fortunate(r)
		if !ok || len(run) < 12 {
			continue
		}
		if found, ok := p.truth(); ok {
			return p, run, found
		}
	}
}

func drawProgram(r *rand.Rand) *program {
	p := &program{mutexes: 2 + r.IntN(2), optimise: r.IntN(2)}
	for i := range p.mutexes {
		p.locks = append(p.locks, "m"+strconv.Itoa(i))
	}
	for i := range r.IntN(2) {
		p.locks = append(p.locks, "w"+strconv.Itoa(i))
	}
	p.atomics, p.release = 1+r.IntN(2), r.IntN(2) == 0
	for i := range p.atomics {
		p.variables = append(p.variables, "f"+strconv.Itoa(i))
	}
	for i := range 2 + r.IntN(2) {
		p.variables = append(p.variables, "x"+strconv.Itoa(i))
	}
	for range r.IntN(mostSemaphores + 1) {
		p.semaphores = append(p.semaphores, r.IntN(2))
	}
	for range min(r.IntN(4), mostConditions) {
		p.conditions = append(p.conditions, condition{r.IntN(p.mutexes), p.atomics + r.IntN(len(p.variables)-p.atomics), 1})
	}
	d := &drawer{program: p, r: r}
	if r.Float64() < 0.4 {
		d.guard()
	}
	d.threads(2 + r.IntN(2))
	return p
}

// guard draws a mutex for each variable, so that there are no races.
func (d *drawer) guard() {
	for range d.variables {
		d.guards = append(d.guards, d.r.IntN(d.mutexes))
	}
	for i := range d.conditions {
		d.conditions[i].mutex = d.guards[d.conditions[i].variable]
	}
}

func (d *drawer) theme() weights {
	w := func() float64 { return []float64{0.3, 1, 2, 4}[d.r.IntN(4)] }
	return weights{locks: 1.5 + w(), handovers: 0.5 + w(), semaphores: w(), atomics: w() / 2, plain: 0.5 + w()}
}

// threads draws main and the code of so many other threads.
func (d *drawer) threads(others int) {
	d.weight = d.theme()
	d.routine, d.blocks = []int{0}, [][]statement{nil}
	for t := 1; t <= others; t++ {
		if t == 2 && d.r.Float64() < 0.15 {
			d.routine = append(d.routine, 1)
			continue
		}
		d.left = 7 + d.r.IntN(8)
		d.routine = append(d.routine, len(d.blocks))
		d.blocks = append(d.blocks, d.block(nil, 0))
	}
	d.left = d.r.IntN(6)
	d.blocks[0] = d.block(nil, 0)
	for t := 1; t <= others; t++ {
		creator := 0
		if t > 1 && d.r.Float64() < 0.25 && !d.shared(d.routine[t-1]) {
			creator = d.routine[t-1]
		}
		d.blocks[creator] = d.spawn(d.blocks[creator], t, creator == 0)
	}
}

func (d *drawer) shared(code int) bool {
	n := 0
	for _, c := range d.routine {
		if c == code {
			n++
		}
	}
	return n > 1
}

// spawn inserts the creation of a thread into a block, and somewhere after it its join.
func (d *drawer) spawn(block []statement, thread int, early bool) []statement {
	at := d.r.IntN(len(block) + 1)
	if early {
		at = d.r.IntN(at + 1)
	}
	block = slices.Insert(block, at, statement{kind: create, object: thread})
	at += 1 + d.r.IntN(len(block)-at)
	if d.r.Float64() < 0.6 {
		at = len(block)
	}
	return slices.Insert(block, at, statement{kind: join, object: thread})
}

// block draws statements; held are the locks that the blocks around it hold.
func (d *drawer) block(held []int, depth int) []statement {
	var out []statement
	var own []int
	for d.left > 0 && (depth == 0 || len(out) == 0 || d.r.Float64() < 0.7) {
		if len(own) > 0 && d.r.Float64() < 0.2 {
			i := len(own) - 1
			if d.r.Float64() < 0.15 {
				i = d.r.IntN(len(own))
			}
			out = append(out, statement{kind: unlock, object: own[i]})
			own = slices.Delete(own, i, i+1)
			continue
		}
		out = append(out, d.some(slices.Concat(held, own), &own, depth)...)
	}
	for _, l := range slices.Backward(own) {
		out = append(out, statement{kind: unlock, object: l})
	}
	return out
}

// some draws a statement, or several that belong together.
func (d *drawer) some(held []int, own *[]int, depth int) []statement {
	w := d.weight
	if len(d.conditions) == 0 {
		w.handovers = 0
	}
	if len(d.semaphores) == 0 {
		w.semaphores = 0
	}
	if len(held) > 2 || len(held) == len(d.locks) {
		w.locks = 0
	}
	x := d.r.Float64() * (w.locks + w.handovers + w.semaphores + w.atomics + w.plain)
	switch {
	case x < w.locks:
		return d.acquire(held, own, depth)
	case x < w.locks+w.handovers:
		return d.handover(held)
	case x < w.locks+w.handovers+w.semaphores:
		return d.semaphore(held, depth)
	case x < w.locks+w.handovers+w.semaphores+w.atomics:
		return d.variable(d.r.IntN(d.atomics), held, depth)
	}
	return d.variable(d.atomics+d.r.IntN(len(d.variables)-d.atomics), held, depth)
}

func (d *drawer) acquire(held []int, own *[]int, depth int) []statement {
	l := d.r.IntN(len(d.locks))
	for slices.Contains(held, l) {
		l = d.r.IntN(len(d.locks))
	}
	d.left -= 2
	if depth < 2 && d.r.Float64() < 0.15 {
		body := append(d.block(append(slices.Clone(held), l), depth+1), statement{kind: unlock, object: l})
		return []statement{{kind: tryLock, object: l, body: body, other: d.otherwise(held, depth)}}
	}
	*own = append(*own, l)
	if l >= d.mutexes && d.r.Float64() < 0.6 {
		return []statement{{kind: readLock, object: l}}
	}
	return []statement{{kind: lock, object: l}}
}

// otherwise draws what is done where a test or an attempt fails: usually nothing.
func (d *drawer) otherwise(held []int, depth int) []statement {
	if d.left <= 0 || d.r.Float64() < 0.75 {
		return nil
	}
	return d.block(held, depth+1)
}

// handover draws a wait for a predicate, or what makes the predicate true and notifies.
func (d *drawer) handover(held []int) []statement {
	i := d.r.IntN(len(d.conditions))
	c := d.conditions[i]
	loop := statement{kind: wait, object: i, mutex: c.mutex}
	set := statement{kind: write, object: c.variable, value: c.value}
	note := statement{kind: signal, object: i}
	if d.r.Float64() < 0.4 {
		note.kind = broadcast
	}
	d.left -= 2
	inside := slices.Contains(held, c.mutex)
	waits := d.r.Float64() < 0.5
	loops := []statement{loop}
	if d.r.Float64() < 0.4 {
		loops = append(loops, statement{kind: write, object: c.variable, value: 1 - c.value})
	}
	switch {
	case inside && waits:
		return loops
	case inside:
		return []statement{set, note}
	}
	begin, end := statement{kind: lock, object: c.mutex}, statement{kind: unlock, object: c.mutex}
	d.left -= 2
	if waits {
		return append(append([]statement{begin}, loops...), end)
	}
	switch x := d.r.Float64(); {
	case x < 0.5:
		return []statement{begin, set, note, end}
	case x < 0.85:
		return []statement{begin, set, end, note}
	case x < 0.95 && len(d.guards) == 0:
		return []statement{set, begin, note, end} // the predicate changes without the mutex
	}
	return []statement{note}
}

func (d *drawer) semaphore(held []int, depth int) []statement {
	s := statement{kind: post, object: d.r.IntN(len(d.semaphores))}
	d.left--
	switch x := d.r.Float64(); {
	case x < 0.35:
		s.kind = semWait
	case x < 0.5 && depth < 2 && d.left > 0:
		s.kind = semTry
		s.body, s.other = d.block(held, depth+1), d.otherwise(held, depth)
	}
	return []statement{s}
}

// variable draws an access of a variable, under its mutex if it has one.
func (d *drawer) variable(v int, held []int, depth int) []statement {
	if v < d.atomics || len(d.guards) == 0 || slices.Contains(held, d.guards[v]) {
		return d.access(v, held, depth)
	}
	m := d.guards[v]
	d.left -= 2
	inside := d.access(v, append(slices.Clone(held), m), depth)
	return slices.Concat([]statement{{kind: lock, object: m}}, inside, []statement{{kind: unlock, object: m}})
}

func (d *drawer) access(v int, held []int, depth int) []statement {
	s := statement{kind: write, object: v, value: 1}
	d.left--
	switch x := d.r.Float64(); {
	case x < 0.1:
		s.value = 0
	case x < 0.35:
	case x < 0.5:
		s.kind = update
		if v >= d.atomics {
			s.kind = increment
		}
	case x < 0.75 || depth >= 2 || d.left <= 0:
		s.kind = read
	default:
		s.kind, s.test = read, true
		if d.r.Float64() < 0.75 {
			s.value = 1
		} else {
			s.value = 0
		}
		s.body, s.other = d.block(held, depth+1), d.otherwise(held, depth)
	}
	return []statement{s}
}
