package probes

import (
	"fmt"
	"path"
	"slices"
	"sort"
	"strings"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/internal/plural"
	"github.com/tracepredict/tracepredict/probes/cheapsite"
	"github.com/tracepredict/tracepredict/probes/clib"
	"github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/field"
	"github.com/tracepredict/tracepredict/probes/insn"
	"github.com/tracepredict/tracepredict/probes/libname"
	"github.com/tracepredict/tracepredict/probes/symbolize"
	"github.com/tracepredict/tracepredict/probes/synctab"
	"github.com/tracepredict/tracepredict/probes/variable"
	"github.com/tracepredict/tracepredict/probes/waiting"
)

// builder makes the plan of one file.
type builder struct {
	opts             Options
	plan             *Plan
	image            *cheapsite.Image
	code             *variable.Code
	arch             insn.Arch
	returnsPlanned   map[uint64]bool        // return instructions that have a probe
	lifetimesPlanned map[uint64]bool        // constructors and destructors that have a probe
	tableCalls       map[uint64]call        // functions that the table lists, by address
	library          *clib.Library          // computed at first use
	libraries        *libraryCode           // nil before its first use
	runtime          map[uint64]bool        // by the address of a function: ofRuntime; nil before its first use
	cpp              func(addr uint64) bool // cppLibrary; nil before the first use of ofRuntime
	stubs            map[uint64]string
	names            *symbolize.Table // computed at first use
	ranges           []lineRange      // the lines of Options.On that the file has
	marks            marks
	table            slotAddress    // of the variable whose accesses are being planned
	cover            *Coverage      // of the atomic array that is being planned; nil while there is none
	sitesAt          map[uint64]int // number of sites at each address; see countSites

	indivisible []elf.UnseenSite // the atomic instructions that findAtomics found
	pointers    []atomicPointer  // to atomic variables, where their addresses are not followed
	allSwept    bool             // indivisible covers all code of the file

	searches   searches
	crowded    int      // accesses of variables watched for Options.Shared for which their place had no room
	escaped    []string // the objects watched for Options.Shared whose address escapes
	waitsFound []waiting.Wait
	waitsKnown bool // waitsFound has been computed

	// Of accesses through pointers: what says of which types they are, and how many were asked for.
	atomicTypes   *bool // the result of hasAtomicTypes; nil: not known yet
	onlyDescribed bool  // see described
	undescribed   bool  // see Planner.isUndescribed
	allPointers   bool  // all of this file are asked for
	room          room  // for what is watched besides what the user names
	arguments     *field.Arguments
	memberNames   *variable.Names
	members       int
	// The name that isAtomicName was asked for last, and its answer.
	lastName     string
	lastIsAtomic bool
	accessAt     map[uint64]bool     // instructions that access memory, by address
	leftOut      []elf.UnseenSite    // those of atomic types that are not observed
	lockRoles    map[uint64]lockRole // by address: lockRole, computed at first use
}

// call is a function of the file that is listed in the table of calls.
type call struct {
	addr         uint64
	name         string
	entry        synctab.Entry
	noInnerCalls bool // Site.NoInnerCalls
}

// loaderHook is the function, with an empty body, that dynamic loaders call when their list of
// libraries is about to change and again when it has changed.
const loaderHook = "_dl_debug_state"

func (b *builder) calls() error {
	b.returnsPlanned, b.lifetimesPlanned = map[uint64]bool{}, map[uint64]bool{}
	calls := b.match()
	if len(calls) > bpf.MaxSites {
		return fmt.Errorf("%d functions have the names of synchronisation calls, at most %d can be probed", len(calls), bpf.MaxSites)
	}
	b.plan.Calls = len(calls)
	at := map[uint64]call{}
	for _, c := range calls {
		at[c.addr] = c
		if c.entry.Op == bpf.OpQuit {
			b.plan.Quits++
		}
	}
	b.tableCalls, b.stubs = at, b.plan.File.PLTTargets()
	b.findMarks(calls)
	for _, c := range calls {
		as := MovesNot
		if moves(c.name, c.entry) {
			as = MovesAway
		}
		if err := b.marking(as, func() error { return b.tableCall(c, at) }); err != nil {
			return fmt.Errorf("%s at 0x%x: %w", c.name, c.addr, err)
		}
	}
	for _, s := range b.plan.File.Lookup(loaderHook) {
		hook := call{addr: s.Addr, name: loaderHook, entry: synctab.Entry{Op: bpf.OpLibrary}}
		return b.call(hook)
	}
	return nil
}

