package loader

import (
	"fmt"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/loader/attach"
	"github.com/tracepredict/tracepredict/probes"
)

// Places that synchronise unobserved (probes.Place) have probes of a program of their
// own, which reports their first hits, each with its thread. Then the probe is removed,
// while the program goes on, and any thread may have been there. Probes go by links
// and the kernel takes long for each, so places are grouped: the probes of what stands
// together go together.

// maxGroups bounds the links for the places of one file.
const maxGroups = 64

// placeRef is a place by its number in records.
type placeRef struct {
	module *Module
	group  *busy
}

// numberPlaces returns the module's places numbers, and groups; with mu held. If there
// are too many in all files, none of the module is told of.
func (s *Session) numberPlaces(m *Module) {
	n := len(m.Plan.Places)
	if len(s.places)+n > bpf.MaxUnseen {
		return
	}
	m.place, m.asked = uint32(len(s.places)), true
	size := max(1, (n+maxGroups-1)/maxGroups)
	var group *busy
	for i := range n {
		if i%size == 0 {
			group = &busy{variable: m.Path}
		}
		s.places = append(s.places, placeRef{m, group})
	}
}

// attachPlaces puts the probes of a module's places in; with mu held.
func (s *Session) attachPlaces(p *process, m *Module) error {
	if !m.asked {
		return nil
	}
	m.late = m.late || s.running && !s.held
	byGroup := map[*busy][]attach.Probe{}
	seen := map[uint64]bool{}
	var groups []*busy
	for i, place := range m.Plan.Places {
		if seen[place.Offset] { // of several that share a probe the first tells for all
			continue
		}
		seen[place.Offset] = true
		number := m.place + uint32(i)
		g := s.places[number].group
		if byGroup[g] == nil {
			groups = append(groups, g)
		}
		byGroup[g] = append(byGroup[g], attach.Probe{Offset: place.Offset, Site: number, Program: probes.ProgramPlace})
	}
	for _, g := range groups {
		if err := s.attachBusy(g, p.linkTo(m), byGroup[g]); err != nil {
			return err
		}
	}
	return nil
}

// leavePlace removes the probes of a place and of those that go with it; it takes the
// kernel long, and the reader does not wait. Of the reader alone.
func (s *Session) leavePlace(number uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if number >= uint64(len(s.places)) {
		return
	}
	g := s.places[number].group
	if g == nil || g.shed {
		return
	}
	g.shed = true
	s.shedding.Go(func() {
		if err := s.remove(g); err != nil {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.note(fmt.Sprintf("the probes of what synchronises in %s could not be removed: %v", g.variable, err))
		}
	})
}

// Place returns the place of a number in records, and the plan that it is of; ok is false
// if there is none.
func (s *Session) Place(number uint64) (plan *probes.Plan, place probes.Place, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if number == 0 || number >= uint64(len(s.places)) {
		return nil, place, false
	}
	m := s.places[number].module
	return m.Plan, m.Plan.Places[uint32(number)-m.place], true
}

// told returns the addresses of the places whose first execution a probe tells of.
func (m *Module) told() map[uint64]bool {
	at := map[uint64]bool{}
	if m.asked && !m.late {
		for _, place := range m.Plan.Places {
			at[place.At] = true
		}
	}
	return at
}
