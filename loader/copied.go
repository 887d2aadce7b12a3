package loader

import (
	"iter"
	"slices"
	"strconv"

	"github.com/tracepredict/tracepredict/loader/procfs"
	"github.com/tracepredict/tracepredict/loader/ptrace"
)

// Programs copy code that they execute elsewhere: into huge pages, or with a detour in front. Where the code has
// probes, they copy breakpoints, of which the kernel knows nothing: the thread gets a SIGTRAP, which ends the program. A
// traced thread stops before it gets the signal. The instruction that belongs there is found by the code around it, and
// put back, as are those of all other breakpoints that were copied with it.

const (
	breakpoint  = 0xcc     // int3
	copyContext = 32       // bytes before and behind a breakpoint that are compared
	copyMatch   = 12       // of these, how many must be equal one after the other, at least
	maxCopy     = 64 << 20 // bytes of a copy that are searched for other breakpoints
)

// copied returns what belongs where a thread has executed a breakpoint, and to the places of breakpoints that were
// copied together with that one; nothing if it is no copy of one of the tool's.
func (s *Session) copied(tid int, at uint64) []ptrace.Original {
	pid := s.processOfThread(tid)
	maps, err := procfs.Maps(pid)
	if err != nil {
		return nil
	}
	i := slices.IndexFunc(maps, func(m procfs.Mapping) bool { return m.Exec && m.Lo <= at && at < m.Hi })
	if i < 0 {
		return nil
	}
	lo, hi := max(at-copyContext, maps[i].Lo), min(at+copyContext+1, maps[i].Hi)
	around := make([]byte, hi-lo)
	if !s.ReadMemory(pid, lo, around) {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.known(pid)
	if p == nil || maps[i].File.Inode != 0 && p.modules[maps[i].File] != nil {
		return nil // in a file with probes, of which the kernel knows
	}
	m, from := p.copiedFrom(around, int(at-lo))
	if m == nil {
		return nil
	}
	all := s.copiedWith(pid, m, from, at, maps[i])
	s.restored += len(all)
	return all
}

// probeAddrs returns the addresses in the file at which the module has probes.
func (m *Module) probeAddrs() iter.Seq[uint64] {
	return func(yield func(uint64) bool) {
		for i := range m.Plan.Sites {
			if !yield(m.Plan.Sites[i].Addr) {
				return
			}
		}
		for i := range m.Plan.UnseenProbes {
			if !yield(m.Plan.UnseenProbes[i].Addr) {
				return
			}
		}
	}
}

// copiedFrom returns the module, and the address in its file, whose code is most like that around the breakpoint at an
// index; nil if none is like it, or several are whose instructions differ.
func (p *process) copiedFrom(around []byte, at int) (best *Module, from uint64) {
	most, differ := 0, false
	var original byte
	for _, m := range p.modules {
		for addr := range m.probeAddrs() {
			code, err := m.Bin.Bytes(addr-uint64(at), len(around))
			if err != nil || len(code) <= at || code[at] == breakpoint {
				continue
			}
			switch n := alike(around, code, at); {
			case n < copyMatch || n < most:
			case n > most:
				most, best, from, original, differ = n, m, addr, code[at], false
			case code[at] != original:
				differ = true
			}
		}
	}
	if differ {
		return nil, 0
	}
	return best, from
}

// alike returns how many bytes before and behind an index are the same in memory and in the code of a file. Where there
// is a breakpoint in memory, any code may be.
func alike(memory, code []byte, at int) (n int) {
	same := func(i int) bool { return memory[i] == code[i] || memory[i] == breakpoint }
	for i := at + 1; i < min(len(memory), len(code)) && same(i); i++ {
		n++
	}
	for i := at - 1; i >= 0 && same(i); i-- {
		n++
	}
	return n
}

// processOfThread returns the ID of the process that a thread belongs to.
func (a *Spaces) processOfThread(tid int) int {
	if status, err := procfs.Status(strconv.Itoa(tid)); err == nil {
		if id, err := strconv.Atoi(status["Tgid"]); err == nil {
			return id
		}
	}
	return a.PID()
}

// copiedWith returns the original bytes at a breakpoint, which was copied from an address of a module, and at all
// others that lie as far from where they were copied from in the same mapping.
func (a *Spaces) copiedWith(pid int, m *Module, from, at uint64, in procfs.Mapping) (all []ptrace.Original) {
	memory := make([]byte, min(in.Hi-in.Lo, maxCopy))
	if !a.ReadMemory(pid, in.Lo, memory) {
		memory = nil
	}
	for addr := range m.probeAddrs() {
		to := addr - from + at
		code, err := m.Bin.Bytes(addr, 1)
		if err != nil || len(code) == 0 || code[0] == breakpoint {
			continue
		}
		if i := to - in.Lo; to == at || i < uint64(len(memory)) && memory[i] == breakpoint {
			all = append(all, ptrace.Original{Addr: to, Byte: code[0]})
		}
	}
	return all
}