// tableCall plans the probes of a function that the table lists; at has all of these.
func (b *builder) tableCall(c call, at map[uint64]call) error {
	if b.wraps(c, at) {
		return b.wrapper(c)
	}
	c.noInnerCalls = c.entry.Op == bpf.OpWait && b.hasNoInnerCalls(c, at)
	return b.call(c)
}

// match returns the functions of the file that the table means, under every version of their
// symbols, each address once, sorted by address.
func (b *builder) match() []call {
	byAddr := map[uint64]call{}
	var long elf.Demangling
	for _, s := range b.plan.File.Symbols() {
		if s.Kind != elf.Func || s.Addr == 0 {
			continue
		}
		plain := ""
		if b.opts.Table.NeedsDemangling(s.Name) && long.Allows(s.Name) {
			plain = demangled(s.Name)
		}
		e, ok := b.opts.Table.Match(s.Name, plain)
		if !ok || b.namesake(s, e) {
			continue
		}
		old, had := byAddr[s.Addr]
		if !had || prefer(e, s.Name, old) {
			byAddr[s.Addr] = call{addr: s.Addr, name: s.Name, entry: e}
		}
	}
	if long.Refused > 0 {
		b.note("%d {function has a name|functions have names} of more than %d bytes, or too many long ones: if they are synchronisation calls, they are not seen", long.Refused, elf.MaxMangled)
	}
	calls := make([]call, 0, len(byAddr))
	for _, c := range byAddr {
		calls = append(calls, c)
	}
	sort.Slice(calls, func(i, j int) bool { return calls[i].addr < calls[j].addr })
	return calls
}

// clib returns the C library in the file.
func (b *builder) clib() *clib.Library {
	if b.library == nil {
		b.library = clib.Of(b.plan.File)
	}
	return b.library
}

// namesake reports whether a function only has the name of the C library's function that a row of
// the built-in table means, and adds it to the plan's namesakes. Whoever defines a function of the
// C++ ABI's guards defines what compilers call, whoever defines exit what the start of the program
// calls, and a user's rows mean every function.
func (b *builder) namesake(s elf.Symbol, e synctab.Entry) bool {
	switch e.Op {
	case bpf.OpGuardAcquire, bpf.OpGuardRelease, bpf.OpGuardAbort, bpf.OpQuit:
		return false
	}
	if !e.Builtin && e.Library == "" || e.Library == synctab.AnyLibrary {
		return false
	}
	why := b.foreign(s, e)
	if why == "" {
		return false
	}
	n := Namesake{Name: s.Name, Addr: s.Addr, Why: why}
	if !slices.Contains(b.plan.Namesakes, n) {
		b.plan.Namesakes = append(b.plan.Namesakes, n)
	}
	return true
}

// foreign returns why a function is not the one of a library that a built-in row means; "" if it is.
func (b *builder) foreign(s elf.Symbol, e synctab.Entry) string {
	switch {
	case e.Library == "":
		return b.clib().Foreign(s.Name, s.Addr, b.sourceFile)
	case libname.Stem(b.plan.File.SOName()) == e.Library:
		return ""
	}
	return fmt.Sprintf("defined in %s, which is not %s", path.Base(b.plan.File.Name()), e.Library)
}

