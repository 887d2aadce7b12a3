package probes

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/ianlancetaylor/demangle"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/probes/cheapsite"
	"github.com/tracepredict/tracepredict/probes/code"
	"github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/insn"
	"github.com/tracepredict/tracepredict/probes/symbolize"
	"github.com/tracepredict/tracepredict/probes/waiting"
)

// UnseenProbe is the probe of an instruction by which the program synchronises without being
// observed, for example an atomic instruction that accesses memory through a pointer. It records
// which threads execute the instruction, not what that does.
type UnseenProbe struct {
	At     uint64 // address of the instruction; of a loop that waits, of the load that decides
	Addr   uint64 // address of the probe
	Offset uint64 // file offset of Addr
	Class  cheapsite.Class
	What   elf.UnseenKind
	Callee string // the function that the instruction calls, or ""
	// Variable is the name of the atomic variable whose address goes where it is not followed; "" if
	// What is not elf.UnseenPointer.
	Variable string
	// Followed reports that the address is passed to a function of the file, all of whose accesses through
	// pointers are observed.
	Followed bool
	Why      string // one line for people
	Asks     bool   // it is a loop that waits only by calls of other files' functions
	Locks    bool   // it is a call of fcntl that may lock a file, or unlock it
}

// locksFile reports whether a call is one of fcntl whose command may lock a file, or unlock it: the last constant
// before the call, or one that is not known.
func (b *builder) locksFile(s elf.UnseenSite) bool {
	if s.Callee != "fcntl" && s.Callee != "fcntl64" {
		return false
	}
	arch, locks := b.plan.File.Arch(), true
	command := arch.Arguments()[1]
	for addr := s.Func.Lo; addr < s.Addr; {
		in, err := b.image.Decode(addr)
		if err != nil {
			return true
		}
		if in.Overwrites(arch).Has(command) {
			locks = !in.Known || in.Sum.Dst != command || !in.Sum.Const() || slices.Contains(lockCommands[:], in.Sum.Imm)
		}
		addr += uint64(in.Len)
	}
	return locks
}

// lockCommands are F_SETLK, F_SETLKW, F_OFD_SETLK and F_OFD_SETLKW.
var lockCommands = [...]int64{6, 7, 37, 38}

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
	probes, err := b.unseenProbes()
	if err != nil {
		return err
	}
	if probes == nil {
		for _, p := range b.pointers {
			b.pointed(p)
		}
	}
	b.plan.UnseenProbes = probes
	return nil
}

// unseenProbes returns the probes that planUnseen plans; nil if there are none.
func (b *builder) unseenProbes() ([]UnseenProbe, error) {
	unseen, ok, err := b.orderingSites()
	if err != nil || !ok {
		return nil, err
	}
	observed, sites := b.plan.Observed(), map[uint64]bool{}
	for i := range b.plan.Sites {
		sites[b.plan.Sites[i].Addr] = b.plan.Sites[i].Program != ProgramPointerAtomic || sites[b.plan.Sites[i].Addr]
	}
	b.plan.settled = map[uint64]bool{}
	var unseenProbes []UnseenProbe
	for _, s := range slices.Concat(unseen, b.leftOut) {
		if observed(s) {
			continue
		}
		if s.What == elf.UnseenSyscall && b.waitsForAtomic(s.Addr) || b.ofRustRuntime(s.Addr) || s.What == elf.UnseenCall && b.opts.Table.Lists(s.Callee) {
			b.plan.settled[s.Addr] = true
			continue
		}
		probe, ok := b.unseenProbe(s, func(addr uint64) bool { return sites[addr] })
		if !ok {
			return nil, nil
		}
		probe.Locks = b.locksFile(s)
		unseenProbes = append(unseenProbes, probe)
	}
	occupied := func(addr uint64) bool { return sites[addr] }
	waits, err := b.waits(occupied)
	if err != nil {
		return nil, err
	}
	if room := maxUnseen - len(unseenProbes); len(waits) > room && room >= 0 {
		b.note("%s has %d loops that wait for other threads, too many: {it is|they are} not observed which end", path.Base(b.plan.File.Name()), len(waits))
		waits = nil
	}
	unseenProbes = slices.Concat(unseenProbes, waits, b.looks(occupied))
	if len(unseenProbes) > maxUnseen {
		b.note("%s synchronises by itself at %d places that are not observed, more than the %d at which probes would tell whether they are executed: all are taken to be", path.Base(b.plan.File.Name()), len(unseenProbes), maxUnseen)
		return nil, nil
	}
	return append(unseenProbes, b.pointerProbes(occupied)...), nil
}

