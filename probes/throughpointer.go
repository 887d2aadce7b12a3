package probes

import (
	"debug/dwarf"
	"errors"
	"fmt"
	"maps"
	"path"
	"regexp"
	"runtime"
	"slices"
	"sync/atomic"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/internal/safely"
	"github.com/tracepredict/tracepredict/probes/cheapsite"
	dw "github.com/tracepredict/tracepredict/probes/dwarf"
	"github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/field"
	"github.com/tracepredict/tracepredict/probes/insn"
	"github.com/tracepredict/tracepredict/probes/pointer"
	"github.com/tracepredict/tracepredict/probes/symbolize"
	"github.com/tracepredict/tracepredict/probes/variable"
)

// This file plans the accesses of a file's own code to memory that other threads may reach through
// pointers: with Options.Pointers all of the program's, else those of code of atomic types. That code is known
// by the debug information: what it loads and stores looks like any other access. Of other atomic instructions
// it is not known which plain loads and stores belong to them, so that they are left as synchronisation that is
// not observed.

// maxPointedText bounds the size of code, in bytes, that is searched for accesses of atomic code through
// pointers.
const maxPointedText = 2 << 20

// throughPointers plans the probes of the accesses of this file through pointers, all of them or those of
// atomic code.
func (b *builder) throughPointers(all bool) error {
	f := b.plan.File
	if !all && !b.seesPointers() {
		return nil
	}
	found, err := b.searches.pointers()
	if err != nil {
		b.note("accesses through pointers of %s are not seen: %v", path.Base(f.Name()), err)
		return nil
	}
	b.countSites()
	planned := map[uint64]bool{}
	b.accessAt = make(map[uint64]bool, len(b.plan.Sites)+len(found.Accesses))
	for i := range b.plan.Sites {
		planned[b.plan.Sites[i].At] = true
		b.accessAt[b.plan.Sites[i].At] = b.plan.Sites[i].ObservesAccess()
	}
	accesses, others := b.ownPointerAccesses(found, all)
	most := maxAtomicSites + len(b.plan.Sites)
	if all {
		most = b.room.sites
		if err := b.libraryCalls(found.Calls, most); err != nil {
			return fmt.Errorf("the calls of library functions: %w", err)
		}
	}
	without := map[uint64]bool{}
	if all {
		without = siteless(f, found, accesses, planned, most-len(b.plan.Sites))
		b.plan.Siteless = len(without)
	}
	wanted := func(p *throughPointer) bool { return !planned[p.Addr] && (all || p.atomic) && !without[p.Func.Lo] }
	sites, err := b.placeAll(accesses, wanted, others)
	if err != nil {
		return err
	}
	total := 0
	for i := range sites {
		total += len(sites[i])
	}
	b.plan.Sites = slices.Grow(b.plan.Sites, total)
	omitted, unseen := 0, len(found.Unknown)
	for i := range accesses {
		p := &accesses[i]
		if planned[p.Addr] || !all && !p.atomic {
			continue
		}
		if without[p.Func.Lo] || len(b.plan.Sites) >= most {
			omitted++
			b.leaveOut(p)
			continue
		}
		if len(sites[i]) == 0 {
			unseen++
			b.leaveOut(p)
		}
		b.plan.Sites, sites[i] = append(b.plan.Sites, sites[i]...), nil
	}
	if all {
		if err := b.allocations(found.Calls, most); err != nil {
			return fmt.Errorf("the calls that allocate memory: %w", err)
		}
	}
	if all && omitted > 0 {
		b.note("accesses through pointers in %d {function|functions} of %s are not seen (%d in all): there would be more than %d sites, and functions that lock have theirs first, then those that calls lead to from there", len(without), path.Base(f.Name()), omitted, most)
	}
	if all && unseen > 0 {
		b.note("%d {instruction|instructions} of %s that may access memory through pointers {is|are} not seen", unseen, path.Base(f.Name()))
	}
	return nil
}

