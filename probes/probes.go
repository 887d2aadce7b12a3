// Package probes determines what to probe in a binary and where. From a table of synchronisation
// calls, names of variables and an ELF file it makes a Plan: sites, each with the address of its
// probe, what the probe records, and what a hit costs.
//
// Each part has a folder, and CONTRIBUTING.md lists them: elf and dwarf read files, insn and code instructions; synctab,
// variable, field, function and pointer find what to observe; cheapsite says where a probe sits. This package joins them.
// It knows no process: all addresses are those of the file as linked.
package probes

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"iter"
	"maps"
	"path"
	"slices"
	"sync"

	"github.com/ianlancetaylor/demangle"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/internal/plural"
	"github.com/tracepredict/tracepredict/probes/cheapsite"
	"github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/function"
	"github.com/tracepredict/tracepredict/probes/plancache"
	"github.com/tracepredict/tracepredict/probes/symbolize"
	"github.com/tracepredict/tracepredict/probes/synctab"
	"github.com/tracepredict/tracepredict/probes/variable"
)

// Options say what to observe.
type Options struct {
	Table synctab.Table      // the synchronisation calls
	Watch []string           // names of variables, and of fields: "state of struct conn"
	On    []function.Pattern // functions whose calls and returns are events
	// Objects are names of locks and of other objects of any type. Reports use these names for the
	// objects found at their addresses. Nothing is probed for them.
	Objects []string
	// Shared watches every writable variable that the program's own code accesses by name: that of the first
	// file planned, and of libraries that are not the system's.
	Shared bool
	// Pointers observes what the program's own code accesses through pointers.
	Pointers bool
	// Modules are names of libraries, as patterns of path.Match, whose code is the program's own too.
	Modules []string
	// OnlyThreaded means that Shared and Pointers are for programs whose own code creates threads, or that have
	// libraries of their own.
	OnlyThreaded bool
	// OnlyDebugged means that Shared and Pointers are for code with debug information, and for what Modules names: a
	// finding about other code names no line and no type that a person could look at.
	OnlyDebugged bool
	// Hardware names variables to watch by hardware watchpoints. The accesses of a variable that is
	// also in Watch are recorded twice.
	Hardware []string
	// Choose bounds the hardware watchpoints for variables of Watch some of whose accesses probes do
	// not observe.
	Choose Hardware
	// EntrySites keeps each probe at its original address instead of the cheapest address that
	// observes the same operation.
	EntrySites bool
	// Atomics observes the accesses of atomic variables as synchronisation, whichever variables are
	// watched.
	Atomics bool
	// Lives records the ends of memory, as far as the cost permits, even if no field is watched.
	Lives bool
	// Futexes observes calls of futex(2) too, and with Contended nothing else.
	Futexes, Contended bool
	// Terse leaves Site.Why empty, which only people read.
	Terse bool
	// Progress is told how much of the code of a large program has been searched; nil: nobody is.
	Progress func(done, all int)
	// Cache keeps plans that name nothing of the user's, for other runs; nil: they are not kept.
	Cache *plancache.Cache
	// Tool identifies the build of the tool, for Cache.
	Tool plancache.Key
}

// Program identifies the BPF program that runs when a probe is hit, and when the probe is attached
// and removed. Sites at one address with the same Program share a probe. The constants are in the
// order in which a plan lists the sites of one address.
type Program uint8

const (
	// ProgramNamed observes calls that synchronise, and accesses of variables that the user
	// named.
	ProgramNamed Program = iota
	// ProgramAtomic observes accesses of atomic variables that the user did not name. Its BPF
	// program is that of ProgramNamed, but the probes of a variable are removed once they cost too
	// much.
	ProgramAtomic
	// ProgramShared observes accesses of the other variables that the user did not name.
	ProgramShared
	// ProgramPointer observes accesses through pointers.
	ProgramPointer
	// ProgramPointerAtomic observes those of atomic code. Its BPF program is that of ProgramPointer, but
	// its probes are removed once they cost too much.
	ProgramPointerAtomic
	// ProgramHeap observes where lifetimes of objects begin and where memory is freed, before the
	// other programs at the same address run.
	ProgramHeap
	// ProgramHeapLate observes where lifetimes of objects end, after the other programs at the same
	// address have run.
	ProgramHeapLate
	// ProgramLives is ProgramHeap where no field is watched: its probes are removed once they cost too
	// much.
	ProgramLives
	// ProgramCall observes calls and returns of functions that the user asked for.
	ProgramCall
	// ProgramFutex observes calls of futex(2), whose waits are summed up in the kernel.
	ProgramFutex
	// ProgramUnseen records which threads execute unseen synchronisation, and is removed soon. No
	// Site has it.
	ProgramUnseen
	// ProgramWatch observes a variable by a hardware watchpoint instead of a probe.
	ProgramWatch
)

