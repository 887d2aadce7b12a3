package loader

import (
	"cmp"
	"slices"

	"github.com/tracepredict/tracepredict/loader/attach"
	"github.com/tracepredict/tracepredict/probes"
)

// Several BPF programs may have probes at one address: an access that synchronises, and an access of data
// before or after it, whose probes slid to the same place. There the kernel runs the program of the latest link
// first. So these probes are attached one after the other, that of the last instruction first, and none of their
// links is replaced.

// together returns the first sites of the probes of accesses at offsets where several BPF programs have such
// probes, in rounds: those of one round are at different offsets, and those of the next round run before them.
func (m *Module) together() (rounds [][]int) {
	byOffset := map[uint64][]int{}
	for i := range m.Plan.Sites {
		if s := &m.Plan.Sites[i]; s.ObservesAccess() && !m.Plan.Chained(i) {
			byOffset[s.Offset] = append(byOffset[s.Offset], i)
		}
	}
	for i := range m.Plan.Sites { // in order
		offset := m.Plan.Sites[i].Offset
		all := byOffset[offset]
		if len(all) < 2 {
			continue
		}
		delete(byOffset, offset)
		slices.SortStableFunc(all, func(a, b int) int { return cmp.Compare(m.Plan.Sites[b].At, m.Plan.Sites[a].At) })
		for k, i := range all {
			if k == len(rounds) {
				rounds = append(rounds, nil)
			}
			rounds[k] = append(rounds[k], i)
		}
	}
	return rounds
}

// isTogether returns which sites are those of together, by their index in the plan.
func (m *Module) isTogether() map[int]bool {
	is := map[int]bool{}
	for _, round := range m.together() {
		for _, i := range round {
			is[i] = true
		}
	}
	return is
}

// attachTogether attaches the probes of together, after all others of the module. The caller holds s.mu.
func (s *Session) attachTogether(m *Module, to attach.LinkTarget) error {
	groups := map[int]hitGroup{}
	for _, p := range m.unnamedAtomics() {
		groups[p.first] = p.group
	}
	for _, round := range m.together() {
		for _, i := range round {
			site := &m.Plan.Sites[i]
			probe := attach.Probe{Offset: site.Offset, Site: m.Base + uint32(i), Program: site.Program}
			var err error
			switch g, removable := groups[i]; {
			case removable:
				err = s.atomics.attachGroup(g, to, []attach.Probe{probe})
			case site.Program == probes.ProgramShared:
				err = s.unnamed.attachProbe(m, i, to)
			default:
				err = s.tracer.Attach(to, []attach.Probe{probe})
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}
