package main

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/tracepredict/tracepredict/scripts/figures"
)

// Requirements: what the docs promise.
const (
	maxOfEntry    = 1.0 / 12 // cost of a pair at cheap sites, of that at entries
	maxOfBpftrace = 1.0 / 8  // the same, of bpftrace's
	maxToolCPU    = 1.0      // CPU time of the tool, of the program's
	minReplay     = 4e6      // events a second of a recorded trace, through replayed
)

// page is what is written.
type page struct {
	config    config
	machine   string
	results   []result
	stores    []result // the plain one first
	stages    []stage
	replays   []replayed
	reach     []replayed
	checked   checked
	unbounded []unbounded
	reports   []written
	chains    named
	hang      told
	confirmed []confirmedIn
	protocols protocolCost
	knowledge knowledgeCost
	lockGraph float64 // seconds
	ordered   float64 // events a second through happens-before
}

// find returns a variant's result; ok is false if this machine does not have it.
func (p *page) find(name string, threads int) (r result, ok bool) {
	for _, r := range p.results {
		if r.name == name && r.threads == threads {
			return r, true
		}
	}
	return result{}, false
}

// median over the rounds of what f takes from a sample.
func (r result) median(f func(sample) float64) float64 {
	var values []float64
	for _, s := range r.samples {
		values = append(values, f(s))
	}
	return figures.Median(values)
}

// ratio compares two variants' costs within each round and takes the median.
func (p *page) ratio(name, other string, threads int) (float64, bool) {
	base, ok1 := p.find(plain, threads)
	a, ok2 := p.find(name, threads)
	b, ok3 := p.find(other, threads)
	if !ok1 || !ok2 || !ok3 {
		return 0, false
	}
	var ratios []float64
	for i := range base.samples {
		ratios = append(ratios, (a.samples[i].NsPerPair-base.samples[i].NsPerPair)/(b.samples[i].NsPerPair-base.samples[i].NsPerPair))
	}
	return figures.Median(ratios), true
}

// cost is the median of what a variant's pair takes above a plain one, in ns.
func (p *page) cost(name string, threads int) (float64, bool) {
	base, ok1 := p.find(plain, threads)
	a, ok2 := p.find(name, threads)
	if !ok1 || !ok2 {
		return 0, false
	}
	var costs []float64
	for i := range base.samples {
		costs = append(costs, a.samples[i].NsPerPair-base.samples[i].NsPerPair)
	}
	return figures.Median(costs), true
}

// outOfReach describes that a limit cannot be met on this machine wherever probes
// sit: each call must pass one, and one that does nothing is too dear already.
func (p *page) outOfReach(other string, limit float64) string {
	floor, ok1 := p.cost(twoProbes, 1)
	dear, ok2 := p.cost(other, 1)
	if !ok1 || !ok2 || floor <= dear*limit {
		return ""
	}
	return fmt.Sprintf("; out of reach on this machine: two probes that do nothing take %.0f ns, the limit is %.0f", floor, dear*limit)
}

type requirement struct {
	text, limit, measured string
	met                   bool
}