// ownPointerAccesses returns the accesses through pointers by the program's own code, with all also those of
// thread-local variables whose address escapes, and what accesses there are next to them, by whichever code.
func (b *builder) ownPointerAccesses(found *pointer.Census, all bool) ([]throughPointer, neighbours) {
	candidates := found.Accesses
	if all {
		candidates = slices.Concat(candidates, b.escapedLocals(found))
	}
	accesses := make([]throughPointer, 0, len(candidates))
	others := neighbours{writes: map[uint64]bool{}, atomics: map[uint64]bool{}}
	for _, a := range candidates {
		p := b.pointerAccess(a)
		if own := p.atomic || a.Locked || !b.ofRustLibrary(a.Addr) && b.described(a.Addr); own && !b.ofCLibrary(a.Addr) {
			accesses = append(accesses, p)
		}
		b.accessAt[a.Addr] = true
		if a.Operand.Write {
			others.writes[a.Addr] = true
		}
		if a.Locked || p.atomic {
			others.atomics[a.Addr] = true
		}
	}
	return accesses, others
}

// placedAtOnce is the number of extents of code whose accesses one goroutine places at a time.
const placedAtOnce = 64

// placeAll plans the probes of the wanted accesses on all processors, each like pointerSites. How many probes
// there are at an address decides about others of the same extent of code only, which one goroutine plans in
// their order.
func (b *builder) placeAll(accesses []throughPointer, wanted func(*throughPointer) bool, others neighbours) ([][]Site, error) {
	groups := slices.Collect(slices.Chunk(b.byExtent(accesses, wanted), placedAtOnce))
	sites := make([][]Site, len(accesses))
	errs := make([]error, len(groups))
	progress := b.progress(1)
	var next, done atomic.Int64
	var running safely.Group
	for range min(runtime.GOMAXPROCS(0), len(groups)) {
		running.Go(func() {
			own := *b
			own.image, own.sitesAt = b.image.Fork(), maps.Clone(b.sitesAt)
			for n := int(next.Add(1)) - 1; n < len(groups); n = int(next.Add(1)) - 1 {
				errs[n] = own.placeSome(slices.Concat(groups[n]...), accesses, others, sites)
				if n := int(done.Add(1)); progress != nil {
					progress(n, len(groups))
				}
			}
		})
	}
	running.Wait()
	for i := range sites {
		for j := range sites[i] {
			b.sitesAt[sites[i][j].Addr]++
		}
	}
	return sites, errors.Join(errs...)
}

// byExtent returns the indexes of the wanted accesses, those of each extent of code together and in their order.
func (b *builder) byExtent(accesses []throughPointer, wanted func(*throughPointer) bool) (all [][]int) {
	b.image.Landings() // computed here: the goroutines only read them
	b.plan.frames(0)
	at := map[uint64]int{}
	for i := range accesses {
		p := &accesses[i]
		if !wanted(p) {
			continue
		}
		key := p.Addr
		if e := b.image.ExtentAt(p.Addr); e != nil {
			key = e.Lo
		}
		n, known := at[key]
		if !known {
			n = len(all)
			at[key], all = n, append(all, nil)
		}
		all[n] = append(all[n], i)
	}
	return all
}

// placeSome plans the probes of the accesses with these indexes.
func (b *builder) placeSome(indexes []int, accesses []throughPointer, others neighbours, sites [][]Site) (err error) {
	for _, i := range indexes {
		if sites[i], err = b.pointerSites(accesses[i], others); err != nil {
			return fmt.Errorf("the access at 0x%x: %w", accesses[i].Addr, err)
		}
	}
	return nil
}

// leaveOut makes an access of an atomic type that cannot be observed one that synchronises unseen. Atomic
// instructions that are not observed are known as such anyway.
func (b *builder) leaveOut(p *throughPointer) {
	if p.atomic && !p.Locked {
		b.leftOut = append(b.leftOut, elf.UnseenSite{Func: p.Func, Addr: p.Addr, What: elf.UnseenAtomic})
	}
}

// seesPointers reports whether what code of atomic types in the file accesses through pointers is observed.
func (b *builder) seesPointers() bool {
	f := b.plan.File
	return b.searchesAtomics() && b.arch == insn.AMD64 && !f.Restartable() && f.TextSize() <= maxPointedText && HasDebugInfo(f)
}

// followsPointers reports whether all accesses of the file's code through pointers are observed.
func (b *builder) followsPointers() bool { return b.allPointers && b.arch == insn.AMD64 }

// HasDebugInfo reports whether a file has debug information, in itself or in a separate file.
func HasDebugInfo(f *elf.File) bool {
	if len(f.DebugSections("info")) > 0 {
		return true
	}
	d, err := f.DebugFile()
	return err == nil && d != nil && len(d.DebugSections("info")) > 0
}