// Target says how the variable of an access is identified.
type Target uint8

const (
	// TargetVariable is the variable itself. Sites that are no accesses have this value too.
	TargetVariable Target = iota
	// TargetCompared is the variable if the address in the record is the variable's: the register
	// may point to something else.
	TargetCompared
	// TargetField is a field of an object; the field is at the recorded address, and the object
	// begins Inside bytes before it.
	TargetField
)

// Site is one operation that one probe observes.
type Site struct {
	At               uint64 // the original address: of a function's entry, a return or an access
	Addr             uint64 // address of the probe
	Offset           uint64 // file offset of Addr
	Class            cheapsite.Class
	Program          Program
	Moves            Moves
	Return           bool // a uretprobe accompanies the probe, at the same function's entry
	BPF              bpf.Site
	Kind             synctab.Kind // kind of the object; none for variables
	Try              bool
	Timed            bool
	RecordsLockKind  bool // an acquire that records the kind of the read-write lock
	ReportsOwnerDead bool // a call of the C library whose result is EOWNERDEAD if the mutex's last owner died holding it
	Marks            bool // of a condition or a mutex: the record says whether it is marked as destroyed
	CountsWaiters    bool // of a condition: the record says how many threads wait
	NoInnerCalls     bool // a wait that releases its mutex itself, not by a call that is probed too
	Atomic           bool
	// Argument is the number of the argument that is the object of a call that synchronises, counted
	// from 1; 0 if there is none.
	Argument int
	// Sync marks an access that synchronises. Values and Delta say how to compute, from its record,
	// the values that an atomic instruction read and wrote. Initial, if HasInitial, is the
	// variable's value when the program starts.
	Sync       bool
	Values     bpf.Values
	Delta      uint64
	Initial    uint64
	HasInitial bool
	// ResultUnused marks an update of which nothing is left in the thread but the value that it wrote,
	// and a read whose value the thread at most prints.
	// Store marks one of those whose written value does not depend on what it read: an exchange.
	ResultUnused bool
	Store        bool
	// Test is what the thread uses of the value that it read, if that is no more than a comparison. Adds marks an
	// update that adds a number which does not depend on what it read.
	Test Test
	Adds bool
	// Polled marks a load by a loop that waits for the value.
	Polled bool
	// AtExit marks a site whose probe is at the instruction where a loop that waits is left, as that of the
	// UnseenProbe. Either may be hit first.
	AtExit bool
	// Untyped marks an access by code of which nothing shows what is atomic: it has no debug information, or is too
	// much to be searched.
	Untyped bool
	// Repeats marks an atomic instruction that tries to make a variable other than 0, by code that does nothing else
	// until it has; Traceless means that the code then does the same however often it failed, and marks
	// the loads of such code too. See package attempt.
	Repeats, Traceless bool
	// Kept marks an access that may acquire or release a lock that is written by hand: all that its probe shows is
	// needed to know whether it does.
	Kept bool
	// Wider marks a load of more bytes than the variable has.
	Wider bool
	// ObjectName is the name of the object that is no argument of a call; "": it is one.
	ObjectName string
	// Callee is the name of the library function that makes the access, or that allocates memory; "" if the
	// instruction at At does. Argument is then, of an access, the one that points to the memory.
	Callee string
	// Lock is what the access is for, if code of an inlined lock makes it, and LockType describes the lock.
	// Internal means that the lock guards only what the language's library keeps for itself.
	Lock     bpf.LockUse
	LockType string
	Internal bool
	Variable string // name of the accessed variable or field; "" if the site is no access
	Target   Target
	Inside   int64 // distance of the field from the beginning of the object, in bytes, for TargetField
	// Field, for TargetField, is the field as a variable without an address. Fields of one name may
	// differ between types of one name.
	Field *variable.Variable
	// Conditional marks an instruction that accesses the variable in some executions and other
	// memory in others; only the accesses of the variable are recorded.
	Conditional bool
	// Array, with ProgramShared, is the array whose element is accessed; nil if the variable is no
	// array. The record has the offset in the array at which the accessed Width bytes begin. Of other variables with
	// names, Width is set at loads of those of which it is not known what they are.
	Array     *variable.IndexedArray
	Width     int
	Function  string             // the function that contains At
	Method    *function.Function // the function that is entered here; nil at other sites
	Signature bpf.Signature      // signature of Method
	Why       string             // one line for people
}