func (p *page) requirements() []requirement {
	var rs []requirement
	for _, c := range []struct {
		other string
		limit float64
	}{{entry, maxOfEntry}, {bpftrace, maxOfBpftrace}} {
		q := requirement{text: "cost of a lock/unlock pair, relative to " + c.other, limit: "at most " + part(c.limit), measured: "not measured"}
		if r, ok := p.ratio(cheap, c.other, 1); ok {
			q.measured, q.met = part(r), r <= c.limit && r > 0
			if !q.met {
				q.measured += p.outOfReach(c.other, c.limit)
			}
		}
		rs = append(rs, q)
	}
	for _, r := range p.replays {
		if r.name == required {
			rs = append(rs, requirement{"events a second of a recorded trace through clocks, Eraser and GoodLock, on one core",
				fmt.Sprintf("at least %.0f million, no allocation for each", minReplay/1e6),
				fmt.Sprintf("%.1f million, %.4f allocations", r.perSecond/1e6, r.allocs), r.perSecond >= minReplay && r.allocs < maxAllocs})
		}
	}
	rs = append(rs, orderRequirement(p.ordered))
	rs = append(rs, reachRequirements(p.reach)...)
	rs = append(rs, p.checked.requirements()...)
	rs = append(rs, unboundedRequirements(p.unbounded)...)
	rs = append(rs, writtenRequirements(p.reports)...)
	rs = append(rs, lockRequirement(p.lockGraph))
	rs = append(rs, p.protocols.requirements()...)
	rs = append(rs, p.knowledge.requirements()...)
	rs = append(rs, chainsRequirement(p.chains), hangRequirement(p.hang), confirmRequirement(p.confirmed))
	two, ok := p.find(cheap, 2)
	if !ok {
		return rs
	}
	events := two.median(func(s sample) float64 { return s.events })
	off := two.worst(func(s sample) float64 { return math.Abs(s.events - 2*s.Pairs - two.others()) })
	lost := two.worst(func(s sample) float64 { return s.lost })
	cpu := two.median(func(s sample) float64 { return s.toolCPU / s.CPU })
	return append(rs,
		requirement{"two threads without pause: events, compared with two for each pair and those of start and end", "none missing, none lost",
			fmt.Sprintf("%.0f of %.0f, at worst %.0f off, %.0f lost", events, 2*two.samples[0].Pairs+two.others(), off, lost), off == 0 && lost == 0},
		requirement{"CPU time of tracepredict meanwhile, relative to the program's", "less than " + part(maxToolCPU),
			fmt.Sprintf("%.2f", cpu), cpu < maxToolCPU})
}

// others is the number of events a run has besides its pairs.
func (r result) others() float64 { return r.idle.events - 2*r.idle.Pairs }

func (r result) worst(f func(sample) float64) float64 {
	worst := 0.0
	for _, s := range r.samples {
		worst = max(worst, f(s))
	}
	return worst
}

// part writes a ratio below one as one part of so many.
func part(r float64) string {
	if r > 0 && r < 0.8 {
		return fmt.Sprintf("1/%.1f", 1/r)
	}
	return fmt.Sprintf("%.1f", r)
}

func (p *page) render() (text string, met bool) {
	var b strings.Builder
	fmt.Fprintf(&b, "Measured with `make bench`, %d rounds, on %s. Ratios are comparable between machines, nanoseconds are not.\n\n", p.config.rounds, p.machine)
	met = renderRequirements(&b, p.requirements())
	for _, threads := range []int{1, 2} {
		p.renderPairs(&b, threads)
	}
	p.renderStores(&b)
	p.renderReader(&b)
	p.renderStages(&b)
	return b.String(), met
}

