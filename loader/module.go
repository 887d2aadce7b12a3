package loader

import (
	"fmt"
	"os"
	"path"
	"slices"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/loader/attach"
	"github.com/tracepredict/tracepredict/loader/procfs"
	"github.com/tracepredict/tracepredict/loader/target"
	"github.com/tracepredict/tracepredict/probes"
	"github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/libname"
	"github.com/tracepredict/tracepredict/probes/symbolize"
)

// Module is a file that a process maps, opened once. The plan, the probes and the names of
// functions all come from this open file, so that a path that the process gives to another file
// is never followed.
type Module struct {
	ID   procfs.FileID
	Path string // as the process names it
	Bin  *elf.File
	Plan *probes.Plan
	Base uint32 // index of the plan's first site
	file *os.File
	root *os.File // the process's root directory, kept open for Bin; see openRoot

	firstUnseen    uint32 // number of the plan's first UnseenProbe, see unseen.go; valid if unseenNumbered
	unseenNumbered bool   // the plan's UnseenProbes have numbers, so they are attached
	attachedLate   bool   // probes were attached when the code may have run already

	calls     map[uint64]string // the result of systemCalls
	callsOnce sync.Once

	frees     bool // the result of recordsLives
	freesOnce sync.Once
}

// Segment is an executable mapping of a module. Segments of libraries that were unloaded are
// kept, because call stacks may contain addresses in them.
type Segment struct {
	Lo, Hi uint64
	Bias   uint64 // load bias: address in the process minus address as linked
	Module *Module
}

// openModule opens the file of a mapping, and checks that it is the mapped file and not another
// one that has been put in its place. exe is what it is for target.OpenMapped. openModule takes the file from early if it
// is there.
func openModule(pid int, m procfs.Mapping, exe string, early target.EarlyFiles) (*Module, error) {
	f, err := early.Take(m.File), error(nil)
	if f == nil {
		f, err = target.OpenMapped(pid, m, exe)
	}
	if err != nil {
		return nil, fmt.Errorf("process %d: %w", pid, err)
	}
	st, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("look at %s: %w", m.Path, err)
	}
	root, name := openRoot(pid)
	bin, err := elf.NewWith(f, st.Size(), m.Path, elf.Options{Root: name, Path: m.Path})
	if err != nil {
		f.Close()
		return nil, err
	}
	return &Module{ID: m.File, Path: m.Path, Bin: bin, file: f, root: root}, nil
}

// openRoot returns the root directory of a process, and a name for it that is valid as long as
// root is open. The name is needed because debug information is often looked for after the
// process has ended.
func openRoot(pid int) (root *os.File, name string) {
	name = procfs.Dir(pid) + "/root"
	fd, err := unix.Open(name, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, name // a search in the directory fails, and reports why
	}
	return os.NewFile(uintptr(fd), name), fmt.Sprintf("/proc/self/fd/%d", fd)
}

// bias returns the load bias of a mapping; ok is false if the mapping has no code of the module.
func (m *Module) bias(mp procfs.Mapping) (uint64, bool) {
	for _, text := range m.Bin.Text() {
		off, err := m.Bin.Offset(text.Lo)
		if err == nil && off >= mp.Offset && off-mp.Offset < mp.Hi-mp.Lo {
			return mp.Lo + (off - mp.Offset) - text.Lo, true
		}
	}
	return 0, false
}

// offsetWatched makes the indices of variables that the user did not name, which are relative to
// the plan, absolute: it adds base, the index of the first such variable of the plan.
func (m *Module) offsetWatched(base uint32) {
	for i := range m.Plan.Sites {
		if s := &m.Plan.Sites[i]; s.Program == probes.ProgramShared {
			s.BPF.Access.Watched += base
		}
	}
}

// permanentProbes returns the module's probes that are not removed while the program runs: all but
// its UnseenProbes, those of locks (see leftout.go), those of variables that the user did not name, those of the ends of
// memory, those of attachTogether and, if these are thinned, those of accesses through pointers. Site indices are absolute.
// A site that is chained behind another at the same address has no probe of its own.
func (m *Module) permanentProbes(thinned bool) []attach.Probe {
	apart := m.isTogether()
	return m.probesOf(func(i int, s *probes.Site) bool {
		switch s.Program {
		case probes.ProgramShared, probes.ProgramAtomic, probes.ProgramPointerAtomic, probes.ProgramLives:
			return false
		}
		return s.Moves == probes.MovesNot && !(thinned && s.Program == probes.ProgramPointer) && !apart[i]
	})
}

// probesOf returns the probes of the sites, by their index in the plan, that are wanted.
func (m *Module) probesOf(wanted func(i int, s *probes.Site) bool) []attach.Probe {
	var ps []attach.Probe
	for i := range m.Plan.Sites {
		s, index := &m.Plan.Sites[i], m.Base+uint32(i)
		if !wanted(i, s) {
			continue
		}
		if !m.Plan.Chained(i) {
			ps = append(ps, attach.Probe{Offset: s.Offset, Site: index, Program: s.Program})
		}
		if s.Return {
			ps = append(ps, attach.Probe{Offset: s.Offset, Site: index, Program: s.Program, Return: true})
		}
	}
	return ps
}

func (m *Module) bpfSites() []bpf.Site {
	sites := make([]bpf.Site, len(m.Plan.Sites))
	for i := range m.Plan.Sites {
		sites[i] = m.Plan.Sites[i].BPF
	}
	for _, w := range m.Plan.Watchpoints {
		sites = append(sites, w.Site.BPF)
	}
	return sites
}