// neighbours are instructions of a file that access memory through pointers, by address. The probe of an access
// of data may pass writes of data, which are observed themselves, but no atomic access: what comes before a
// store that publishes it must be recorded before it.
type neighbours struct{ writes, atomics map[uint64]bool }

// throughPointer is an access through a pointer that is planned.
type throughPointer struct {
	pointer.Access
	as    variable.Access
	needs insn.RegSet // the registers of its address
	// atomic reports that the debug information says that the access is atomic.
	atomic bool
}

// pointerAccess describes an access through a pointer.
func (b *builder) pointerAccess(a pointer.Access) throughPointer {
	m := a.Operand
	p := throughPointer{Access: a, needs: insn.RegSet(0).With(m.Base).With(m.Index)}
	p.as = variable.Access{Addr: a.Addr, Len: a.Len, Width: m.Size, Base: m.Base, Index: m.Index, Scale: m.Scale, Disp: m.Disp, Atomic: a.Locked}
	switch {
	case m.Read && m.Write:
		p.as.Kind = variable.Update
	case m.Write:
		p.as.Kind = variable.Write
	}
	divisible := p.as.Kind == variable.Update && !a.Locked
	p.atomic = !a.Repeats && scalar(m.Size) && !divisible && (b.atomicCode(p) || a.Locked && b.lockRole(a.Addr).use != bpf.LockNone || b.atomicMember(p))
	return p
}

// pointerSites plans the probes of one access; none if it cannot be observed.
func (b *builder) pointerSites(p throughPointer, others neighbours) ([]Site, error) {
	m := p.Operand
	if m.Size == 0 || m.Size > 64 || m.Segment && m.Base != insn.NoReg && m.Index != insn.NoReg {
		return nil, nil
	}
	in, err := b.image.Decode(p.Addr)
	if err != nil {
		return nil, err
	}
	if p.Repeats {
		return b.stringSites(p, &in)
	}
	destroyed := in.Writes&p.needs != 0 || in.BitIndex != insn.NoReg
	if p.Locked {
		return b.lockedSites(p, destroyed)
	}
	if p.atomic && destroyed && in.ValueReg != insn.NoReg {
		if sites, err := b.rememberingSites(p, &in); len(sites) > 0 || err != nil {
			return sites, err
		}
	}
	s, ok, err := b.plainSite(p, &in, destroyed, others)
	if !ok || err != nil {
		return nil, err
	}
	return []Site{s}, nil
}

// rememberingSites plans the two probes of an atomic load into a register of its own address: one before it,
// which remembers the address, and one behind it, which has the value. There is none if one has no place.
func (b *builder) rememberingSites(p throughPointer, in *insn.Inst) ([]Site, error) {
	before, err := b.placePlain(p, true, neighbours{})
	if err != nil || before.Class == cheapsite.Refused || b.sitesAt[before.Addr] >= bpf.MaxChain {
		return nil, err
	}
	w, _ := valueOf(p, in)
	next, loads := in.End(), b.behindLoad(p.as)
	behind, err := b.image.Place(cheapsite.Want{
		At: p.Addr, Sense: cheapsite.After, Reads: insn.RegSet(0).With(w.reg),
		Mem:  []insn.Mem{{Base: insn.NoReg, Index: insn.NoReg, Fixed: true, Size: 1, Read: true}}, // any: so it is behind
		Stop: func(addr uint64) bool { return loads(addr) || addr > next },
	})
	if err != nil || w.second != bpf.FromReg || !b.free(behind, p.Addr) {
		return nil, err
	}
	sites := []Site{b.valuedSite(p, syncWant{op: bpf.OpRead, extra: insn.NoReg}, before), b.valuedSite(p, w, behind)}
	for i, reach := range []bpf.Reach{bpf.ReachRemember, bpf.ReachRemembered} {
		b.sitesAt[sites[i].Addr]++
		sites[i].order()
		sites[i].BPF.Access.Reach = uint8(reach)
	}
	return sites, nil
}

// lockedSites plans the probes of an atomic instruction: one, or two of a compare-and-exchange, which may
// fail. They sit behind it.
func (b *builder) lockedSites(p throughPointer, destroyed bool) (sites []Site, err error) {
	if destroyed || !scalar(p.Operand.Size) {
		return nil, nil
	}
	for _, w := range b.syncWants(p.as) {
		where, err := b.placePointed(p, w)
		if err != nil || !b.free(where, p.Addr) {
			return nil, err
		}
		sites = append(sites, b.valuedSite(p, w, where))
	}
	for i := range sites {
		b.sitesAt[sites[i].Addr]++
		sites[i].order()
	}
	return sites, nil
}