// renderRequirements writes a table of requirements, and returns whether all are met.
func renderRequirements(b *strings.Builder, rs []requirement) (met bool) {
	b.WriteString("| requirement | limit | measured | met |\n| --- | --- | --- | --- |\n")
	met = true
	for _, q := range rs {
		yes := "yes"
		if !q.met {
			yes, met = "**no**", false
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s |\n", q.text, q.limit, q.measured, yes)
	}
	return met
}

func (p *page) renderPairs(b *strings.Builder, threads int) {
	title := "One thread: lock, `x = x + 1`, unlock"
	if threads > 1 {
		title = "Two threads at one lock, without pause"
	}
	fmt.Fprintf(b, "\n### %s\n\n| | relative to tracepredict | ns a pair | from | to | ns of CPU |\n| --- | ---: | ---: | ---: | ---: | ---: |\n", title)
	for _, r := range p.results {
		if r.threads != threads {
			continue
		}
		times := "" // of nothing, for plain
		if q, ok := p.ratio(r.name, cheap, threads); ok && r.name != plain {
			times = fmt.Sprintf("%.2f", q)
		}
		var all []float64
		for _, s := range r.samples {
			all = append(all, s.NsPerPair)
		}
		fmt.Fprintf(b, "| %s | %s | %.0f | %.0f | %.0f | %.0f |\n", r.name, times, figures.Median(all), slices.Min(all), slices.Max(all),
			r.median(func(s sample) float64 { return s.CPUPair }))
	}
	b.WriteString("\nThe first column leaves out the time of the loop itself. The last is the CPU time of the program's threads, which shows the cost of a pair even when other programs use the machine.\n")
}

// renderReader tells where CPU time goes while two threads do nothing else.
func (p *page) renderReader(b *strings.Builder) {
	r, ok := p.find(cheap, 2)
	if !ok {
		return
	}
	perEvent := func(s sample) float64 { return (s.toolCPU - r.idle.toolCPU) / s.events * 1e9 }
	fmt.Fprintf(b, `
### The tool itself

| | |
| --- | ---: |
| CPU time of tracepredict, relative to the program's, two threads without pause | %.2f |
| ns of CPU an event: reading, analysing | %.0f |
| ns of CPU an event: the program, probes included | %.0f |
| ms of CPU for a run of two pairs: plan, attach, report | %.0f |
`, r.median(func(s sample) float64 { return s.toolCPU / s.CPU }), r.median(perEvent),
		r.median(func(s sample) float64 { return s.CPU / s.events * 1e9 }), r.idle.toolCPU*1e3)
}

func (p *page) renderStages(b *strings.Builder) {
	b.WriteString("\n### From record to finding, without a kernel\n\nEach row includes the observer, which makes the events: `go test -pgo=cmd/tracepredict/default.pgo -bench Pipeline ./analysis/engine`.\n\n" +
		"| | ns an event | bytes | allocations |\n| --- | ---: | ---: | ---: |\n")
	for _, s := range p.stages {
		fmt.Fprintf(b, "| %s | %.0f | %.0f | %.0f |\n", s.name, s.ns, s.bytes, s.allocs)
	}
	b.WriteString("\n### From trace to finding\n\nA trace of a million events is read, decompressed and analysed on one core: `go test -pgo=cmd/tracepredict/default.pgo -bench Replay ./analysis/replay`. " +
		"The cost of setting up a run, mostly memory for its history, is divided among its events.\n\n" +
		"| | million events a second | ns of CPU an event | bytes | allocations |\n| --- | ---: | ---: | ---: | ---: |\n")
	for _, r := range p.replays {
		fmt.Fprintf(b, "| %s | %.1f | %.0f | %.1f | %.4f |\n", strings.ReplaceAll(r.name, ",", ", "), r.perSecond/1e6, r.ns, r.bytes, r.allocs)
	}
	renderReach(b, p.reach)
	p.protocols.render(b)
	p.knowledge.render(b)
}

var marks = figures.Marks{Begin: "<!-- measured: written by make bench -->", End: "<!-- end of measured -->"}

// newPage is what a page says around the measured part if there is none.
var newPage = `# What observing costs

A program that is observed is slowed at its synchronisation calls and at its accesses of watched variables, and nowhere else. How much depends on
where in a function the probe sits: see [how it works](how-it-works.md).

` + marks.Begin + "\n" + marks.End + "\n\n" + scopeMarks.Begin + "\n" + scopeMarks.End + `

What the rows mean: *tracepredict* is ` + "`tracepredict exec`" + ` with its defaults, both records of each pair delivered and analysed; *--sites=entry* puts every
probe where other tools put it, at the function's entry and its return; *empty programs* is the kernel's own part of the cost, with
programs that do nothing at the same sites; *one empty program a call* is two such probes for each pair in a program without locks, each at a nop of
one byte, which is at least as cheap to probe as any instruction of a lock's code; *bpftrace* has three probes, at lock, at its return and at unlock,
that only count; *ThreadSanitizer* is the same program compiled again with checks of every access, which finds only the races of this run.
`