// sourceFile returns the source file of the function that begins at an address, "" if there is no
// debug information about it.
func (b *builder) sourceFile(addr uint64) string {
	frames := b.plan.frames(addr)
	return frames[len(frames)-1].File
}

// prefer reports whether a function gets the meaning of this name rather than that of an older name
// of the same address. If only one of the two is an init, the other one counts: glibc 2.36's
// pthread_spin_init and pthread_spin_unlock are one function. An unlock recorded as an init would
// lose an order, while an init recorded as an unlock is recognised at run time.
func prefer(e synctab.Entry, name string, old call) bool {
	if (e.Op == bpf.OpInit) != (old.entry.Op == bpf.OpInit) {
		return old.entry.Op == bpf.OpInit
	}
	return name < old.name && len(name) <= len(old.name)
}

// wraps reports whether a function does no more than call another of the same operation on the same
// object (glibc's mtx_lock calls pthread_mutex_lock): nested calls of one operation are one event.
func (b *builder) wraps(c call, at map[uint64]call) bool {
	args := b.registers(c.entry)
	for _, target := range b.image.WrapperOf(c.addr, args) {
		inner, ok := at[target]
		if ok && target != c.addr && sameMeaning(inner.entry, c.entry) {
			return true
		}
	}
	// An old version of a function may end in the current one, with another object: glibc's
	// condition variables of before 2003 point to one that is allocated at first use.
	for _, target := range b.image.Callees(c.addr) {
		if inner, ok := at[target]; ok && target != c.addr && plainName(inner.name) == plainName(c.name) {
			return true
		}
	}
	return false
}

// wrapper plans the only probe of a wrapper, which records the program's call site: the wrapped
// function has the wrapper as its only caller. A release is recorded without a call stack, so its
// wrapper needs no probe.
func (b *builder) wrapper(c call) error {
	if c.entry.Op == bpf.OpRelease {
		return nil
	}
	where, err := b.place(cheapsite.Want{At: c.addr, Sense: cheapsite.Entry, Reads: insn.RegSet(0).With(b.arch.SP())})
	if err != nil || where.Class == cheapsite.Refused {
		return err
	}
	s := b.callSite(c, bpf.ActionCaller, where)
	b.plan.Sites = append(b.plan.Sites, s)
	return nil
}

func plainName(name string) string { return strings.TrimLeft(name, "_") }

// hasNoInnerCalls reports whether a wait on a condition releases and acquires its mutex by itself,
// as glibc's waits do. musl's waits call the public functions, which have probes of their own. This
// can be known only where those functions are in the same file.
func (b *builder) hasNoInnerCalls(c call, at map[uint64]call) bool {
	for _, target := range b.image.Callees(c.addr) {
		if op := at[target].entry.Op; op == bpf.OpRelease || op == bpf.OpWait {
			return false
		}
	}
	for _, other := range at {
		if other.entry.Op == bpf.OpRelease {
			return true
		}
	}
	return false
}

// sameMeaning reports whether two calls perform the same operation with the same arguments. A wait
// without a time limit and one with a time limit differ: musl's sem_wait is a sem_timedwait without
// a limit.
func sameMeaning(a, b synctab.Entry) bool {
	return a.Op == b.Op && a.Object == b.Object && a.Second == b.Second && a.KindAt == b.KindAt && a.Try == b.Try && a.Timed == b.Timed
}

// argument returns the register of argument n, counted from 1; NoReg for 0.
func (b *builder) argument(n int) insn.Reg {
	if n == 0 {
		return insn.NoReg
	}
	return b.arch.Arguments()[n-1]
}

func (b *builder) registers(e synctab.Entry) insn.RegSet {
	var set insn.RegSet
	for _, n := range []int{e.Object, e.Second, e.Shared} {
		if n > 0 {
			set = set.With(b.argument(n))
		}
	}
	return set
}

// linkRegister is the register of arm64 that holds the return address.
const linkRegister insn.Reg = 30

