package probes

import (
	"errors"
	"fmt"
	"slices"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/probes/cheapsite"
	"github.com/tracepredict/tracepredict/probes/function"
	"github.com/tracepredict/tracepredict/probes/lines"
	"github.com/tracepredict/tracepredict/probes/symbolize"
	"github.com/tracepredict/tracepredict/probes/unwind"
)

// Lines of the source are entered and left at the edges of control flow that package lines finds. Their probes are among
// those of accesses, in the order of the instructions: what a thread accesses before it enters is outside.

// lineRange are lines that the file has code of.
type lineRange struct {
	*lines.Region
	name     string
	patterns []int // indices in Options.On
}

// lineCode returns where lines are searched for in the file.
func (b *builder) lineCode() *lines.Code {
	if b.plan.source == nil {
		b.plan.source = symbolize.New(b.plan.File)
	}
	return &lines.Code{File: b.plan.File, Image: b.image.Image, Names: b.plan.source, Stack: unwind.New(b.plan.File)}
}

// observesLines reports whether any pattern is of lines.
func (b *builder) observesLines() bool {
	return slices.ContainsFunc(b.opts.On, func(p function.Pattern) bool { return p.OfLines() })
}

// findLines finds the lines that patterns name, before any probe is placed: none may pass their edges.
func (b *builder) findLines(p *Planner) {
	if !b.observesLines() {
		return
	}
	in := b.lineCode()
	byLines := map[lines.Lines]int{}
	b.image.Edges = map[uint64]bool{}
	for i, on := range b.opts.On {
		l := lines.Lines{File: on.File, First: on.First, Last: on.Last}
		if !on.OfLines() {
			continue
		}
		if at, known := byLines[l]; known {
			b.ranges[at].patterns = append(b.ranges[at].patterns, i)
			continue
		}
		r, err := in.Find(l)
		switch {
		case err != nil:
			p.refused[i] = err.Error()
		case r != nil:
			byLines[l] = len(b.ranges)
			b.ranges = append(b.ranges, lineRange{r, l.String(), []int{i}})
			for _, e := range r.Edges {
				b.image.Edges[e.At] = true
			}
		}
	}
}

// lines plans the probes of the lines that were found.
func (m *methods) lines(p *Planner) error {
	if len(m.ranges) == 0 {
		return nil
	}
	in := m.lineCode()
	for i := range m.ranges {
		sites, err := m.edges(in, &m.ranges[i])
		var refused *lines.Refused
		switch {
		case errors.As(err, &refused):
			for _, on := range m.ranges[i].patterns {
				p.refused[on] = refused.Error()
			}
			continue
		case err != nil:
			return err
		}
		m.plan.Sites = append(m.plan.Sites, sites...)
		m.plan.Methods++
		for _, on := range m.ranges[i].patterns {
			p.matched[on] = true
		}
	}
	return nil
}

// edges returns the sites at the edges of lines.
func (m *methods) edges(in *lines.Code, r *lineRange) (sites []Site, err error) {
	fn := &function.Function{Name: r.name, Addr: r.Code[0].Lo, Patterns: r.patterns}
	for _, e := range r.Edges {
		where, err := m.placeEdge(in, r, e)
		if err != nil {
			return nil, err
		}
		reg, offset, known := in.FrameAt(where.Addr)
		if where.Class == cheapsite.Refused || !known {
			return nil, &lines.Refused{Why: fmt.Sprintf("an edge of control flow at 0x%x cannot be probed (%s)", e.At, where.Why), Remedy: "take more or fewer lines, or a function"}
		}
		s := newSite(e.At, where, r.Function)
		s.Program = ProgramNamed
		s.BPF = bpf.Site{Op: uint8(bpf.OpReturn), Action: uint8(bpf.ActionLeaveLines), When: e.When, ObjectFrom: uint8(bpf.FromReg), ObjectReg: uint8(reg), ObjectDisp: offset}
		if e.Enter {
			s.Method = fn
			s.BPF.Op, s.BPF.Action = uint8(bpf.OpCall), uint8(bpf.ActionEnterLines)
		}
		s.BPF.Function().Lines = uint32(r.patterns[0]) + 1
		sites = append(sites, s)
	}
	return sites, nil
}

// placeEdge finds the site of an edge: on the same side of the lines, and of all that is observed.
func (m *methods) placeEdge(in *lines.Code, r *lineRange, e lines.Edge) (cheapsite.Site, error) {
	stays := e.Out || m.stop(e.At)
	return m.place(cheapsite.Want{At: e.At, Sense: cheapsite.Before, Stop: func(addr uint64) bool {
		_, _, known := in.FrameAt(addr)
		return addr != e.At && (stays || !known || m.stop(addr) || r.Contains(addr) != e.Enter)
	}})
}

// unwinders plans the probes at which the unwinder and longjmp remove frames.
func (b *builder) unwinders() {
	if !b.observesLines() && !slices.ContainsFunc(b.opts.On, func(p function.Pattern) bool { return p.Left }) {
		return
	}
	for _, r := range b.lineCode().Resets() {
		where, err := b.image.Place(cheapsite.Want{At: r.At, Sense: cheapsite.Before, Stop: func(addr uint64) bool { return addr != r.At }})
		if err != nil || where.Class == cheapsite.Refused {
			b.note("%s cannot be probed at 0x%x: lines and calls that it leaves seem to go on", r.Function, r.At)
			continue
		}
		s := newSite(r.At, where, r.Function)
		s.Program = ProgramNamed
		s.BPF = bpf.Site{Op: uint8(bpf.OpReturn), Action: uint8(bpf.ActionUnwind), SpDelta: int32(r.Above)}
		b.plan.Sites = append(b.plan.Sites, s)
	}
}

// isEdge reports whether the site is at an edge of lines.
func (s *Site) isEdge() bool {
	return s.Program == ProgramNamed && bpf.Action(s.BPF.Action) >= bpf.ActionEnterLines
}

// isOrdered reports whether the sites of one address must be in the order of the instructions: accesses, and edges of
// lines.
func (s Site) isOrdered() bool { return s.ObservesAccess() || s.isEdge() }

// edgeFirst compares two sites of one instruction: an edge comes before what the instruction does.
func (s *Site) edgeFirst(other *Site) int {
	switch {
	case s.isEdge() == other.isEdge():
		return 0
	case s.isEdge():
		return -1
	}
	return 1
}
