package loader

import "github.com/tracepredict/tracepredict/probes"

// Unrecorded is the reason why the accesses of an instruction were not recorded at some time.
type Unrecorded uint8

// The reasons.
const (
	// RecordedAll: there is none.
	RecordedAll Unrecorded = iota
	// NotYet: its probes were not in yet.
	NotYet
	// InSamples: its function was observed in samples, for a budget.
	InSamples
	// NotToTheEnd: the probes of its variable were removed (Outcome).
	NotToTheEnd
)

// Unrecorded reports whether the probe of a site, by its index in a module's plan, was in a process all the
// time between two moments (CLOCK_MONOTONIC, ns), and if not, why.
func (s *Session) Unrecorded(pid int, m *Module, site int, since, until uint64) Unrecorded {
	s.mu.Lock()
	p := s.processOf(pid)
	in := p.in[m]
	s.mu.Unlock()
	if in == 0 || since < in {
		return NotYet
	}
	switch at := &m.Plan.Sites[site]; at.Program {
	case probes.ProgramPointer:
		if s.thinner != nil && s.thinner.outBefore(m.Base+uint32(site), until) {
			return InSamples
		}
	case probes.ProgramShared:
		if s.unnamed != nil && s.unnamed.outBefore(at.BPF.Access.Watched, until) {
			return NotToTheEnd
		}
	}
	return RecordedAll
}

// outBefore reports whether the probe of a site was removed before a moment, for however long.
func (t *thinner) outBefore(site uint32, moment uint64) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := t.probes[site]
	return p != nil && p.out != 0 && p.out <= moment
}

// outBefore reports whether the probes of a variable were removed before a moment.
func (w *unnamedWatcher) outBefore(variable uint32, moment uint64) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return int(variable) >= len(w.variables) || w.variables[variable].out != 0 && w.variables[variable].out <= moment
}
