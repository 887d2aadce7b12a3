package loader

import (
	"cmp"
	"iter"
	"slices"
	"sort"
	"sync"
	"sync/atomic"

	"github.com/tracepredict/tracepredict/probes"
	"github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/libname"
	"github.com/tracepredict/tracepredict/probes/variable"
)

// Spaces are the address spaces of the processes that a session observes: which files they have mapped, and where. The
// session alone changes them.
type Spaces struct {
	// mu guards the fields below, and those fields of the processes that say so. What it guards is changed only by who
	// holds Session.mu too, so that either lock is enough to read it. It is acquired after Session.mu, and no
	// lock of another part is acquired while it is held.
	mu        sync.Mutex
	first     *process         // set before another goroutine runs
	processes map[int]*process // by process ID; the latest that has had it
	all       []*process       // in the order in which they were found

	live pidSet // processes that are observed and have not ended
}

// pidSet is a set of process IDs that can be read without a lock.
type pidSet = atomic.Pointer[[]int]

// PID returns the process ID of the observed process, the first of several.
func (a *Spaces) PID() int { return a.first.pid }

// processOf returns the process with a process ID, the latest if several have had it, and the
// first process of the session if none has.
func (a *Spaces) processOf(pid int) *process {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.of(pid)
}

// of does the same for who holds one of the locks.
func (a *Spaces) of(pid int) *process {
	if p := a.processes[pid]; p != nil {
		return p
	}
	return a.first
}

// known returns the process that processOf returns; nil if none has had the process ID.
func (a *Spaces) known(pid int) *process {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.processes[pid]
}

// add adds a process.
func (a *Spaces) add(p *process) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.all = append(a.all, p)
	a.processes[p.pid] = p
	a.setLive()
}

// exited records that a process has ended.
func (a *Spaces) exited(p *process) {
	a.mu.Lock()
	defer a.mu.Unlock()
	p.ended = true
	a.setLive()
}

// discard makes the mappings of a process those of a program before an execve.
func (a *Spaces) discard(p *process) {
	a.mu.Lock()
	defer a.mu.Unlock()
	p.past = append(p.past, p.segments...)
	if p.copied {
		p.copied, p.parents = false, len(p.past)
	}
	p.segments, p.unmapped, p.overlaid = nil, map[Segment]bool{}, nil
	p.executable = ""
}

// inherit gives a process that was forked the mappings of its parent.
func (a *Spaces) inherit(p, from *process) {
	a.mu.Lock()
	defer a.mu.Unlock()
	p.segments, p.past, p.copied = slices.Clone(from.segments), slices.Clone(from.past), true
	p.overlaid = slices.Clone(from.overlaid)
	p.parents = len(p.past)
}

// runs records which program a process runs, which file the kernel has executed for it, and with which command line: the
// first that is found, since a program may write another one over it.
func (a *Spaces) runs(p *process, executable, program string, command func() string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	p.executable = executable
	p.program, p.firstProgram = program, cmp.Or(p.firstProgram, program)
	if p.command == "" {
		p.command = command()
	}
}

// forgetCommand records that a process has begun another program, whose command line is not known yet.
func (a *Spaces) forgetCommand(p *process) {
	a.mu.Lock()
	defer a.mu.Unlock()
	p.command = ""
}

// setLive updates live. The caller holds a.mu.
func (a *Spaces) setLive() {
	var pids []int
	for _, p := range a.processes {
		if !p.ended {
			pids = append(pids, p.pid)
		}
	}
	slices.Sort(pids)
	a.live.Store(&pids)
}

// livePIDs returns the processes that are observed and have not ended. It does not block.
func (a *Spaces) livePIDs() []int {
	if pids := a.live.Load(); pids != nil {
		return *pids
	}
	return nil
}

// Process is an observed process, for reports.
type Process struct {
	PID     int
	Program string // path of the last program that it ran
	Command string // the command line of that program, as procfs.CommandLine returns it; "" if it is not known
}

// Processes returns the observed processes, the first one first.
func (a *Spaces) Processes() []Process {
	a.mu.Lock()
	defer a.mu.Unlock()
	var ps []Process
	for _, p := range a.all {
		ps = append(ps, Process{PID: p.pid, Program: p.program, Command: p.command})
	}
	return ps
}

// LastProgram returns the path of the last program that the first process ran, if its first
// program was another one: sh -c 'exec ./server' becomes the server, and so does ld.so ./server. Otherwise it returns "".
func (a *Spaces) LastProgram() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.first.program == a.first.firstProgram {
		return ""
	}
	return a.first.program
}

// ProgramPath returns the path of the program that the first process runs now, or ran last.
func (a *Spaces) ProgramPath() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.first.program
}

// Segment returns the segment that contains an address of a process: the newest one, if several
// have been there.
func (a *Spaces) Segment(pid int, addr uint64) (Segment, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for seg := range a.of(pid).backward() {
		if seg.Lo <= addr && addr < seg.Hi {
			return seg, true
		}
	}
	return Segment{}, false
}

// Segments returns all segments that a process has mapped so far.
func (a *Spaces) Segments(pid int) []Segment {
	a.mu.Lock()
	defer a.mu.Unlock()
	p := a.of(pid)
	return slices.Concat(p.past, p.segments)
}

// Code implements stacks.Space.
func (a *Spaces) Code(pid int, addr uint64) (file *elf.File, bias uint64, ok bool) {
	seg, ok := a.Segment(pid, addr)
	if !ok {
		return nil, 0, false
	}
	return seg.Module.Bin, seg.Bias, true
}

