package loader

import (
	"fmt"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/loader/attach"
	"github.com/tracepredict/tracepredict/probes"
)

// Instructions that synchronise without being observed (probes.Place) have probes with a BPF
// program of their own. It sends a record, with the thread, for each of the first hits. Then the
// probe is removed, and from that moment on any thread may have executed the instruction. Probes
// are removed by closing their link, which takes the kernel long, so places are grouped:
// neighbouring places of the plan share a link.

// maxGroups bounds the groups of places, and so the links, of one file.
const maxGroups = 64

// placeRef is the place of a number in records: its module, and the group that has its link.
type placeRef struct {
	module *Module
	group  *busy
}

// numberPlaces assigns numbers to the module's places, and groups them. If the places of all
// files exceed bpf.MaxUnseen, the module's places have no numbers and no probes. The caller
// holds s.mu.
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

// attachPlaces attaches the probes of the module's places for a process. The caller holds s.mu.
func (s *Session) attachPlaces(p *process, m *Module) error {
	if !m.asked {
		return nil
	}
	m.late = m.late || s.running && !s.held
	byGroup := map[*busy][]attach.Probe{}
	seen := map[uint64]bool{}
	var groups []*busy
	for i, place := range m.Plan.Places {
		if seen[place.Offset] { // its probe is there already, and reports the first such place
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

// leavePlace removes the probes of a place's group. It does so on a goroutine of its own,
// because the kernel takes long and the reader must not wait. The reader's goroutine alone calls
// it.
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

// Place returns the place of a number in records, and the plan that it belongs to; ok is false
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

// told returns the addresses of the instructions whose first executions a probe reports.
func (m *Module) told() map[uint64]bool {
	at := map[uint64]bool{}
	if m.asked && !m.late {
		for _, place := range m.Plan.Places {
			at[place.At] = true
		}
	}
	return at
}