// Plan is what to probe in one file.
type Plan struct {
	File      *elf.File
	Sites     []Site // sorted by Addr, then in program order
	Variables []variable.Variable
	// Shared are the variables that are watched because of Options.Shared.
	Shared []variable.Variable
	// Atomics are the variables of the file that are observed because their type or an atomic
	// instruction shows that they synchronise.
	Atomics []variable.Variable
	// Watchpoints are the variables of this file to watch by hardware.
	Watchpoints []Watchpoint
	// Coverage records, for each variable planned here and for each atomic array, which of this
	// file's accesses are observed.
	Coverage []Coverage
	// UnseenProbes are the probes of the instructions that synchronise without being observed. Each
	// records which threads execute its instruction.
	UnseenProbes []UnseenProbe
	// Pointed are the atomic variables that may be accessed without being observed, from the beginning
	// on or from instructions on that can have no probe, with where their addresses go.
	Pointed []Pointed
	// Notes say what cannot be observed in this file.
	Notes []plural.Note
	// Objects are the objects of Options.Objects that the file defines.
	Objects []variable.Variable
	// Calls is the number of functions of the table that the file holds.
	Calls int
	// Quits is the number of those that end the process: alone they are nothing to observe.
	Quits int
	// Namesakes are the functions that have the names of calls of the C library and are not the C
	// library's. They are not observed.
	Namesakes []Namesake
	// Methods is the number of entries of functions that match Options.On, those of inlined copies
	// included.
	Methods int
	// Siteless is the number of functions whose accesses through pointers have no sites because there is no
	// more room.
	Siteless int
	// LocksByPointer are the lock functions of the C library whose addresses the file takes, and calls by no stub: its
	// calls of these are not seen once the locks of another file are left out.
	LocksByPointer []string
	// Cached reports that the plan was made by an earlier run.
	Cached bool

	settled map[uint64]bool  // instructions that synchronise, and order nothing that is not observed otherwise
	unseen  *elf.Unseen      // computed at first use
	keeping keeping          // of unseen, once the plan is made
	source  *symbolize.Table // computed at first use
	byName  map[string]*variable.Variable
}

// Namesake is a function that has the name of a call of the C library and is not the C library's.
type Namesake struct {
	Name string
	Addr uint64
	Why  string // why it is not, as words that describe the function
}

// Variable returns the observed variable of the file that has the name.
func (p *Plan) Variable(name string) (v variable.Variable, ok bool) {
	if known := p.byName[name]; known != nil {
		return *known, true
	}
	return v, false
}

// indexNames builds the index for Variable; it is called once all variables are known.
func (p *Plan) indexNames() {
	p.byName = map[string]*variable.Variable{}
	for _, vars := range [][]variable.Variable{p.Variables, p.Atomics, p.Shared} {
		for i := range vars {
			if v := &vars[i]; p.byName[v.Name] == nil {
				p.byName[v.Name] = v
			}
		}
	}
}

// Unseen returns the synchronisation in the file's own code that no call of the table makes; see
// elf.File.UnseenSync. It searches the file once.
func (p *Plan) Unseen() (elf.Unseen, error) {
	b := builder{plan: p}
	return b.unseen()
}

// Object returns the name in Options.Objects of the object at an address of the file.
func (p *Plan) Object(addr uint64) (name string, ok bool) {
	for i := range p.Objects {
		if p.Objects[i].Addr == addr {
			return p.Objects[i].Name, true
		}
	}
	return "", false
}

// Planner makes plans for a program and its libraries, in the order in which
// they are loaded. It is not safe for concurrent use.
type Planner struct {
	fields            []*watchedField
	namesErr          error // error in the names of Options.Watch, nil if there is none
	opts              Options
	files             []*elf.File
	found             map[string]variable.Variable
	located           map[string]variable.Variable // by name in Options.Objects
	failed            map[string]error             // the latest reason why a name was not found
	atomic            []variable.Variable          // atomic variables of the files planned so far
	registers         int                          // number of hardware watchpoints in use
	used              room                         // by the plans so far
	escaping          []string                     // names of Watch some of whose accesses probes do not observe
	chosenForHardware map[string]bool              // those of them that are watched by hardware

	matched []bool   // by index in Options.On
	misfits []string // by index in Options.On; see function.NotFound
	refused []string // by index in Options.On: why lines cannot be observed; "" if they can

	functions []function.Function // that patterns of Options.On have matched
	tableSum  func() [sha256.Size]byte
}

