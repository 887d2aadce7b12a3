package observer

import (
	"maps"
	"slices"
)

// This file handles synchronisation objects in memory that processes share (MAP_SHARED). A process
// that is forked has its parent's mappings, and what was in them before is at the same address in
// both: one object. Mappings that are made later, by each process for itself, are not recognised.

// Range is a range [Lo, Hi) of addresses.
type Range struct{ Lo, Hi uint64 }

func (r Range) contains(addr uint64) bool { return r.Lo <= addr && addr < r.Hi }

// region is a range of memory that processes have at the same address.
type region struct {
	Range
	processes []*process
}

// join adds a process to those that share a region, and their objects in it to its own.
func (p *process) join(g *region) {
	g.processes = append(g.processes, p)
	p.regions = append(p.regions, g)
	for addr, obj := range g.processes[0].objects {
		if g.contains(addr) {
			obj.placeIn(p)
		}
	}
}

// regionAt returns the shared region around an address, nil if there is none.
func (p *process) regionAt(addr uint64) *region {
	for _, g := range p.regions {
		if g.contains(addr) {
			return g
		}
	}
	return nil
}

// leave removes a process, which has other memory now, from those that share a region. The objects in it
// live on in the other processes.
func (p *process) leave(g *region) {
	g.processes = slices.DeleteFunc(g.processes, func(q *process) bool { return q == p })
	p.regions = slices.DeleteFunc(p.regions, func(h *region) bool { return h == g })
	if len(g.processes) == 0 {
		return
	}
	for addr, obj := range p.objects {
		if g.contains(addr) {
			delete(p.objects, addr)
			p.removeLive(addr)
			if obj.process == p {
				obj.process = g.processes[0]
			}
		}
	}
}

// leaveWithin makes a process leave the regions of which it frees memory, and forget their other addresses.
func (p *process) leaveWithin(addr, end uint64) {
	p.aliases.forget(Range{addr, end})
	for _, g := range slices.Clone(p.regions) {
		if addr < g.Hi && g.Lo < end {
			p.leave(g)
		}
	}
}

// sharers returns the processes in whose memory an object is.
func (obj *object) sharers() []*process {
	if g := obj.process.regionAt(obj.addr); g != nil {
		return g.processes
	}
	return []*process{obj.process}
}

// place makes an object the one at its address, in each process that shares the memory.
func (obj *object) place() {
	for _, p := range obj.sharers() {
		obj.placeIn(p)
	}
}

func (obj *object) placeIn(p *process) {
	p.objects[obj.addr] = obj
	p.addLive(obj.addr)
}

// remove removes an object from its address, in each process that shares the memory.
func (obj *object) remove() {
	for _, p := range obj.sharers() {
		if p.objects[obj.addr] == obj {
			delete(p.objects, obj.addr)
			p.removeLive(obj.addr)
		}
	}
}

// share makes the child of a fork share with its parent the regions that the parent shares with other
// processes already, and the mappings that were made to be shared and have objects in them.
func (sh *sharing) share(parent, child *process) {
	child.aliases.inherit(&parent.aliases)
	for _, g := range parent.regions {
		child.join(g)
	}
	if sh.read == nil || len(parent.objects) == 0 {
		return
	}
	shared := sh.read(parent.id)
	if len(shared) == 0 {
		return
	}
	addrs := slices.Sorted(maps.Keys(parent.objects))
	for _, r := range shared {
		i, _ := slices.BinarySearch(addrs, r.Lo)
		if i == len(addrs) || addrs[i] >= r.Hi || parent.regionAt(addrs[i]) != nil {
			continue
		}
		g := &region{Range: r.Range}
		parent.join(g)
		child.join(g)
	}
}
