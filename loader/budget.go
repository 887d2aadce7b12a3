package loader

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tracepredict/tracepredict/internal/safely"
	"github.com/tracepredict/tracepredict/loader/attach"
	"github.com/tracepredict/tracepredict/loader/procfs"
	"github.com/tracepredict/tracepredict/probes"
	"github.com/tracepredict/tracepredict/probes/cheapsite"
)

// Accesses through pointers are the most frequent ones of a program, and each hits a probe. Options.Budget
// bounds what that costs, with the accesses of variables that the user did not name: where it is exceeded, the hottest
// of these probes are removed, and those of pointers are put in again for a while when there is room. So code that is seldom executed is observed to the end, and hot code in
// bursts, as in LiteRace (PLDI 2009, section 3). Probes of atomic code, locks and calls always stay. Those of calls
// that allocate only name what is found: they are removed before others, and have a bound of their own.

// The bounds of a thinner.
const (
	budgetEvery      = 20 * time.Millisecond  // between two looks at the counts
	budgetShare      = 10                     // one part in so many of the time is spent on reading them, at most
	credit           = 200 * time.Millisecond // what the probes may cost before the budget counts
	maxDebt          = 10 * credit            // what is remembered of what they have cost beyond the budget
	handling         = 300 * time.Nanosecond  // what a hit takes besides the probe itself, about
	backAfter        = time.Second            // between two times at which probes are put in again
	seldom           = 64                     // hits in a heatWindow up to which a probe stays
	heatWindow       = 200 * time.Millisecond // at most, from one look to another
	maxPointerGroups = 512                    // links of one process
	backAtOnce       = 64                     // probes that are put in again at once

	// Of calls that allocate: what a hit takes besides the probe itself, about, and their part of the processor time
	// of the program, with the same credit.
	keeping        = 500 * time.Nanosecond
	allocatedShare = 10
)

// Sampled says which accesses through pointers were not observed all the time.
type Sampled struct {
	Functions []string // those of which some probes were removed for a time, for a budget, sorted
	Of        int      // the number of functions with such probes
	Siteless  int      // the number of functions that had none, for lack of room
	// Mixed reports that code which is not atomic has accessed memory that atomic code had accessed.
	// What it does unobserved may order threads.
	Mixed bool
}

// pointerProbe is a probe of accesses through pointers.
type pointerProbe struct {
	attach.Probe
	function string        // "" if it only observes calls that allocate
	cost     time.Duration // of a hit
	seen     uint64        // hits at the last look
	recent   uint64        // hits between the last two looks
	before   uint64        // hits at the beginning of the heatWindow
	removed  time.Time     // since when it is not in; zero: it is
	out      uint64        // when it was removed first (CLOCK_MONOTONIC, ns); 0: never
}

// pointerGroup is a set of probes of one file in one process that share a link.
type pointerGroup struct {
	attach.LinkTarget
	link   *attach.Link
	probes []*pointerProbe
}

// thinner keeps the cost of the probes of accesses through pointers within a budget.
type thinner struct {
	tracer *attach.Tracer
	shared *unnamedWatcher
	factor float64      // how many times as long the program may take
	pids   func() []int // the processes that are observed

	over atomic.Bool // no access is observed any more

	mu        sync.Mutex    // guards the fields down to notes; acquired after Session.mu, before the Tracer's
	costs     *attach.Costs // nil: no probe has been attached
	groups    []*pointerGroup
	closing   attach.Closing           // links of former groups
	attached  []pointerGroup           // all probes of each file in each process; they have no link
	probes    map[uint32]*pointerProbe // by site
	all       []*pointerProbe          // the same ones
	sites     int                      // the largest site of a pointer, plus 1
	hits      []uint64                 // by site: at the last look
	spent     time.Duration            // processor time at the last look
	threads   threadBudget
	calls     uint64 // that synchronise, at the last look
	hitCost   hitCost
	debt      time.Duration   // what the probes have cost beyond the budget, from -credit to maxDebt
	window    time.Time       // when the heatWindow began
	nameDebt  time.Duration   // likewise of those of calls that allocate, beyond their part
	backAt    time.Time       // when probes were put in again last
	functions map[string]bool // true: sampled
	notes     []string        // texts of errors

	perSite time.Duration // the shortest time that reading the count of a site took; run's goroutine alone uses it

	stop chan struct{}
	done safely.Group
}