// NewPlanner returns a planner.
func NewPlanner(opts Options) *Planner {
	p := &Planner{opts: opts, found: map[string]variable.Variable{}, located: map[string]variable.Variable{}, failed: map[string]error{}, chosenForHardware: map[string]bool{}, matched: make([]bool, len(opts.On)), misfits: make([]string, len(opts.On)), refused: make([]string, len(opts.On)), tableSum: sync.OnceValue(opts.Table.Sum)}
	p.fields, p.opts.Watch, p.namesErr = fieldsOf(opts.Watch)
	return p
}

// Unresolved returns an error that names each variable that has not been found in any file so far,
// and, unless another file may still be loaded, each object and each pattern; nil if all have been
// found.
func (p *Planner) Unresolved() error {
	errs := p.unresolvedFields()
	for _, name := range p.names() {
		if _, ok := p.found[name]; !ok {
			errs = append(errs, p.failed[name])
		}
	}
	for i, why := range p.refused {
		if why != "" && !p.matched[i] {
			errs = append(errs, &function.NotFound{Pattern: p.opts.On[i], Refused: why})
		}
	}
	if !p.mayLoad() {
		for _, name := range p.opts.Objects {
			if _, ok := p.located[name]; !ok {
				errs = append(errs, p.failed[name])
			}
		}
		for _, i := range p.Unmatched() {
			if p.refused[i] != "" {
				continue
			}
			errs = append(errs, &function.NotFound{Pattern: p.opts.On[i], Near: function.Near(p.files, p.opts.On[i]), Misfit: p.misfits[i]})
		}
	}
	return errors.Join(errs...)
}

// Found returns the variables that have been found so far, by the names in Options.Watch and
// Options.Hardware. Fields of types are not included.
func (p *Planner) Found() map[string]variable.Variable { return maps.Clone(p.found) }

// Matching calls yield for each function that the pattern of Options.On with a text has matched so far.
func (p *Planner) Matching(pattern string) iter.Seq[*function.Function] {
	return func(yield func(*function.Function) bool) {
		on := slices.IndexFunc(p.opts.On, func(o function.Pattern) bool { return o.Text == pattern })
		for i := range p.functions {
			if slices.Contains(p.functions[i].Patterns, on) && !yield(&p.functions[i]) {
				return
			}
		}
	}
}

// Plan returns the plan of one more file.
func (p *Planner) Plan(f *elf.File) (*Plan, error) {
	if p.namesErr != nil {
		return nil, p.namesErr
	}
	if len(p.files) == 0 && p.opts.OnlyThreaded && !createsThreads(f, p.opts.Table) && !f.HasRunPath() {
		p.opts.Shared, p.opts.Pointers = false, false
	}
	key, keep := p.key(f)
	var plan *Plan
	if keep {
		plan = p.load(f, key)
	}
	if plan == nil {
		var err error
		if plan, err = p.make(f); err != nil {
			return nil, err
		}
		if keep {
			p.store(plan, key)
		}
	}
	plan.keeping = keeping{p.opts.Cache, p.opts.Tool}
	p.use(plan)
	return plan, nil
}

// watchNamed watches the variables that were asked for, as far as they have been found.
func (p *Planner) watchNamed(b *builder) error {
	for _, name := range p.opts.Watch {
		v, ok := p.found[name]
		if !ok {
			continue
		}
		if v.File == b.plan.File {
			b.plan.Variables = append(b.plan.Variables, v)
		}
		if err := p.watch(b, v); err != nil {
			return err
		}
	}
	return nil
}

