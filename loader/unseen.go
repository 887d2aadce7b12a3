package loader

import (
	"slices"
	"sync"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/loader/attach"
	"github.com/tracepredict/tracepredict/probes"
	"github.com/tracepredict/tracepredict/probes/elf"
)

// Instructions that synchronise without being observed (probes.UnseenProbe) have probes with a
// BPF program of their own. It sends a record, with the thread, for each of the first hits: from then on any thread may
// have executed the instruction. A probe that is hit very often is removed.

// unseenRef is what a number in records stands for: an UnseenProbe of a module, and the bundle
// that has its probe.
type unseenRef struct {
	module *Module
	bundle *bundle[uint32]
}

// unseenProbes are the UnseenProbes of all modules.
type unseenProbes struct {
	remover *remover

	mu   sync.Mutex  // guards refs; no other lock is acquired while it is held
	refs []unseenRef // by number in records; the first is none
}

func newUnseenProbes(r *remover) *unseenProbes {
	return &unseenProbes{remover: r, refs: make([]unseenRef, 1)}
}

// add assigns numbers to the module's UnseenProbes, and bundles them. If those of all
// files exceed bpf.MaxUnseen, the module's have no numbers and are not attached.
func (u *unseenProbes) add(m *Module) {
	u.mu.Lock()
	defer u.mu.Unlock()
	n := len(m.Plan.UnseenProbes)
	if len(u.refs)+n > bpf.MaxUnseen {
		return
	}
	m.firstUnseen, m.unseenNumbered = uint32(len(u.refs)), true
	var b *bundle[uint32]
	for i := range n {
		if i%bundleSize == 0 {
			b = &bundle[uint32]{name: m.Path}
		}
		u.refs = append(u.refs, unseenRef{m, b})
	}
}

// ref returns what a number in records stands for; ok is false if it stands for nothing.
func (u *unseenProbes) ref(number uint64) (ref unseenRef, ok bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if number == 0 || number >= uint64(len(u.refs)) {
		return ref, false
	}
	return u.refs[number], true
}

// attach attaches the module's UnseenProbes, which have numbers.
func (u *unseenProbes) attach(m *Module, to attach.LinkTarget) error {
	var bundles []*bundle[uint32]
	all := map[*bundle[uint32]][]bundled[uint32]{}
	seen := map[uint64]bool{}
	for i, probe := range m.Plan.UnseenProbes {
		if seen[probe.Offset] { // its probe is there already, and reports the first of them
			continue
		}
		seen[probe.Offset] = true
		number := m.firstUnseen + uint32(i)
		ref, _ := u.ref(uint64(number))
		if all[ref.bundle] == nil {
			bundles = append(bundles, ref.bundle)
		}
		all[ref.bundle] = append(all[ref.bundle], bundled[uint32]{number, unseenProbe(number, probe)})
	}
	for _, b := range bundles {
		if err := b.attach(u.remover.tracer, to, all[b]); err != nil {
			return err
		}
	}
	return nil
}

// unseenProbe returns the probe of an UnseenProbe, which has a number in records.
func unseenProbe(number uint32, probe probes.UnseenProbe) attach.Probe {
	if probe.What == elf.UnseenPointer {
		number |= bpf.UnseenEarly
	}
	if probe.Asks {
		number |= bpf.UnseenAsks
	}
	return attach.Probe{Offset: probe.Offset, Site: number, Program: probes.ProgramUnseen}
}

// remove removes the UnseenProbe of a number in records. The reader's goroutine calls it, and must not wait.
func (u *unseenProbes) remove(number uint64) {
	if ref, ok := u.ref(number); ok {
		ref.bundle.remove(u.remover, removal[uint32]{key: uint32(number), what: "what synchronises in " + ref.module.Path})
	}
}

// attachUnseen attaches the module's UnseenProbes for a process. The caller holds s.mu.
func (s *Session) attachUnseen(p *process, m *Module) error {
	if !m.unseenNumbered {
		return nil
	}
	m.attachedLate = m.attachedLate || s.running && !s.traced
	if len(m.Plan.UnseenProbes) == 0 {
		return nil
	}
	to, err := s.linkTarget(p, m)
	if err != nil {
		return err
	}
	return s.unseen.attach(m, to)
}

// UnseenProbe returns the UnseenProbe of a number in records, and the module that has it;
// ok is false if there is none.
func (s *Session) UnseenProbe(number uint64) (m *Module, probe probes.UnseenProbe, ok bool) {
	ref, ok := s.unseen.ref(number)
	if !ok {
		return nil, probe, false
	}
	return ref.module, ref.module.Plan.UnseenProbes[uint32(number)-ref.module.firstUnseen], true
}

// reportedAddrs returns the addresses of the instructions whose first executions a probe
// reports.
func (m *Module) reportedAddrs() map[uint64]bool {
	addrs := map[uint64]bool{}
	if m.unseenNumbered && !m.attachedLate {
		for _, probe := range m.Plan.UnseenProbes {
			addrs[probe.At] = true
		}
	}
	return addrs
}

// Pointed returns the atomic variables of the module that may have been accessed unobserved from the
// beginning on. earlier reports that the program ran before it was observed.
func (s *Session) Pointed(m *Module, earlier bool) []probes.Pointed {
	all := slices.Clone(m.Plan.Pointed)
	reported := m.reportedAddrs()
	for _, probe := range m.Plan.UnseenProbes {
		if probe.What == elf.UnseenPointer && (earlier || !reported[probe.At]) {
			all = append(all, probes.Pointed{Variable: probe.Variable, Where: m.Plan.Describe(probe)})
		}
	}
	return all
}

// Ordered reports whether what calls of a function of the C library order is recorded elsewhere: by the
// kernel's records of system calls and signals, or where a thread that was cancelled begins to end.
func (s *Session) Ordered(function string) bool {
	if function == "pthread_cancel" {
		return s.observes(bpf.OpUnwind)
	}
	return s.tracer.Messages() && elf.OrdersByKernel(function)
}
