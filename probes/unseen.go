package probes

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/ianlancetaylor/demangle"

	"github.com/tracepredict/tracepredict/probes/cheapsite"
	"github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/symbolize"
)

// UnseenProbe is the probe of an instruction by which the program synchronises without being
// observed, for example an atomic instruction that accesses memory through a pointer. It records
// which threads execute the instruction, not what that does.
type UnseenProbe struct {
	At     uint64 // address of the instruction
	Addr   uint64 // address of the probe
	Offset uint64 // file offset of Addr
	Class  cheapsite.Class
	What   elf.UnseenKind
	Callee string // the function that the instruction calls, or ""
	Why    string // one line for people
}

// maxUnseen bounds the instructions of one file that get an UnseenProbe. Rust's standard library,
// linked statically, has hundreds.
const maxUnseen = 2048

// maxUnseenText bounds the size of code, in bytes, that is searched for instructions that
// synchronise without being observed. The search of a cryptographic library takes a fifth of a
// second. Without it, nothing that the library might order could be predicted in the many programs
// that use it.
const maxUnseenText = 8 << 20

// planUnseen plans a probe for each instruction of the file that synchronises without being
// observed. It plans none if one of them can have no probe: then hits of the others change no
// verdict.
func (b *builder) planUnseen() error {
	unseen, ok, err := b.orderingSites()
	if err != nil || !ok {
		return err
	}
	observed, sites := b.plan.Observed(), map[uint64]bool{}
	for i := range b.plan.Sites {
		sites[b.plan.Sites[i].Addr] = true
	}
	var unseenProbes []UnseenProbe
	for _, s := range unseen {
		if observed(s) {
			continue
		}
		probe, ok := b.unseenProbe(s, func(addr uint64) bool { return sites[addr] })
		if !ok {
			return nil
		}
		unseenProbes = append(unseenProbes, probe)
	}
	if len(unseenProbes) > maxUnseen {
		b.note("%s synchronises by itself at %d places that are not observed, more than the %d at which probes would tell whether they are executed: all are taken to be", path.Base(b.plan.File.Name()), len(unseenProbes), maxUnseen)
		return nil
	}
	b.plan.UnseenProbes = unseenProbes
	return nil
}

// orderingSites returns the instructions of the file that synchronise. ok is false if they are
// not all known, or if a probe could do harm.
func (b *builder) orderingSites() (sites []elf.UnseenSite, ok bool, err error) {
	f := b.plan.File
	if !b.searchesAtomics() || f.Restartable() || f.TextSize() > maxUnseenText {
		return nil, false, nil
	}
	if b.allSwept && !f.ImportsOrdering() {
		return b.indivisible, true, nil
	}
	u, err := b.unseen()
	return u.Sites, true, err
}

// unseenProbe plans the probe of an instruction that synchronises. It never puts the probe at an
// instruction that calls the kernel. The kernel would step a copy of such an instruction, and
// the system call returns before the step is done, so that the bytes after the copy run too
// (measured: in a static program's brk they store relative to rip, and the program dies of
// SIGSEGV); a clone's child continues there (SIGTRAP).
func (b *builder) unseenProbe(s elf.UnseenSite, occupied func(uint64) bool) (UnseenProbe, bool) {
	at := s.Addr
	if s.Return != 0 {
		at = s.Return
	}
	where, ok := b.image.ExecutionSite(at, occupied)
	if !ok {
		return UnseenProbe{}, false
	}
	off, err := b.plan.File.Offset(where.Addr)
	return UnseenProbe{At: s.Addr, Addr: where.Addr, Offset: off, Class: where.Class, What: s.What, Callee: s.Callee, Why: where.Why}, err == nil
}

// Observed returns a function that reports whether an instruction that synchronises is observed
// after all: by the probe of an access, or as part of a function of the table.
func (p *Plan) Observed() func(elf.UnseenSite) bool {
	at := map[uint64]bool{}
	for _, site := range p.Sites {
		at[site.At] = at[site.At] || site.Program != ProgramCall && !site.Conditional
	}
	return func(s elf.UnseenSite) bool { return at[s.Addr] || at[s.Func.Lo] }
}

// Describe returns the kind and the location of a probe's instruction: "atomic instruction in push
// at queue.cc:12", or with its address in the file where no function is known: "atomic instruction
// at libz.so.1+0x3f".
func (p *Plan) Describe(probe UnseenProbe) string {
	f := ownFrame(p.frames(probe.At))
	if short, err := demangle.ToString(f.Linkage, demangle.NoParams, demangle.NoTemplateParams, demangle.NoClones, demangle.MaxLength(12)); err == nil {
		f.Function = strings.ReplaceAll(short, "::<>", "") // what demangling leaves of Rust's generics
	}
	what := probe.What.String()
	if probe.What == elf.UnseenCall && probe.Callee != "" {
		what += " of " + probe.Callee
	}
	switch {
	case f.Function == "":
		return fmt.Sprintf("%s at %s+0x%x", what, path.Base(p.File.Name()), probe.At)
	case f.File == "" || f.Line == 0:
		return fmt.Sprintf("%s in %s", what, f.Function)
	}
	return fmt.Sprintf("%s in %s at %s:%d", what, f.Function, path.Base(f.File), f.Line)
}

// ownFrame returns the innermost frame whose source file is not in a compiler's headers or
// libraries; the innermost frame if there is none.
func ownFrame(frames []symbolize.Frame) symbolize.Frame {
	for _, f := range frames {
		if f.File != "" && !slices.ContainsFunc([]string{"/usr/include/", "/usr/lib/", "/include/c++/", "/rustc/"}, func(dir string) bool { return strings.Contains(f.File, dir) }) {
			return f
		}
	}
	return frames[0]
}