func newThinner(t *attach.Tracer, shared *unnamedWatcher, factor float64, pids func() []int) *thinner {
	return &thinner{
		tracer: t, shared: shared, factor: factor, pids: pids, debt: -credit, nameDebt: -credit,
		probes: map[uint32]*pointerProbe{}, functions: map[string]bool{}, stop: make(chan struct{}),
	}
}

// end has all probes removed, at the next look. A nil thinner has none.
func (t *thinner) end() {
	if t != nil {
		t.over.Store(true)
	}
}

// calibrate measures what a hit costs, before the first probe is attached. The caller holds t.mu.
func (t *thinner) calibrate() error {
	if t.costs != nil {
		return nil
	}
	costs, err := t.tracer.Costs()
	if err == nil {
		t.costs = &attach.Costs{Emulated: inPrograms(costs.Emulated), Stepped: inPrograms(costs.Stepped)}
	}
	return err
}

// inPrograms returns what a hit that costs d in a loop costs in a program, at most: there its code and data are
// seldom in the caches, and processors contend for the ring. With a factor of 5, a probe that cost a quarter more
// than it is taken to cost would seem to leave room for itself, however often it is hit.
func inPrograms(d time.Duration) time.Duration { return d * 3 / 2 }

// attach attaches the probes of accesses through pointers of a module for a process, except those that are
// removed now, and those of attachTogether.
func (t *thinner) attach(m *Module, to attach.LinkTarget) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !slices.ContainsFunc(m.Plan.Sites, func(s probes.Site) bool {
		return s.Program == probes.ProgramPointer || s.Program == probes.ProgramShared
	}) {
		return nil
	}
	if err := t.calibrate(); err != nil {
		return err
	}
	var all, now []*pointerProbe
	apart := m.isTogether()
	for i := range m.Plan.Sites {
		if m.Plan.Sites[i].Program == probes.ProgramPointer && !apart[i] && !m.Plan.Chained(i) {
			p := t.probe(m, i)
			all = append(all, p)
			if !p.isRemoved() {
				now = append(now, p)
			}
		}
	}
	t.attached = append(t.attached, pointerGroup{LinkTarget: to, probes: all})
	for chunk := range slices.Chunk(now, max(8, (len(now)+maxPointerGroups-1)/maxPointerGroups)) {
		if err := t.link(&pointerGroup{LinkTarget: to, probes: chunk}); err != nil {
			return err
		}
	}
	return nil
}

// probe returns the probe of a site, and makes it at the first call.
func (t *thinner) probe(m *Module, i int) *pointerProbe {
	s, site, costs := &m.Plan.Sites[i], m.Base+uint32(i), t.costs
	p := t.probes[site]
	if p == nil {
		p = &pointerProbe{Probe: attach.Probe{Offset: s.Offset, Site: site, Program: s.Program}, function: m.accessing(i), cost: costs.Stepped}
		if s.Class == cheapsite.Emulated {
			p.cost = costs.Emulated
		}
		if p.cost += handling; p.function == "" {
			p.cost += keeping - handling
		}
		t.probes[site], t.all = p, append(t.all, p)
		t.sites = max(t.sites, int(site)+1)
		if _, known := t.functions[p.function]; !known && p.function != "" {
			t.functions[p.function] = false
		}
	}
	return p
}

// accessing returns the name of the function whose accesses the probe of a site observes; "" if it observes none
// but allocations.
func (m *Module) accessing(i int) string {
	for j := i; j == i || j < len(m.Plan.Sites) && m.Plan.Chained(j); j++ {
		if s := &m.Plan.Sites[j]; !s.Allocates() {
			return functionOf(m, s)
		}
	}
	return ""
}