// entryReads returns the registers that a probe at a function's entry reads: the stack pointer, the
// return address where a register holds it, and those of the arguments given, counted from 1; 0
// stands for no argument.
func (b *builder) entryReads(arguments ...int) insn.RegSet {
	set := insn.RegSet(0).With(b.arch.SP())
	if b.arch == insn.ARM64 {
		set = set.With(linkRegister)
	}
	for _, n := range arguments {
		if n > 0 {
			set = set.With(b.argument(n))
		}
	}
	return set
}

// actionOf returns when the records of an operation are made: at the call, at its return, or both.
func actionOf(op bpf.Op) bpf.Action {
	switch op {
	case bpf.OpAcquire, bpf.OpAcquireRead, bpf.OpSemWait, bpf.OpJoin, bpf.OpGuardAcquire, bpf.OpOrderedBegin, bpf.OpKeyCreate:
		return bpf.ActionSave
	case bpf.OpWait, bpf.OpBarrier, bpf.OpOnce, bpf.OpParallel, bpf.OpTeamBarrier, bpf.OpOrderedNext, bpf.OpCopyBegin, bpf.OpCopyEnd, bpf.OpInterpreterRelease:
		return bpf.ActionBoth
	}
	return bpf.ActionEmit
}

// call plans the probes of one function.
func (b *builder) call(c call) error {
	action := actionOf(c.entry.Op)
	want := cheapsite.Want{At: c.addr, Reads: b.registers(c.entry) | b.entryReads()}
	if action == bpf.ActionSave {
		want.Sense = cheapsite.Entry
	}
	ret := action != bpf.ActionEmit && !c.entry.Unwinds
	want.Return = ret
	where, err := b.place(want)
	if err != nil {
		return err
	}
	if ret && (where.Loops || where.Class == cheapsite.Refused) {
		ret, want.Return = false, false // probe the return instructions instead
		if where, err = b.place(want); err != nil {
			return err
		}
	}
	if action == bpf.ActionSave {
		if done, err := b.outcomes(c, where.Class, ret); done || err != nil {
			return err
		}
	}
	if where.Class == cheapsite.Refused {
		b.note("%s cannot be probed (%s): its calls are not seen", c.name, where.Why)
		return nil
	}
	site := b.callSite(c, action, where)
	site.Return = ret
	b.plan.Sites = append(b.plan.Sites, site)
	if action != bpf.ActionEmit && !ret {
		return b.returns(c)
	}
	return nil
}

func (b *builder) callSite(c call, action bpf.Action, where cheapsite.Site) Site {
	e := c.entry
	s := newSite(c.addr, where, c.name)
	s.Kind, s.Try, s.Timed, s.NoInnerCalls, s.Argument = e.Kind, e.Try, e.Timed, c.noInnerCalls, e.Object
	s.BPF = bpf.Site{Op: uint8(e.Op), Action: uint8(action), AtEntry: 1, SpDelta: int32(where.SPDelta)}
	d := s.BPF.Sync()
	d.Function, d.Success = c.addr, uint8(e.Success)
	if e.Op == bpf.OpRelease {
		s.BPF.Flags = bpf.SiteNoStack // no finding shows where a lock was released, except one that was not held
	}
	s.ReportsOwnerDead = e.Builtin && e.Success == bpf.SuccessZero && (e.Op == bpf.OpAcquire && e.Kind == synctab.KindMutex || e.Op == bpf.OpWait)
	if !e.Unwinds && !runsProgram(e.Op) {
		s.BPF.Flags |= bpf.SiteLeaf
	}
	if e.Object > 0 {
		s.BPF.ObjectFrom, s.BPF.ObjectReg = uint8(bpf.FromReg), uint8(b.argument(e.Object))
	}
	if at, ok := b.standsFor(e); ok {
		s.BPF.ObjectFrom, s.BPF.ObjectDisp = uint8(bpf.FromFixed), int64(at-where.Addr)
		s.ObjectName = strings.TrimSuffix(e.ObjectAt, "_start")
	}
	if e.Second > 0 {
		d.SecondFrom, d.SecondReg = uint8(bpf.FromReg), uint8(b.argument(e.Second))
	}
	b.marks.recordIn(&s, d, e)
	if e.Shared > 0 {
		d.Extra = 1 + uint8(b.argument(e.Shared))
	}
	if e.Op == bpf.OpKeyCreate {
		d.SecondFrom = uint8(bpf.FromKind)
	}
	if e.KindAt > 0 {
		d.SecondFrom, d.SecondDisp, s.RecordsLockKind = uint8(bpf.FromKind), int64(e.KindAt), true
	}
	return s
}