// waitsForAtomic reports whether a system call waits for the value of an atomic variable, or wakes who does, in code
// whose accesses of such variables are observed.
func (b *builder) waitsForAtomic(addr uint64) bool {
	if !b.seesPointers() {
		return false
	}
	frames := b.plan.frames(addr)
	return waitNames.MatchString(frames[0].Linkage) || rustRole(frames).use != bpf.LockNone || inAny(frames, rustGuard)
}

// maxWaitText bounds the size of code, in bytes, that is searched for loops that wait. The search of
// 1 MB takes 0.2 s.
const maxWaitText = 2 << 20

// findWaits returns the ends of the file's loops that wait for a value that another thread stores.
func (b *builder) findWaits() ([]waiting.Wait, error) {
	f := b.plan.File
	if b.waitsKnown || !b.mayWait() {
		return b.waitsFound, nil
	}
	found := b.searches.waits()
	if found.err != nil {
		return nil, fmt.Errorf("look for loops that wait in %s: %w", f.Name(), found.err)
	}
	if !found.whole && f.Arch() == insn.AMD64 {
		b.note("%s is too large to be searched for all loops that wait for other threads", path.Base(f.Name()))
	}
	b.waitsFound, b.waitsKnown = found.waits, true
	return found.waits, nil
}

// mayWait reports whether the file is searched for loops that wait.
func (b *builder) mayWait() bool {
	f := b.plan.File
	return f.TextSize() <= maxWaitText && (f.Static() || b.usesThreads())
}

// cachedCode is a file whose code is read once.
type cachedCode struct {
	waiting.File
	image *code.Image
}

// Bytes returns bytes of code.
func (f cachedCode) Bytes(addr uint64, n int) ([]byte, error) { return f.image.Bytes(addr, n) }

// usesThreads reports whether the file imports a function of the table, or sleeps or yields: code that
// waits for other threads does one of these somewhere.
func (b *builder) usesThreads() bool {
	return slices.ContainsFunc(b.plan.File.Undefined(), func(name string) bool {
		_, known := b.opts.Table.Match(name, "")
		return known || waiting.Idles(name)
	})
}

// waits plans the probes of the ends of loops that wait for a value that another thread stores. A
// loop whose loads are recorded, as all other accesses of their variables are, needs none: what it
// sees is known. So are all accesses by code of atomic types, and a value that no recorded store
// explains is a doubt of its own.
func (b *builder) waits(occupied func(uint64) bool) ([]UnseenProbe, error) {
	f, recorded, partly := b.plan.File, map[uint64]bool{}, map[string]bool{}
	for i := range b.plan.Coverage {
		c := &b.plan.Coverage[i]
		partly[c.Variable.Name] = partly[c.Variable.Name] || !c.Complete()
	}
	for _, v := range b.plan.Shared {
		partly[v.Name] = slices.ContainsFunc(b.escaped, func(object string) bool {
			rest, part := strings.CutPrefix(v.Name, object)
			return part && (rest == "" || rest[0] == '.' || rest[0] == '[')
		})
	}
	for i := range b.plan.Watchpoints {
		delete(partly, b.plan.Watchpoints[i].Variable.Name)
	}
	for i := range b.plan.Sites {
		s := &b.plan.Sites[i]
		named := s.Variable != "" && !s.Conditional && s.Program != ProgramCall && !partly[s.Variable]
		recorded[s.At] = recorded[s.At] || named || s.Program == ProgramPointerAtomic
	}
	found, err := b.findWaits()
	if err != nil {
		return nil, err
	}
	var out []UnseenProbe
	for _, w := range found {
		i := slices.IndexFunc(w.Loads, func(l waiting.Load) bool { return !recorded[l.At] })
		if i < 0 {
			continue
		}
		at := w.Loads[i].At
		probe, ok := b.unseenProbe(elf.UnseenSite{Addr: at, Return: w.Exit, What: elf.UnseenWait}, occupied)
		if !ok {
			b.note("the end of the loop that waits at 0x%x of %s cannot be observed", at, path.Base(f.Name()))
			continue
		}
		probe.Asks = !slices.ContainsFunc(w.Loads, func(l waiting.Load) bool { return !l.Asked })
		out = append(out, probe)
	}
	return out, nil
}