// free reports whether a probe can be put behind an access.
func (b *builder) free(where cheapsite.Site, access uint64) bool {
	return where.Class != cheapsite.Refused && where.Addr != access && b.sitesAt[where.Addr] < bpf.MaxChain
}

// order makes a site one of an access that orders threads.
func (s *Site) order() {
	s.Program, s.Atomic, s.Conditional = ProgramPointerAtomic, true, false
	s.BPF.Flags |= bpf.SiteOrders
}

// plainSite plans the probe of an access that is no atomic instruction; ok is false if it cannot be
// observed. Of code of an atomic type, and wherever it is as cheap, the probe also has the value, which
// shows how accesses are ordered: a load's is then behind it.
func (b *builder) plainSite(p throughPointer, in *insn.Inst, destroyed bool, others neighbours) (s Site, ok bool, err error) {
	where, err := b.placePlain(p, destroyed, others)
	if err != nil {
		return Site{}, false, err
	}
	w, valued := valueOf(p, in)
	if valued && !destroyed {
		behind, err := b.placePointed(p, w)
		if err != nil {
			return Site{}, false, err
		}
		valued = b.free(behind, p.Addr) && (p.atomic || behind.Class == cheapsite.Emulated || where.Class != cheapsite.Emulated)
		if valued {
			where = behind
		}
	}
	if where.Class == cheapsite.Refused || b.sitesAt[where.Addr] >= bpf.MaxChain {
		return Site{}, false, nil
	}
	if !valued || destroyed {
		w.second = bpf.FromMemory
		if p.as.Kind != variable.Read {
			w.second = bpf.FromNowhere // whether it is done already depends on the place
		}
	}
	b.sitesAt[where.Addr]++
	s = b.valuedSite(p, w, where)
	if p.atomic {
		s.order()
	}
	return s, true, nil
}

// valueOf returns what to record of a load or store whose value is in a register, or a constant.
func valueOf(p throughPointer, in *insn.Inst) (w syncWant, ok bool) {
	w = syncWant{op: accessOps[p.as.Kind], extra: insn.NoReg, spin: p.as.Kind == variable.Read}
	switch {
	case p.as.Kind == variable.Update || !scalar(p.Operand.Size):
		return w, false
	case in.ValueReg != insn.NoReg:
		w.second, w.reg = bpf.FromReg, in.ValueReg
	case in.HasImm && p.as.Kind == variable.Write:
		w.second, w.imm = bpf.FromImm, in.ValueImm
	default:
		return w, false
	}
	return w, true
}

// placePointed places a probe that also needs the values of an access, behind it.
func (b *builder) placePointed(p throughPointer, w syncWant) (cheapsite.Site, error) {
	m := p.Operand
	m.Read, m.Write = true, false
	next, loads := p.Addr+uint64(p.Len), b.behindLoad(p.as)
	want := cheapsite.Want{At: p.Addr, Sense: cheapsite.After, Reads: p.needs.With(w.extra), Mem: []insn.Mem{m}}
	if w.second == bpf.FromReg {
		want.Reads = want.Reads.With(w.reg)
	}
	want.Stop = func(addr uint64) bool { return loads(addr) || (w.atNext || b.opts.EntrySites) && addr > next }
	return b.image.Place(want)
}

// placePlain places a probe that needs the address of an access only.
func (b *builder) placePlain(p throughPointer, destroyed bool, others neighbours) (cheapsite.Site, error) {
	want := cheapsite.Want{At: p.Addr, Sense: cheapsite.After, Reads: p.needs,
		Stop: func(addr uint64) bool { return addr != p.Addr && others.atomics[addr] },
		Pass: func(addr uint64) bool { return others.writes[addr] }}
	stay := func(addr uint64) bool { return addr != p.Addr }
	if destroyed {
		want.Stop = stay
	}
	where, err := b.image.Place(want)
	if err == nil && where.Class != cheapsite.Refused && b.sitesAt[where.Addr] >= bpf.MaxChain && where.Addr != p.Addr {
		want.Stop = stay
		return b.image.Place(want)
	}
	return where, err
}

