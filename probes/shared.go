package probes

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/probes/cheapsite"
	"github.com/tracepredict/tracepredict/probes/insn"
	"github.com/tracepredict/tracepredict/probes/variable"
)

// This file plans Options.Shared: all writable data of the program is watched, wherever its code
// accesses it by name, until it is known which variables threads share.

// maxShared returns the number of sites in the plans of one run up to which what the user did not name is added,
// so that the table has room for calls and for named variables.
func (p *Planner) maxShared() int {
	if p.opts.Pointers {
		return bpf.MaxPointerSites * 3 / 4
	}
	return bpf.MaxSites * 3 / 4
}

// shared plans the probes of the accesses of every variable of this file that is not in named.
func (b *builder) shared(named []variable.Variable) error {
	census, err := b.code.Survey()
	if err != nil {
		return err
	}
	b.countSites()
	b.escaped = census.Escaped
	omitted := 0
	for _, v := range census.Variables {
		if overlaps(v.Variable, named) || b.onlyOfLibraries(v.Accesses) {
			continue
		}
		if len(b.plan.Sites)+len(v.Accesses) > b.room.sites || len(b.plan.Shared) == b.room.variables {
			omitted++
			continue
		}
		if err := b.sharedVariable(v); err != nil {
			return fmt.Errorf("%s: %w", v.Variable.Name, err)
		}
	}
	for i := range census.Arrays {
		a := &census.Arrays[i]
		switch {
		case b.onlyOfLibraries(a.Accesses):
		case overlaps(a.Variable, named):
			b.note("of %s the elements that are watched by name are watched: not those that code picks", a.Variable.Name)
		case len(b.plan.Sites)+len(a.Accesses) > b.room.sites || len(b.plan.Shared) == b.room.variables:
			omitted++
		default:
			stores := storesIn(a.Accesses, func(variable.Access) bool { return true })
			site := func(x variable.Access) (Site, bool, error) { return b.elementSite(a, x, stores) }
			if err := b.sharedSites(a.Variable, a.Accesses, site); err != nil {
				return fmt.Errorf("%s: %w", a.Variable.Name, err)
			}
		}
	}
	b.censusNotes(census, omitted)
	return nil
}

func overlaps(v variable.Variable, named []variable.Variable) bool {
	for _, n := range named {
		if n.File == v.File && n.Overlaps(v.Addr, v.Size) {
			return true
		}
	}
	return false
}

// sharedVariable plans the probes of the accesses of a variable that the user did not name.
func (b *builder) sharedVariable(v variable.Accessed) error {
	typed := v.Variable.Atomic || slices.ContainsFunc(v.Accesses, func(a variable.Access) bool { return b.ofAtomicType(a.Addr) })
	atomic := typed || anyAtomic(v.Accesses)
	v.Variable.Atomic, v.Variable.AtomicByUse = atomic, atomic && !typed
	stores := storesIn(v.Accesses, func(a variable.Access) bool { return !a.Atomic })
	return b.sharedSites(v.Variable, v.Accesses, func(a variable.Access) (Site, bool, error) {
		s, ok, err := b.sharedSite(v.Variable, a, stores)
		if s.Atomic = atomic && indivisible(v.Variable, a); atomic {
			s.BPF.Flags |= bpf.SiteOrders
		}
		return s, ok, err
	})
}

// sharedSites plans the probes of the accesses of a variable or an array that the user did not
// name; site plans one of them.
func (b *builder) sharedSites(v variable.Variable, accesses []variable.Access, site func(variable.Access) (Site, bool, error)) error {
	index := uint32(len(b.plan.Shared))
	b.plan.Shared = append(b.plan.Shared, v)
	for _, a := range accesses {
		s, ok, err := site(a)
		if err != nil {
			return err
		}
		if ok {
			s.Program, s.BPF.Access.Watched = ProgramShared, index
			b.plan.Sites = append(b.plan.Sites, s)
		}
	}
	return nil
}

// elementSite plans the probe of an access of an array element: of a variable at the address that
// the instruction computes, if that address is in the array.
func (b *builder) elementSite(array *variable.IndexedArray, a variable.Access, stores map[uint64]bool) (Site, bool, error) {
	v := variable.Variable{Name: array.Variable.Name, Size: a.Width}
	if a.Base == insn.NoReg && a.Scale == 0 {
		v.File, v.Addr = b.plan.File, uint64(a.Disp)
	}
	a.Stride = 1
	s, ok, err := b.sharedSite(v, a, stores)
	if err != nil || !ok {
		return s, ok, err
	}
	s.Array, s.Width = array, a.Width
	d := &s.BPF.Access
	d.Reach, d.Home, d.Span = uint8(bpf.ReachSharedArray), int64(array.Variable.Addr-s.Addr), uint32(array.Variable.Size)
	return s, true, nil
}

// sharedSite plans the probe of one access. The probes of many accesses move to the same jump; if
// an address has no more room, the probe stays at its access.
func (b *builder) sharedSite(v variable.Variable, a variable.Access, stores map[uint64]bool) (Site, bool, error) {
	a.If = 0 // one site only: an update, whether it fails or not
	s, ok, err := b.access(v, a, stores)
	if err != nil || !ok {
		return s, ok, err
	}
	if b.sitesAt[s.Addr] >= bpf.MaxChain && s.Addr != s.At {
		stay := *b
		stay.opts.EntrySites = true
		if s, ok, err = stay.access(v, a, stores); err != nil || !ok {
			return s, ok, err
		}
	}
	if b.sitesAt[s.Addr] >= bpf.MaxChain || s.Class == cheapsite.Refused {
		if b.crowded++; b.crowded <= maxNamed {
			b.note("the %s of %s at 0x%x is one of more than %d at one place: it is not seen", a.Kind, v.Name, a.Addr, bpf.MaxChain)
		}
		return s, false, nil
	}
	b.sitesAt[s.Addr]++
	return s, true, nil
}

// censusNotes adds notes about the data of the program that is not watched.
func (b *builder) censusNotes(c *variable.Census, omitted int) {
	name := b.plan.File.Name()
	if c.Objects == 0 && !b.opts.Pointers {
		b.note("neither debug information nor symbols tell of a global or static variable of %s: --watch-shared has nothing to watch in it; if there are some, compile with -g, do not strip it, or install its debug symbols", name)
	}
	if n := len(c.Escaped); n > 0 && !b.followsPointers() {
		b.note("{the address|the addresses} of %d {variable|variables} of %s {is|are} taken (%s): accesses through pointers are not seen", n, name, listNames(c.Escaped))
	}
	if c.Unnamed > 0 {
		b.note("%d data {symbol|symbols} of %s {has|have} no debug information while others have: {it is|they are} not watched", c.Unnamed, name)
	}
	if n := c.Unknown + c.Doubtful; n > 0 {
		b.note("%d {instruction|instructions} of %s that may access its data {is not understood, or accesses|are not understood, or access} one of several variables: {it is|they are} not seen", n, name)
	}
	if n := b.crowded - maxNamed; n > 0 {
		b.note("%d more {access|accesses} of variables of %s {is|are} among more than %d at one place: {it is|they are} not seen", n, name, bpf.MaxChain)
	}
	if omitted > 0 {
		b.note("%d {variable|variables} of %s {is|are} not watched: there would be more than %d variables, or than %d sites", omitted, name, b.room.variables, b.room.sites)
	}
}

// maxNamed bounds the number of names that a note lists.
const maxNamed = 8

func listNames(names []string) string {
	if len(names) <= maxNamed {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:maxNamed], ", "), len(names)-maxNamed)
}