// markPolled marks the loads by loops that wait, and those of the copies of their conditions.
func (b *builder) markPolled() error {
	if !slices.ContainsFunc(b.plan.Sites, func(s Site) bool { return s.ObservesAccess() }) {
		return nil
	}
	found, err := b.findWaits()
	if err != nil {
		return err
	}
	loads := map[uint64]bool{}
	for _, w := range found {
		for _, l := range w.Loads {
			loads[l.At] = true
		}
		for _, at := range w.Before {
			loads[at] = true
		}
	}
	for i := range b.plan.Sites {
		s := &b.plan.Sites[i]
		s.Polled = loads[s.At] && s.ObservesAccess()
	}
	return nil
}

// markExits marks the sites whose probes are where loops that wait are left.
func (b *builder) markExits() {
	exits := map[uint64]bool{}
	for i := range b.plan.UnseenProbes {
		if u := &b.plan.UnseenProbes[i]; u.What == elf.UnseenWait {
			exits[u.Addr] = true
		}
	}
	for i := range b.plan.Sites {
		s := &b.plan.Sites[i]
		s.AtExit = len(exits) > 0 && exits[s.Addr]
	}
}

// markUntyped marks the accesses by code without debug information, and those through pointers of a file that is
// not searched for code of atomic types, or by code of which the functions that it was inlined from are named in another file.
func (b *builder) markUntyped() {
	if !slices.ContainsFunc(b.plan.Sites, func(s Site) bool { return s.ObservesAccess() }) {
		return
	}
	described := b.libraryCode().spans
	searched := !b.plan.File.Restartable() && b.plan.File.TextSize() <= maxPointedText
	for i := range b.plan.Sites {
		s := &b.plan.Sites[i]
		s.Untyped = s.ObservesAccess() && (len(described.At(s.At)) == 0 || s.Program == ProgramPointer && (!searched || described.Split(s.At)))
	}
}

// holds returns how many more locks a thread holds after the call of a function than before. ok is
// false if the function is not of the table. name is that of an import.
func (b *builder) holds(entry uint64, name string) (change int, ok bool) {
	e := b.tableCalls[entry].entry
	if name != "" {
		if e, ok = b.opts.Table.Match(name, demangled(name)); !ok {
			return 0, false
		}
	} else if _, ok = b.tableCalls[entry]; !ok {
		return 0, false
	}
	switch e.Op {
	case bpf.OpAcquire, bpf.OpAcquireRead:
		if !e.Try {
			return 1, true
		}
	case bpf.OpRelease:
		return -1, true
	}
	return 0, true
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
	if !ok || !b.isCode(at) {
		return UnseenProbe{}, false
	}
	off, err := b.plan.File.Offset(where.Addr)
	return UnseenProbe{At: s.Addr, Addr: where.Addr, Offset: off, Class: where.Class, What: s.What, Callee: s.Callee, Why: where.Why}, err == nil
}

// Observed returns a function that reports whether an instruction that synchronises is observed
// after all: by the probe of an access, or as part of a function of the table. It does so too if what the
// instruction orders is known from others, or nothing that the program may rely on.
func (p *Plan) Observed() func(elf.UnseenSite) bool {
	at := map[uint64]bool{}
	for _, site := range p.Sites {
		at[site.At] = at[site.At] || site.Program != ProgramCall && !site.Conditional
	}
	return func(s elf.UnseenSite) bool { return at[s.Addr] || at[s.Func.Lo] || p.settled[s.Addr] }
}

// Describe returns the kind and the location of a probe's instruction: "atomic instruction in push
// at queue.cc:12", or with its address in the file where no function is known: "atomic instruction
// at libz.so.1+0x3f".
func (p *Plan) Describe(probe UnseenProbe) string {
	what := probe.What.String()
	if probe.Variable != "" {
		what = "pointer to " + probe.Variable
	}
	if probe.What == elf.UnseenCall && probe.Callee != "" {
		what += " of " + probe.Callee
	}
	return what + " " + p.Place(probe.At)
}

// Place describes where the instruction at an address is: "in fill at queue.c:58".
func (p *Plan) Place(at uint64) string {
	f := ownFrame(p.frames(at))
	if short, err := demangle.ToString(f.Linkage, demangle.NoParams, demangle.NoTemplateParams, demangle.NoClones, demangle.MaxLength(12)); err == nil {
		f.Function = strings.ReplaceAll(short, "::<>", "") // what demangling leaves of Rust's generics
	}
	switch {
	case f.Function == "":
		return fmt.Sprintf("at %s+0x%x", path.Base(p.File.Name()), at)
	case f.File == "" || f.Line == 0:
		return "in " + f.Function
	}
	return fmt.Sprintf("in %s at %s:%d", f.Function, path.Base(f.File), f.Line)
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
