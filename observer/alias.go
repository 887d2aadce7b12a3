package observer

import (
	"maps"
	"slices"
)

// This file handles memory that a process has mapped twice, so that one synchronisation object has
// several addresses there. The first of the addresses that is used counts for all.

// SharedMapping is memory that other processes, or the same one, may have mapped too.
type SharedMapping struct {
	Range
	File   File
	Offset uint64 // of Lo, in the file, in bytes
	// Written reports that others than those who have it mapped may write it, as by write(2) to its file, or
	// that it is written by them alone.
	Written bool
}

// File identifies what a mapping shows: a file, or memory that was made to be shared.
type File struct {
	Major, Minor uint32
	Inode        uint64
}

// maxAliasSearches bounds how often the mappings of a process are read, once for each page in which an
// object is used for the first time.
const maxAliasSearches = 1 << 7

// aliases are the objects of a process that have several addresses.
type aliases struct {
	searched map[uint64]bool   // pages for which the mappings were read
	mappings []SharedMapping   // as they were read last, since a process may end before its records are read
	first    map[uint64]uint64 // by another address: the first one
}

// inherit copies the addresses to a forked process, which has the same mappings.
func (a *aliases) inherit(from *aliases) {
	*a = aliases{searched: maps.Clone(from.searched), mappings: slices.Clone(from.mappings), first: maps.Clone(from.first)}
}

// forget removes the addresses in memory that is freed.
func (a *aliases) forget(r Range) {
	maps.DeleteFunc(a.first, func(other, first uint64) bool { return r.contains(other) || r.contains(first) })
	maps.DeleteFunc(a.searched, func(page uint64, _ bool) bool { return page < r.Hi && r.Lo < page+pageSize })
	a.mappings = slices.DeleteFunc(a.mappings, func(m SharedMapping) bool { return m.Lo < r.Hi && r.Lo < m.Hi })
}

// sharing knows which memory processes share, and which they have mapped twice.
type sharing struct {
	threads *threadTable
	read    func(tgid uint32) []SharedMapping // Options.SharedMemory
}

// aliased returns the live object that is at an address too, but was used at another one; nil if there
// is none.
func (sh *sharing) aliased(p *process, addr uint64) *object {
	if obj := p.objects[p.aliases.first[addr]]; obj != nil {
		return obj
	}
	if sh.read == nil {
		return nil
	}
	sh.readMappings(p, addr)
	if m := p.aliases.mappingAt(addr); m != nil {
		return p.alias(addr, m)
	}
	return nil
}

// readMappings reads the mappings of a process, if they can still be read, for the first object in a
// page.
func (sh *sharing) readMappings(p *process, addr uint64) {
	a, page := &p.aliases, addr&^(pageSize-1)
	if a.searched[page] || len(a.searched) == maxAliasSearches {
		return
	}
	if a.searched == nil {
		a.searched = map[uint64]bool{}
	}
	a.searched[page] = true
	if all := sh.read(p.id); len(all) > 0 {
		a.mappings = all
	}
}

func (a *aliases) mappingAt(addr uint64) *SharedMapping {
	for i := range a.mappings {
		if a.mappings[i].contains(addr) {
			return &a.mappings[i]
		}
	}
	return nil
}

// alias finds the object at an address in a mapping among those of the other mappings of the same file.
func (p *process) alias(addr uint64, m *SharedMapping) *object {
	for i := range p.aliases.mappings {
		other := &p.aliases.mappings[i]
		first := other.Lo + m.Offset - other.Offset + addr - m.Lo
		if other.File != m.File || first == addr || !other.contains(first) {
			continue
		}
		if obj := p.objects[first]; obj != nil {
			if p.aliases.first == nil {
				p.aliases.first = map[uint64]uint64{}
			}
			p.aliases.first[addr] = first
			return obj
		}
	}
	return nil
}

// sharesWord reports whether the word at an address may be accessed by another address, by another process, or
// by the kernel in a file.
// What is stored there so is not known to be stored to the same word.
func (sh *sharing) sharesWord(p *process, at uint64) bool {
	if sh.read == nil {
		return false
	}
	sh.readMappings(p, at)
	w, all := p.words[at], p.aliases.mappings
	if w == nil {
		w = &word{} // no access through a pointer has come yet
	}
	if w.processes == len(sh.threads.processes) && w.mappings == len(all) {
		return w.shared
	}
	m := p.aliases.mappingAt(at)
	w.shared, w.processes, w.mappings = false, len(sh.threads.processes), len(all)
	for i := range all {
		w.shared = w.shared || m != nil && (m.Written || &all[i] != m || w.processes > 1) && all[i].File == m.File
	}
	return w.shared
}