// functionOf returns the name of the function that a site is in or, if it has none, where it begins.
func functionOf(m *Module, s *probes.Site) string {
	if s.Function != "" {
		return s.Function
	}
	at := s.At
	if fn, ok := m.Plan.File.FunctionAt(at); ok {
		at = fn.Lo
	}
	return fmt.Sprintf("%s+%#x", path.Base(m.Path), at)
}

// link attaches a group's probes and adds the group.
func (t *thinner) link(g *pointerGroup) error {
	if err := t.relink(g); err != nil {
		return err
	}
	t.tracer.SetOwner(g.Owner, g.link)
	t.groups = append(t.groups, g)
	return nil
}

// relink gives a group a new link.
func (t *thinner) relink(g *pointerGroup) (err error) {
	all := make([]attach.Probe, len(g.probes))
	for i, p := range g.probes {
		all[i] = p.Probe
	}
	g.link, err = t.tracer.Link(g.LinkTarget, all, 0)
	return err
}

// run starts a goroutine that looks at the counts until halt: every budgetEvery, or less often if reading
// them would take more than one part in budgetShare of the time, as where there are very many sites.
func (t *thinner) run() {
	t.spent = t.used()
	t.done.Go(func() {
		next := time.NewTimer(budgetEvery)
		defer next.Stop()
		for {
			select {
			case <-t.stop:
				return
			case <-next.C:
				t.check(time.Now())
				next.Reset(max(budgetEvery, budgetShare*t.reading()))
			}
		}
	})
}

// reading returns what it takes to read the counts, if nothing else needs the processor.
func (t *thinner) reading() time.Duration { return t.perSite * time.Duration(t.sites) }

// halt ends that goroutine. When halt returns, the thinner attaches and removes no more probes.
func (t *thinner) halt() {
	close(t.stop)
	t.done.Wait()
	err := t.closing.Wait()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.note(err)
}

// check reads the counts, and removes probes, or puts some in again, as the budget says.
func (t *thinner) check(now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over.Load() {
		t.removeAll(now)
		return
	}
	if t.costs == nil { // there is no probe
		t.spent = t.used()
		return
	}
	begun := time.Now() // the lock may have been waited for
	t.hits = slices.Grow(t.hits[:0], t.sites)[:t.sites]
	if err := t.tracer.SiteHits(0, t.hits); err != nil {
		t.note(err)
		return
	}
	cost, names := t.count()
	variables, shared, err := t.shared.spent(*t.costs)
	t.note(err)
	cost += shared
	if perSite := time.Since(begun) / time.Duration(max(t.sites, 1)); t.perSite == 0 || perSite < t.perSite {
		t.perSite = perSite
	}
	since := t.used() - t.spent
	t.spent += since
	times := t.hitCost.times()
	limit := t.limit(cost, times)
	if since > 0 { // else a process has ended
		t.hitCost.add(t.threads.calls()-t.calls, cost, since)
	}
	t.calls = t.threads.calls()
	share := time.Duration(float64(since) / allocatedShare / times)
	room := roomFor(cost, since, t.factor, times)
	if t.nameDebt = max(t.nameDebt+names-share, -credit); t.nameDebt > 0 {
		t.thin(now, names, share, nil, true)
		t.nameDebt = 0
	}
	t.debt = min(max(t.debt+cost-room, -credit), maxDebt)
	switch {
	case t.debt > 0 && cost > room, cost > limit:
		t.thin(now, cost, min(room, limit), variables, false)
	case t.debt == -credit && now.Sub(t.backAt) >= backAfter:
		t.putBack()
		t.backAt = now
	}
	if now.Sub(t.window) >= heatWindow {
		t.window = now
		t.hitCost.end()
		for _, p := range t.all {
			p.before = p.seen
		}
	}
}

// roomFor returns how much hits may have cost that have cost so much, in processor time used, with which the program
// may take factor times as long as without them. Costs are what they are taken to be; in truth they are times as much.
func roomFor(cost, used time.Duration, factor, times float64) time.Duration {
	return time.Duration((factor - 1) * max(0, float64(used)-times*float64(cost)) / times)
}