// make makes the plan of one more file.
func (p *Planner) make(f *elf.File) (*Plan, error) {
	if p.opts.Contended {
		return p.makeContended(f)
	}
	defer f.Hold()()
	image := cheapsite.NewImage(f)
	image.Terse = p.opts.Terse
	own := p.isOwn(f)
	b := &builder{opts: p.opts, room: p.room(), plan: &Plan{File: f}, image: image, code: variable.NewCode(f, image.Arrivals), arch: f.Arch()}
	b.findLines(p)
	if err := b.calls(); err != nil {
		return nil, fmt.Errorf("find the synchronisation calls of %s: %w", f.Name(), err)
	}
	p.files = append(p.files, f)
	searched := own && p.searchable(f)
	b.onlyDescribed, b.undescribed = p.onlyDescribed(f), p.isUndescribed(f)
	shared := p.opts.Shared && searched
	b.allPointers = p.opts.Pointers && searched
	if p.opts.Shared && own && !searched {
		b.note("%s has no debug information: what its threads share is not watched; compile it with -g, install its debug symbols, or add --watch-shared", path.Base(f.Name()))
	}
	b.prepareSearches()
	if shared {
		defer b.searchAhead()()
	}
	if err := p.resolve(); err != nil {
		return nil, err
	}
	p.locate(b)
	if err := p.watchpoints(b); err != nil {
		return nil, err
	}
	if err := p.watchNamed(b); err != nil {
		return nil, err
	}
	if err := p.atomics(b); err != nil {
		return nil, err
	}
	if err := p.watchFields(b, f); err != nil {
		return nil, err
	}
	if shared {
		if err := b.shared(slices.Concat(slices.Collect(maps.Values(p.found)), b.plan.Atomics)); err != nil {
			return nil, fmt.Errorf("find the variables of %s: %w", f.Name(), err)
		}
	}
	if err := b.throughPointers(b.allPointers); err != nil {
		return nil, fmt.Errorf("find the accesses through pointers of %s: %w", f.Name(), err)
	}
	b.inlinedLocks()
	b.attempts()
	if err := b.methods(p); err != nil {
		return nil, fmt.Errorf("find the functions asked for in %s: %w", f.Name(), err)
	}
	b.onlyCode()
	if p.opts.Futexes {
		b.futexCalls()
	}
	if err := b.stubCalls(); err != nil { // last: they take no room from what is observed from the beginning
		return nil, fmt.Errorf("plan the stubs of lock functions in %s: %w", f.Name(), err)
	}
	if err := b.finish(); err != nil {
		return nil, err
	}
	if err := b.planUnseen(); err != nil {
		return nil, fmt.Errorf("find what synchronises in %s: %w", f.Name(), err)
	}
	if err := b.markPolled(); err != nil {
		return nil, err
	}
	b.markUntyped()
	b.markExits()
	b.plan.indexNames()
	for _, problem := range f.Problems() {
		b.note("part of %s could not be read, so calls or names may be missing: %v", f.Name(), problem)
	}
	return b.plan, nil
}

// resolve searches for the names that no earlier file defined. An error in the name itself
// (ambiguous, wrong type) ends the search, because no other file can correct it.
func (p *Planner) resolve() error {
	for _, name := range p.names() {
		if _, ok := p.found[name]; ok {
			continue
		}
		v, err := variable.FindIn(p.files, name)
		if err == nil {
			p.found[name] = v
			continue
		}
		p.failed[name] = err
		var ve *variable.Error
		if !errors.As(err, &ve) {
			return err
		}
		if ve.Reason != variable.NotFound && ve.Reason != variable.NoDebugInfo {
			return err
		}
	}
	return nil
}

// locate searches for the objects that no earlier file defined.
func (p *Planner) locate(b *builder) {
	for _, name := range p.opts.Objects {
		if _, ok := p.located[name]; ok {
			continue
		}
		v, err := variable.LocateIn(p.files, name)
		if err != nil {
			p.failed[name] = err
			continue
		}
		p.located[name] = v
		if v.File == b.plan.File {
			b.plan.Objects = append(b.plan.Objects, v)
		}
	}
}

// demangled returns the name of a C++ or Rust symbol without clone suffixes, or "".
func demangled(linkage string) string {
	s, err := demangle.ToString(linkage, demangle.NoClones, demangle.MaxLength(12))
	if err != nil {
		return ""
	}
	return s
}

// newSite returns a site for the instruction at an address, in a function, whose probe is at the
// address that cheapsite has chosen.
func newSite(at uint64, where cheapsite.Site, function string) Site {
	return Site{At: at, Addr: where.Addr, Class: where.Class, Why: where.Why, Function: function}
}

// follows reports whether a site shares its probe with the site before it.
func (s *Site) follows(before *Site) bool {
	return s.Addr == before.Addr && s.Program == before.Program
}

// PerhapsAtomic reports whether the site is that of a plain load or store through a pointer that may be one of
// an atomic built-in or type.
func (s *Site) PerhapsAtomic() bool {
	op := bpf.Op(s.BPF.Op)
	return s.Program == ProgramPointer && (op == bpf.OpRead || op == bpf.OpWrite) && scalar(s.Width)
}