// watchSite returns the index of the site of the plan's i-th watchpoint. These sites come after
// the plan's other ones.
func (m *Module) watchSite(i int) uint32 { return m.Base + uint32(len(m.Plan.Sites)+i) }

// probed reports whether the plan has anything to observe in the module.
func (m *Module) probed() bool {
	return len(m.Plan.Sites)+len(m.Plan.Watchpoints)+len(m.Plan.UnseenProbes) > 0
}

// addSignatures stores the signatures of the module's functions in the BPF map, and their
// numbers in sites.
func (m *Module) addSignatures(t *attach.Tracer, sites []bpf.Site) error {
	for i := range m.Plan.Sites {
		if m.Plan.Sites[i].Method == nil {
			continue
		}
		number, err := t.Signature(m.Plan.Sites[i].Signature)
		if err != nil {
			return err
		}
		sites[i].Function().Signature = number
	}
	return nil
}

// passesMessages reports whether threads of the module's own code, or, with follow, its processes, may be ordered by
// what system calls tell them.
func (m *Module) passesMessages(follow bool) bool {
	return m.makesChannels() || m.waitsForChildren(follow) || m.reusesDescriptors()
}

// makesChannels reports whether the module's own code may make channels through which threads pass
// each other messages.
func (m *Module) makesChannels() bool { return !libname.Runtime(m.Path) && m.Bin.MakesChannels() }

// locksFiles reports whether the module's own code may lock files by fcntl.
func (m *Module) locksFiles() bool {
	return !libname.Runtime(m.Path) && slices.ContainsFunc(m.Plan.UnseenProbes, func(p probes.UnseenProbe) bool { return p.Locks })
}

// asks reports whether the module's own code asks the kernel for what other threads may change, or has loops that wait so.
func (m *Module) asks() bool {
	if libname.Runtime(m.Path) {
		return false
	}
	return m.Bin.Asks() || slices.ContainsFunc(m.Plan.UnseenProbes, func(p probes.UnseenProbe) bool { return p.Asks })
}

// waitsForChildren reports whether the module's own code may wait for child processes that order
// threads, or, with follow, other processes.
func (m *Module) waitsForChildren(follow bool) bool {
	return !libname.Runtime(m.Path) && m.Bin.WaitsForChildren(follow)
}

// reusesDescriptors reports whether threads of the module's own code may be given numbers of descriptors that others
// have closed.
func (m *Module) reusesDescriptors() bool {
	return !libname.Runtime(m.Path) && m.Bin.ReusesDescriptors()
}

// traces reports whether the module's own code may trace other processes.
func (m *Module) traces() bool { return !libname.Runtime(m.Path) && m.Bin.Traces() }

// UnseenMessages is what a module's own code may do by which threads order each other, if messages are not recorded.
type UnseenMessages struct {
	*Module
	Channels bool // it makes channels; else threads are given numbers of descriptors that others have closed
}

// UnseenMessages returns the modules whose threads may so be ordered.
func (s *Session) UnseenMessages() (all []UnseenMessages) {
	if s.opts.Messages != MessagesNever {
		return nil
	}
	for _, m := range s.Modules() {
		if channels := m.makesChannels(); channels || m.reusesDescriptors() {
			all = append(all, UnseenMessages{m, channels})
		}
	}
	return all
}

// UnseenIn returns the number of instructions in a module's code that synchronise without being
// observed: atomic instructions and futex calls. It does not count accesses of watched
// variables, instructions of functions in the synchronisation table, or those whose execution a
// probe reports. first is the function or address of the first one, and what is its kind. If the
// module cannot be searched, n is 1, first is its path and what is the error.
func (s *Session) UnseenIn(m *Module) (n int, first, what string) {
	unseen, err := m.Plan.Unseen()
	if err != nil {
		return 1, m.Path, err.Error()
	}
	observed, reported := m.Plan.Observed(), m.reportedAddrs()
	names := symbolize.New(m.Bin, symbolize.WithoutDWARF())
	for _, site := range unseen.Sites {
		if observed(site) || reported[site.Addr] || s.Ordered(site.Callee) {
			continue
		}
		if n++; n == 1 {
			what = site.What.String()
			first = fmt.Sprintf("%s+%#x", path.Base(m.Path), site.Addr)
			if f := names.Frames(site.Addr); len(f) > 0 && f[0].Function != "" {
				first = f[0].Function
			}
		}
	}
	return n, first, what
}

// OfOpenMP reports whether the module is libgomp, whose calls the table of synchronisation calls lists.
func (m *Module) OfOpenMP() bool { return libname.Stem(m.Bin.SOName()) == "libgomp" }

// maxCall is the greatest length, in bytes, of an instruction that calls a function or the
// kernel.
const maxCall = 7

// calledBefore reports whether the instruction before an address calls the function of that
// name, or, if function is "", is a system call instruction.
func (m *Module) calledBefore(addr uint64, function string) bool {
	calls := m.systemCalls()
	for n := uint64(1); n <= maxCall; n++ {
		if callee, ok := calls[addr-n]; ok {
			return callee == function
		}
	}
	return false
}

// systemCalls returns the addresses in the module's own code that call the kernel, each with the
// name of the function by which it does; "" stands for a system call instruction. The result is
// empty for a run-time library and for a file that cannot be searched.
func (m *Module) systemCalls() map[uint64]string {
	m.callsOnce.Do(func() {
		m.calls = map[uint64]string{}
		if libname.Runtime(m.Path) {
			return
		}
		unseen, err := m.Plan.Unseen()
		if err != nil {
			return // UnseenIn reports the error
		}
		for _, site := range unseen.Sites {
			if site.What == elf.UnseenSyscall {
				m.calls[site.Addr] = site.Callee
			}
		}
	})
	return m.calls
}