// limit returns how much the hits since the last look may have cost, so that no thread is over its budget; cost is
// what they have cost.
func (t *thinner) limit(cost time.Duration, times float64) time.Duration {
	if t.threads.costs == nil {
		t.threads = newThreadBudget(t.tracer.Threads())
	}
	t.note(t.tracer.ThreadCosts(t.threads.costs))
	return t.threads.limit(cost, t.factor, times)
}

// used returns the processor time of the processes that are observed.
func (t *thinner) used() (sum time.Duration) {
	for _, pid := range t.pids() {
		d, _ := procfs.ProcessorTime(pid) // 0: it has ended
		sum += d
	}
	return sum
}

// count counts the hits of each site, and returns what those since the last look have cost, and what those of calls
// that allocate have.
func (t *thinner) count() (cost, names time.Duration) {
	for _, p := range t.all {
		p.recent = t.hits[p.Site] - p.seen
		p.seen = t.hits[p.Site]
		if p.recent > 0 {
			cost += time.Duration(p.recent) * p.cost
			if p.function == "" {
				names += time.Duration(p.recent) * p.cost
			}
		}
	}
	return cost, names
}

// removeAll removes all probes.
func (t *thinner) removeAll(now time.Time) {
	if len(t.groups) == 0 {
		return
	}
	for _, p := range t.all {
		if !p.isRemoved() {
			p.remove(now)
		}
	}
	t.note(t.shrink())
}

// expense is what may be removed, a probe or those of a variable, and what its hits have cost.
type expense struct {
	cost     time.Duration
	probe    *pointerProbe // nil: it is a variable
	variable uint32
}

// names reports whether it is a probe of a call that allocates.
func (e expense) names() bool { return e.probe != nil && e.probe.function == "" }

// order orders expenses of equal cost.
func (e expense) order() uint64 {
	if e.probe == nil {
		return uint64(e.variable)
	}
	return 1<<32 + uint64(e.probe.Site)
}

// thin removes the probes that cost most; see hottest.
func (t *thinner) thin(now time.Time, cost, room time.Duration, variables []expense, names bool) {
	var dropped []uint32
	for _, e := range t.hottest(cost, room, variables, names) {
		switch p := e.probe; {
		case p == nil:
			dropped = append(dropped, e.variable)
		default:
			p.remove(now)
			if p.function != "" {
				t.functions[p.function] = true
			}
		}
	}
	t.note(t.shrink())
	if len(dropped) > 0 {
		t.note(t.shared.giveUp(now, dropped))
	}
}