// valuedSite returns the site of an access, with the values that are wanted.
func (b *builder) valuedSite(p throughPointer, w syncWant, where cheapsite.Site) Site {
	m := p.Operand
	s := newSite(p.Addr, where, "")
	s.Program, s.Variable, s.Conditional = ProgramPointer, Unnamed, true
	s.ResultUnused = b.resultUnused(p.as) || p.atomic && slices.ContainsFunc(b.plan.frames(p.Addr), func(f symbolize.Frame) bool { return countingNames.MatchString(f.Linkage) })
	if p.atomic || p.as.Atomic {
		s.Test, s.Adds = b.use(p.as)
	}
	s.BPF = bpf.Site{Op: uint8(w.op), Action: uint8(bpf.ActionEmit), When: w.when, SpDelta: int32(where.SPDelta)}
	if m.Segment {
		s.BPF.ObjectFrom, s.BPF.ObjectDisp = uint8(bpf.FromThread), m.Disp
		if m.Base != insn.NoReg {
			m.Index, m.Scale = m.Base, 1
		}
	} else if m.Base != insn.NoReg {
		s.BPF.ObjectFrom, s.BPF.ObjectReg, s.BPF.ObjectDisp = uint8(bpf.FromReg), uint8(m.Base), m.Disp
	} else {
		s.BPF.ObjectFrom, s.BPF.ObjectDisp = uint8(bpf.FromFixed), m.Disp-int64(where.Addr)
	}
	d := &s.BPF.Access
	if m.Index != insn.NoReg {
		d.IndexReg, d.Scale = uint8(m.Index), max(m.Scale, 1)
	}
	d.Span, d.Width = uint32(m.Size), uint8(min(m.Size, 8))
	d.ValueFrom, d.Imm = uint8(w.second), w.imm
	if w.second == bpf.FromReg {
		d.ValueReg = uint8(w.reg)
	}
	if w.extra != insn.NoReg {
		d.Extra = 1 + uint8(w.extra)
	}
	if w.spin {
		s.BPF.Flags |= bpf.SiteSpin
	}
	s.Values, s.Delta, s.Width = w.values, w.delta, m.Size
	s.Store = w.exchange && s.ResultUnused
	if w.when != 0 && !b.opts.Terse {
		s.Why = fmt.Sprintf("%s, if it %s", s.Why, map[uint8]string{ifEqual: "succeeded", ifNotEqual: "failed"}[w.when])
	}
	return s
}

// Unnamed stands for the variable in a site of an access through a pointer.
const Unnamed = "behind a pointer"

// atomicNames begin the mangled names of the functions of which atomic types consist: of libstdc++,
// libc++, Boost and Rust.
var atomicNames = regexp.MustCompile(`^_ZN[VKRO]*(St13__atomic_base|St6atomicI|St11atomic_flag|St13__atomic_impl|St8__detail\d+__(waiter|enters_wait|bare_wait|atomic|platform_)|St12__atomic_ref|St3__1\d+__cxx_atomic|5boost7atomics|4core4sync6atomic)` +
	`|^_R(?:I|N[a-z]|[MX](?:s[0-9A-Za-z]*_)?)*C(?:s[0-9A-Za-z]*_)?4core4sync6atomic`)

// countingNames match the mangled names of the functions by which std::weak_ptr becomes an owner, and of those by
// which Rust's Arc is cloned. They look at the number of owners only to add one, unless it is 0 or too great.
var countingNames = regexp.MustCompile(`^_ZNK?St16_Sp_counted_base.*(_M_add_ref_lock|_M_get_use_count)` +
	`|^_ZN.*alloc\.\.sync\.\.Arc\$LT\$.*core\.\.clone\.\.Clone\$GT\$5clone|^_R.*5alloc4sync.*3Arc.*4core5clone5Clone5clone`)

// ownersName begins the mangled names of the functions of the counts of std::shared_ptr's owners. These have
// four bytes each, and both are loaded at once; the other words of that object are not atomic.
var ownersName = regexp.MustCompile(`^_ZNK?St16_Sp_counted_base`)

const (
	ownersSize = 4
	ownersAt   = 8 // the counts, in the object
)

// waitNames begin the mangled names of the functions by which atomic types of libstdc++ wait in the kernel and
// wake. What they order, the values say that are loaded and stored around them.
var waitNames = regexp.MustCompile(`^_ZNSt8__detail\d+__platform_(wait|notify)`)