// backward returns the segments, the newest first.
func (p *process) backward() iter.Seq[Segment] {
	return func(yield func(Segment) bool) {
		for _, segments := range [][]Segment{p.segments, p.past} {
			for _, seg := range slices.Backward(segments) {
				if !yield(seg) {
					return
				}
			}
		}
	}
}

// Modules returns the files that were mapped so far, ordered by the index of their first site,
// and then by when they were found. Files without probes have index 0 and so come first. Of the
// files with probes, the program comes first.
func (a *Spaces) Modules() []*Module {
	a.mu.Lock()
	defer a.mu.Unlock()
	seen := map[*Module]bool{}
	var ms []*Module
	for _, p := range a.all {
		for _, segments := range [][]Segment{p.past, p.segments} {
			for _, seg := range segments {
				if !seen[seg.Module] {
					seen[seg.Module] = true
					ms = append(ms, seg.Module)
				}
			}
		}
	}
	sort.SliceStable(ms, func(i, j int) bool { return ms[i].Base < ms[j].Base })
	return ms
}

// SiteModule returns the path of the file that has the site; "" if there is none.
func (a *Spaces) SiteModule(index uint32) string {
	for _, m := range a.Modules() {
		if index >= m.Base && index-m.Base < uint32(len(m.Plan.Sites)) {
			return m.Path
		}
	}
	return ""
}

// SiteAddr returns the address, in a process, of the instruction that a site observes; 0 if the process
// does not have it.
func (a *Spaces) SiteAddr(pid int, index uint32) uint64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	for seg := range a.of(pid).backward() {
		if m := seg.Module; index >= m.Base && index-m.Base < uint32(len(m.Plan.Sites)) {
			return m.Plan.Sites[index-m.Base].At + seg.Bias
		}
	}
	return 0
}

// Variable returns the variable that a site accesses; ok is false if the site accesses none.
func (a *Spaces) Variable(site *probes.Site) (v variable.Variable, ok bool) {
	if site.Field != nil {
		return *site.Field, true
	}
	if site.Variable == "" {
		return v, false
	}
	for _, m := range a.Modules() {
		if v, ok := m.Plan.Variable(site.Variable); ok {
			return v, true
		}
	}
	return v, false
}

// VariableAddr returns the address of a watched variable in a process; 0 if the file of the
// variable is not mapped.
func (a *Spaces) VariableAddr(pid int, name string) uint64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	for seg := range a.of(pid).backward() {
		for _, vars := range [][]variable.Variable{seg.Module.Plan.Variables, seg.Module.Plan.Atomics} {
			for _, v := range vars {
				if v.Name == name {
					return v.Addr + seg.Bias
				}
			}
		}
	}
	return 0
}

// PointerSites returns the number of instructions whose accesses through pointers are observed.
func (a *Spaces) PointerSites() (n int) {
	for _, m := range a.Modules() {
		for i := range m.Plan.Sites {
			if s := &m.Plan.Sites[i]; s.Program == probes.ProgramPointer && !s.Allocates() {
				n++
			}
		}
	}
	return n
}

// siteless returns the number of functions whose accesses through pointers had no probes for lack of room.
func (a *Spaces) siteless() (n int) {
	for _, m := range a.Modules() {
		n += m.Plan.Siteless
	}
	return n
}

// ProcessesWith returns the IDs of the processes that have mapped a module, except those that only
// had a copy of their parent's memory between their fork and their execve.
func (a *Spaces) ProcessesWith(m *Module) []uint32 {
	a.mu.Lock()
	defer a.mu.Unlock()
	var ids []uint32
	has := func(seg Segment) bool { return seg.Module == m }
	for _, p := range a.all {
		if slices.ContainsFunc(p.segments, has) || slices.ContainsFunc(p.past[p.parents:], has) {
			ids = append(ids, uint32(p.pid))
		}
	}
	return ids
}

// Untracked returns the IDs of the processes in which the ends of blocks of memory are not recorded,
// because no file that they have mapped is known to free memory.
func (a *Spaces) Untracked() []uint32 {
	a.mu.Lock()
	defer a.mu.Unlock()
	var ids []uint32
	for _, p := range a.all {
		has := func(seg Segment) bool { return seg.Module.recordsLives() }
		if !slices.ContainsFunc(p.segments, has) && !slices.ContainsFunc(p.past[p.parents:], has) {
			ids = append(ids, uint32(p.pid))
		}
	}
	return ids
}

// SeesFrees reports whether the ends of blocks of memory are recorded in the present program of a process.
func (a *Spaces) SeesFrees(pid int) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.ContainsFunc(a.of(pid).segments, func(seg Segment) bool { return seg.Module.recordsLives() })
}

// OwnCall reports whether a system call was made by the code of the program or of a library that
// is no run-time library: either by a system call instruction of its own, which ends at ip, or
// by a call of syscall(2), which returns to caller.
func (a *Spaces) OwnCall(pid int, ip, caller uint64) bool {
	seg, ok := a.Segment(pid, ip)
	if !ok {
		return false
	}
	if libname.Runtime(seg.Module.Path) {
		seg, ok = a.Segment(pid, caller)
		return ok && seg.Module.calledBefore(caller-seg.Bias, "syscall")
	}
	return seg.Module.calledBefore(ip-seg.Bias, "") || seg.Module.calledBefore(caller-seg.Bias, "syscall")
}

// OfOpenMP reports whether an address of a process lies in libgomp.
func (a *Spaces) OfOpenMP(pid int, addr uint64) bool {
	seg, ok := a.Segment(pid, addr)
	return ok && seg.Module.OfOpenMP()
}