// Loads returns the number of bytes that the site's instruction loads, of which the source may not read all; 0 if
// it is no load, or if that is not known.
func (s *Site) Loads() int {
	if bpf.Op(s.BPF.Op) != bpf.OpRead || s.Callee != "" || s.Width == extendedSize {
		return 0
	}
	return s.Width
}

// ObservesAccess reports whether the site is that of an access of memory.
func (s *Site) ObservesAccess() bool {
	switch s.Program {
	case ProgramShared, ProgramAtomic, ProgramPointer, ProgramPointerAtomic:
		return true
	}
	return s.Program == ProgramNamed && s.Variable != ""
}

// inOrder sorts the sites of accesses at one address by the instructions that they observe, where several BPF
// programs have such sites there: sites that share a probe are executed together, and must not be executed
// around those of another program.
func inOrder(sites []Site) {
	for len(sites) > 0 {
		n := 1
		for n < len(sites) && sites[n].Addr == sites[0].Addr {
			n++
		}
		here := sites[:n]
		sites = sites[n:]
		if access := slices.IndexFunc(here, Site.isOrdered); access < 0 || !slices.ContainsFunc(here[access:], func(s Site) bool {
			return s.isOrdered() && s.Program != here[access].Program
		}) {
			continue
		}
		slices.SortStableFunc(here, func(a, b Site) int {
			switch x, y := a.isOrdered(), b.isOrdered(); {
			case x && y:
				return cmp.Or(cmp.Compare(a.At, b.At), a.edgeFirst(&b), cmp.Compare(a.Program, b.Program))
			case x:
				return 1
			case y:
				return -1
			}
			return 0
		})
	}
}

// Chained reports whether the i-th site has no probe of its own, because it shares that of the site
// before it.
func (p *Plan) Chained(i int) bool { return i > 0 && p.Sites[i].follows(&p.Sites[i-1]) }

// isCode reports whether the bytes at an address are an instruction: control arrives there, or debug information
// describes them, as compilers do that put no data among the code.
func (b *builder) isCode(addr uint64) bool {
	if b.image.IsCode(addr) {
		return true
	}
	e := b.image.ExtentAt(addr)
	return e != nil && !e.Untiled && len(b.libraryCode().spans.At(addr)) > 0
}

// onlyCode removes the sites of accesses, of variables that the user did not name, where there may be data. An
// access that orders threads synchronises unseen then.
func (b *builder) onlyCode() {
	n := 0
	b.plan.Sites = slices.DeleteFunc(b.plan.Sites, func(s Site) bool {
		if s.Program != ProgramShared && s.Program != ProgramAtomic && s.Program != ProgramPointerAtomic || b.isCode(s.At) {
			return false
		}
		if s.Atomic || s.Sync {
			b.leftOut = append(b.leftOut, elf.UnseenSite{Addr: s.At, What: elf.UnseenAtomic})
		}
		n++
		return true
	})
	if n > 0 {
		b.note("%d {instruction|instructions} of %s that {accesses|access} variables {is|are} not seen: control is not seen to arrive there, so that {it|they} may be data", n, path.Base(b.plan.File.Name()))
	}
}

// finish sorts the sites, sets the function names of accesses, and links the sites that share a
// probe.
func (b *builder) finish() error {
	sites := b.plan.Sites
	slices.SortStableFunc(sites, func(a, b Site) int {
		return cmp.Or(cmp.Compare(a.Addr, b.Addr), cmp.Compare(a.Program, b.Program), cmp.Compare(a.At, b.At), a.edgeFirst(&b))
	})
	inOrder(sites)
	run := 0
	for i := range sites {
		if s := &sites[i]; s.Variable != "" {
			s.Function = b.functionAt(s.At)
		}
		off, err := b.plan.File.Offset(sites[i].Addr)
		if err != nil {
			return fmt.Errorf("place a probe of %s in %s: %w", sites[i].Function, b.plan.File.Name(), err)
		}
		sites[i].Offset = off
		if i > 0 && sites[i].follows(&sites[i-1]) {
			if run++; run >= bpf.MaxChain {
				return fmt.Errorf("%s needs more than %d probes at 0x%x: watch fewer variables", sites[i].Function, bpf.MaxChain, sites[i].Addr)
			}
			sites[i-1].BPF.Next = uint32(i) + 1
			continue
		}
		run = 0
	}
	b.settleMoves()
	return nil
}
