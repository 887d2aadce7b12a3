package probes

import (
	"fmt"
	"path"
	"regexp"
	"slices"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/probes/cheapsite"
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
	b.accessAt = map[uint64]bool{}
	for i := range b.plan.Sites {
		planned[b.plan.Sites[i].At] = true
		b.accessAt[b.plan.Sites[i].At] = b.plan.Sites[i].ObservesAccess()
	}
	accesses := make([]throughPointer, len(found.Accesses))
	others := neighbours{writes: map[uint64]bool{}, atomics: map[uint64]bool{}}
	for i, a := range found.Accesses {
		accesses[i] = b.pointerAccess(a)
		b.accessAt[a.Addr] = true
		others.writes[a.Addr] = others.writes[a.Addr] || a.Operand.Write
		others.atomics[a.Addr] = others.atomics[a.Addr] || a.Locked || accesses[i].atomic
	}
	most := maxAtomicSites + len(b.plan.Sites)
	if all {
		most = b.room.sites
		if err := b.libraryCalls(found.Calls, most); err != nil {
			return fmt.Errorf("the calls of library functions: %w", err)
		}
	}
	omitted, unseen := 0, len(found.Unknown)
	for _, p := range accesses {
		if planned[p.Addr] || !all && !p.atomic {
			continue
		}
		if len(b.plan.Sites) >= most {
			omitted++
			b.leaveOut(p)
			continue
		}
		sites, err := b.pointerSites(p, others)
		if err != nil {
			return fmt.Errorf("the access at 0x%x: %w", p.Addr, err)
		}
		if len(sites) == 0 {
			unseen++
			b.leaveOut(p)
		}
		b.plan.Sites = append(b.plan.Sites, sites...)
	}
	if all && omitted > 0 {
		b.note("%d {access|accesses} of %s through pointers {is|are} not seen: there would be more than %d sites", omitted, path.Base(f.Name()), most)
	}
	if all && unseen > 0 {
		b.note("%d {instruction|instructions} of %s that may access memory through pointers {is|are} not seen", unseen, path.Base(f.Name()))
	}
	return nil
}

// leaveOut makes an access of an atomic type that cannot be observed one that synchronises unseen. Atomic
// instructions that are not observed are known as such anyway.
func (b *builder) leaveOut(p throughPointer) {
	if p.atomic && !p.Locked {
		b.leftOut = append(b.leftOut, elf.UnseenSite{Func: p.Func, Addr: p.Addr, What: elf.UnseenAtomic})
	}
}

// seesPointers reports whether what code of atomic types in the file accesses through pointers is observed.
func (b *builder) seesPointers() bool {
	f := b.plan.File
	return b.searchesAtomics() && b.arch == insn.AMD64 && !f.Restartable() && f.TextSize() <= maxPointedText && hasDebugInfo(f)
}

// followsPointers reports whether all accesses of the file's code through pointers are observed.
func (b *builder) followsPointers() bool { return b.allPointers && b.arch == insn.AMD64 }

func hasDebugInfo(f *elf.File) bool {
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
	p.atomic = !a.Repeats && scalar(m.Size) && !divisible && (b.atomicCode(p) || a.Locked && b.lockUse(a.Addr) != LockNone || b.atomicMember(p))
	return p
}

// pointerSites plans the probes of one access; none if it cannot be observed.
func (b *builder) pointerSites(p throughPointer, others neighbours) ([]Site, error) {
	m := p.Operand
	if p.Repeats || m.Size == 0 || m.Size > 64 {
		return nil, nil
	}
	in, err := b.image.Decode(p.Addr)
	if err != nil {
		return nil, err
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
	s.BPF = bpf.Site{Op: uint8(w.op), Action: uint8(bpf.ActionEmit), When: w.when, SpDelta: int32(where.SPDelta)}
	if m.Base != insn.NoReg {
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
	return atomicNames.MatchString(b.plan.frames(addr)[0].Linkage)
}

// atomicCode reports whether an access belongs to code of an atomic type, or of the counts of owners.
func (b *builder) atomicCode(p throughPointer) bool {
	name := b.plan.frames(p.Addr)[0].Linkage
	return atomicNames.MatchString(name) || ownersName.MatchString(name) && (p.Operand.Size == ownersSize || p.Operand.Disp == ownersAt)
}

// maxMembers bounds the accesses of one file of which the type is looked up.
const maxMembers = 2048

// atomicMember reports whether C code accesses an object of an _Atomic type, as far as its debug
// information says so.
func (b *builder) atomicMember(p throughPointer) bool {
	if ext := path.Ext(b.plan.frames(p.Addr)[0].File); ext != ".c" && ext != ".h" || b.members == maxMembers {
		return false
	}
	b.members++
	if b.arguments == nil {
		b.arguments, b.memberNames = field.NewArguments(b.plan.File), variable.NewNames(b.plan.File)
	}
	arg, ok := b.arguments.Register(p.Addr, p.Operand.Base)
	return ok && arg.Type != 0 && b.memberNames.Atomic(arg.Type, arg.At+p.Operand.Disp)
}