// ofAtomicType reports whether an instruction belongs to a function of an atomic type. What such code loads and
// stores orders threads, though the instructions look like any other.
func (b *builder) ofAtomicType(addr uint64) bool {
	return b.isAtomicPart(b.plan.frames(addr)[0].Linkage, addr)
}

// isAtomicPart reports whether an instruction that compilers say is of a function of this mangled name is a part of a
// function of an atomic type.
func (b *builder) isAtomicPart(name string, addr uint64) bool {
	return b.isAtomicName(name) && b.isPart(name, addr)
}

// isAtomicName reports whether a mangled name is that of a function of an atomic type. Most accesses are asked for
// in the order of their addresses, so that the name is the last one again.
func (b *builder) isAtomicName(name string) bool {
	if name != b.lastName {
		b.lastName, b.lastIsAtomic = name, atomicNames.MatchString(name)
	}
	return b.lastIsAtomic
}

// modifyingNames, storingNames and loadingNames match the mangled names of functions of atomic types that read and
// write at once, that store, and that load.
var (
	modifyingNames = regexp.MustCompile(`\d\w*?(?:fetch_|exchange|test_and_set|atomic_(?:add|sub|swap|and|nand|or|xor|u?max|u?min))|E(?:pL|mI|pp|mm|aN|oR|eO)E`)
	storingNames   = regexp.MustCompile(`\d(?:\w*?_)?store|\d(?:\w*?_)?clear|EaSE`)
	loadingNames   = regexp.MustCompile(`\d(?:\w*?_)?load|Ecv`)
)

// isPart reports whether an instruction that compilers say is of a function of an atomic type does what that is for.
// They move instructions, and say of one that computes an argument that it is the function's.
func (b *builder) isPart(name string, addr uint64) bool {
	in, err := b.image.Decode(addr)
	if err != nil || in.Locked || in.NMem == 0 {
		return true
	}
	m := &in.Mem[0]
	switch {
	case modifyingNames.MatchString(name):
		return !m.Write && b.beginsExchange(&in)
	case storingNames.MatchString(name):
		return !m.Read
	case loadingNames.MatchString(name):
		return !m.Write
	}
	return true
}

// exchangeReach bounds the instructions from the load at the beginning of a loop to the compare-and-exchange.
const exchangeReach = 16

// beginsExchange reports whether an instruction loads what an atomic one behind it changes.
func (b *builder) beginsExchange(load *insn.Inst) bool {
	from, addr := load.Mem[0], load.End()
	for range exchangeReach {
		in, err := b.image.Decode(addr)
		if err != nil {
			return false
		}
		if m := in.Mem[0]; in.NMem > 0 && in.Locked && m.Base == from.Base && m.Index == from.Index && m.Disp == from.Disp && m.Addr == from.Addr {
			return true
		}
		addr = in.End()
	}
	return false
}

// atomicCode reports whether an access belongs to code of an atomic type, or of the counts of owners.
func (b *builder) atomicCode(p throughPointer) bool {
	name := b.plan.frames(p.Addr)[0].Linkage
	return b.isAtomicPart(name, p.Addr) || (p.Operand.Size == ownersSize || p.Operand.Disp == ownersAt) && ownersName.MatchString(name)
}

// maxMembers bounds the accesses of one file of which the type is looked up.
const maxMembers = 2048

// hasAtomicTypes reports whether the debug information may describe an _Atomic type.
func (b *builder) hasAtomicTypes() bool {
	if b.atomicTypes == nil {
		may := dw.MayHave(b.plan.File, dwarf.TagAtomicType)
		b.atomicTypes = &may
	}
	return *b.atomicTypes
}

// atomicMember reports whether C code accesses an object of an _Atomic type, as far as its debug
// information says so.
func (b *builder) atomicMember(p throughPointer) bool {
	if !b.hasAtomicTypes() || b.members == maxMembers {
		return false
	}
	if ext := path.Ext(b.plan.frames(p.Addr)[0].File); ext != ".c" && ext != ".h" {
		return false
	}
	b.members++
	if b.arguments == nil {
		b.arguments, b.memberNames = field.NewArguments(b.plan.File), variable.NewNames(b.plan.File)
	}
	arg, ok := b.arguments.Register(p.Addr, p.Operand.Base)
	return ok && arg.Type != 0 && b.memberNames.Atomic(arg.Type, arg.At+p.Operand.Disp)
}