// hottest returns what costs most, so much of it that the rest would have cost half of the room that there was.
// Probes of calls that allocate come first; with names, there are no others. variables are those whose probes may be
// removed.
func (t *thinner) hottest(cost, room time.Duration, variables []expense, names bool) []expense {
	hot := slices.Clone(variables)
	for _, p := range t.all {
		if p.seen-p.before > seldom && !p.isRemoved() && (!names || p.function == "") {
			hot = append(hot, expense{cost: time.Duration(p.recent) * p.cost, probe: p})
		}
	}
	slices.SortFunc(hot, func(a, b expense) int {
		if x, y := a.names(), b.names(); x != y {
			if x {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(b.cost, a.cost), cmp.Compare(a.order(), b.order()))
	})
	for i, e := range hot {
		if cost <= room/2 {
			return hot[:i]
		}
		cost -= e.cost
	}
	return hot
}

// remove marks a probe as one that is to be removed.
func (p *pointerProbe) remove(now time.Time) {
	p.removed = now
	if p.out == 0 {
		p.out = monotonic()
	}
}

// shrink removes, from all groups, the probes that are to be removed, the groups that cost most first. Each group that
// changes gets a new link before the old one is removed, so that no access at the others is missed. While there are
// both, an access is recorded twice, which changes nothing. It does not wait until the old links are closed.
func (t *thinner) shrink() error {
	var errs []error
	var remaining, changed []*pointerGroup
	for _, g := range t.groups {
		if slices.ContainsFunc(g.probes, (*pointerProbe).isRemoved) {
			changed = append(changed, g)
		} else {
			remaining = append(remaining, g)
		}
	}
	slices.SortStableFunc(changed, func(a, b *pointerGroup) int { return cmp.Compare(b.goes(), a.goes()) })
	for _, g := range changed {
		next := *g
		next.link, next.probes = nil, slices.DeleteFunc(slices.Clone(g.probes), (*pointerProbe).isRemoved)
		if len(next.probes) > 0 {
			if err := t.relink(&next); err != nil {
				errs, remaining = append(errs, err), append(remaining, g)
				continue
			}
		}
		switch replaced := t.tracer.Replace(g.Owner, g.link, next.link); {
		case replaced:
			t.closing.Close(g.link)
			if next.link != nil {
				remaining = append(remaining, &next)
			}
		case next.link != nil: // the process or the observation has ended
			t.closing.Close(next.link)
		}
	}
	t.groups = remaining
	return errors.Join(errs...)
}

// isRemoved reports whether a probe is not in, or is to be removed.
func (p *pointerProbe) isRemoved() bool { return !p.removed.IsZero() }

// goes returns what those probes of a group have cost recently that are to be removed.
func (g *pointerGroup) goes() (sum time.Duration) {
	for _, p := range g.probes {
		if p.isRemoved() {
			sum += time.Duration(p.recent) * p.cost
		}
	}
	return sum
}

// putBack attaches the probes again that were removed longest ago.
func (t *thinner) putBack() {
	var out []*pointerProbe
	for _, p := range t.all {
		if p.isRemoved() {
			out = append(out, p)
		}
	}
	if len(out) == 0 {
		return
	}
	slices.SortFunc(out, func(a, b *pointerProbe) int {
		return cmp.Or(a.removed.Compare(b.removed), cmp.Compare(a.Site, b.Site))
	})
	out = out[:min(len(out), backAtOnce)]
	for _, p := range out {
		p.removed = time.Time{}
	}
	t.attached = slices.DeleteFunc(t.attached, func(to pointerGroup) bool {
		if !slices.Contains(t.pids(), to.Owner) {
			return true
		}
		back := slices.DeleteFunc(slices.Clone(out), func(p *pointerProbe) bool { return !slices.Contains(to.probes, p) })
		if len(back) > 0 {
			t.note(t.link(&pointerGroup{LinkTarget: to.LinkTarget, probes: back}))
		}
		return false
	})
}

func (t *thinner) note(err error) {
	if err != nil && !errors.Is(err, unix.ESRCH) && !slices.Contains(t.notes, err.Error()) { // else the process has just ended
		t.notes = append(t.notes, err.Error())
	}
}

// sampled returns which functions were sampled; nil if none was.
func (t *thinner) sampled() *Sampled {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := &Sampled{Of: len(t.functions), Mixed: t.tracer.MixedWords()}
	for name, sampled := range t.functions {
		if sampled {
			s.Functions = append(s.Functions, name)
		}
	}
	slices.Sort(s.Functions)
	if len(s.Functions) == 0 {
		return nil
	}
	return s
}

// Sampled returns which accesses through pointers were not observed all the time; nil if all of them were. It is valid
// at the end of the run.
func (s *Session) Sampled() *Sampled {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sampled
}

// collectSampled collects the results of the thinner before the BPF programs are unloaded.
func (s *Session) collectSampled() {
	var sampled *Sampled
	if s.thinner != nil {
		sampled = s.thinner.sampled()
	}
	if n := s.siteless(); n > 0 {
		if sampled == nil {
			sampled = &Sampled{Mixed: s.tracer.MixedWords()}
		}
		sampled.Siteless = n
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sampled = sampled
	if s.thinner == nil {
		return
	}
	for _, n := range s.thinner.notes {
		s.notes.say("--budget: " + n)
	}
}