// standsFor returns the address of the function that stands for the object of a call.
func (b *builder) standsFor(e synctab.Entry) (addr uint64, ok bool) {
	if e.ObjectAt == "" {
		return 0, false
	}
	for _, s := range b.plan.File.Lookup(e.ObjectAt) {
		if s.Kind == elf.Func && s.Addr != 0 {
			return s.Addr, true
		}
	}
	return 0, false
}

// runsProgram reports whether calls of an operation run code of the program, whose calls are
// operations of their own.
func runsProgram(op bpf.Op) bool {
	return op == bpf.OpParallel || op == bpf.OpTeamBarrier || op == bpf.OpCopyBegin || op == bpf.OpCopyEnd
}

// resultRegister returns the register that holds a function's result.
func (b *builder) resultRegister() insn.Reg {
	if b.arch == insn.ARM64 {
		return 0
	}
	return insn.RAX
}

// returns plans probes at every return instruction of a function whose frame may be unwound, where
// a uretprobe would kill the program.
func (b *builder) returns(c call) error {
	exits, err := b.image.Returns(c.addr)
	if err != nil {
		return err
	}
	if !exits.Complete {
		b.note("not every return of %s could be found (%s): some of its calls may seem not to return", c.name, exits.Reason)
	}
	for _, ret := range exits.Returns {
		if b.returnsPlanned[ret] {
			continue
		}
		b.returnsPlanned[ret] = true
		var reads insn.RegSet
		where, err := b.placeReturn(ret, reads.With(b.resultRegister()).With(b.arch.SP()))
		if err != nil {
			return err
		}
		if where.Class == cheapsite.Refused {
			b.note("a return of %s at 0x%x cannot be probed (%s)", c.name, ret, where.Why)
			continue
		}
		s := newSite(ret, where, c.name)
		s.BPF = bpf.Site{Action: uint8(bpf.ActionReturn), SpDelta: int32(where.SPDelta)}
		b.plan.Sites = append(b.plan.Sites, s)
	}
	return nil
}

// symbols returns the names of the file's functions.
func (b *builder) symbols() *symbolize.Table {
	if b.names == nil {
		b.names = symbolize.New(b.plan.File, symbolize.WithoutDWARF())
	}
	return b.names
}

// functionAt returns the name of the function at an address, "" if no symbol names it.
func (b *builder) functionAt(addr uint64) string {
	if frames := b.symbols().Frames(addr); len(frames) > 0 {
		return frames[0].Function
	}
	return ""
}

func (b *builder) note(format string, args ...any) {
	b.plan.Notes = append(b.plan.Notes, plural.About(b.plan.File.Name(), format, args...))
}

// place returns the best address for a probe. With EntrySites that is the original address, unless
// the kernel accepts no probe there.
func (b *builder) place(w cheapsite.Want) (cheapsite.Site, error) {
	if !b.opts.EntrySites {
		return b.image.Place(w)
	}
	stay := w
	stay.Stop = func(addr uint64) bool { return addr != w.At }
	where, err := b.image.Place(stay)
	if err != nil || where.Class != cheapsite.Refused {
		return where, err
	}
	return b.image.Place(w)
}

func (b *builder) placeReturn(ret uint64, reads insn.RegSet) (cheapsite.Site, error) {
	return b.image.PlaceReturn(ret, reads)
}
