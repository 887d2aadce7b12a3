package elf

import (
	"debug/elf"
	"fmt"
	"strings"
)

// dynamic is the data for the dynamic loader. It is found through PT_DYNAMIC, so files without
// section headers have it too.
type dynamic struct {
	present                           bool
	needed                            []string
	soname                            string
	runPath                           bool // libraries lie elsewhere than in the folders of the system, too
	pie                               bool // DF_1_PIE: it is a program, though its type is that of a library
	strings                           stringTable
	symtab, versym, verdef, verneed   uint64
	nverdef, nverneed                 uint64
	hash, gnuHash                     uint64
	jmprel, jmprelSize, rela, relaLen uint64
	relr, relrLen, init, fini         uint64
}

// Tags of packed relative relocations, which debug/elf does not name.
const (
	dtRELRSZ elf.DynTag = 35
	dtRELR   elf.DynTag = 36
)

// stringTable is an ELF string table; names are slices of it, not copies.
type stringTable string

// maxName bounds the length of a name, in bytes. The longest C++ names in use have some tens of
// KiB.
const maxName = 1 << 16

// at returns the string at offset i; "" and false if there is none.
func (t stringTable) at(i uint64) (string, bool) {
	if i >= uint64(len(t)) {
		return "", false
	}
	s := string(t[i:min(i+maxName, uint64(len(t)))])
	end := strings.IndexByte(s, 0)
	if end < 0 {
		return "", false
	}
	return s[:end], true
}

// maxDynamic bounds the dynamic section, in bytes: programs have some tens of entries, of 16 bytes
// each.
const maxDynamic = 1 << 20

func (f *File) loadDynamic() {
	for _, p := range f.elf.Progs {
		if p.Type == elf.PT_DYNAMIC {
			if err := f.readDynamic(p); err != nil {
				f.AddProblem(fmt.Errorf("read dynamic section: %w", err))
			}
			return
		}
	}
}

// addUnnamed records that n things have no name in their string table.
func (f *File) addUnnamed(n int, things string) {
	if n > 0 {
		f.AddProblem(f.Fail(ErrMalformed, NoOffset, "%d "+things+" {has|have} no name in the string table", n))
	}
}

func (f *File) readDynamic(p *elf.Prog) error {
	b, err := f.readUpTo(p.Off, p.Filesz&^15, maxDynamic)
	if err != nil {
		return err
	}
	d := &f.dyn
	d.present = true
	var strtab, strsz, soname uint64
	var needed []uint64
	fields := map[elf.DynTag]*uint64{
		elf.DT_STRTAB: &strtab, elf.DT_STRSZ: &strsz, elf.DT_SYMTAB: &d.symtab, elf.DT_SONAME: &soname,
		elf.DT_VERSYM: &d.versym, elf.DT_VERDEF: &d.verdef, elf.DT_VERDEFNUM: &d.nverdef,
		elf.DT_VERNEED: &d.verneed, elf.DT_VERNEEDNUM: &d.nverneed,
		elf.DT_HASH: &d.hash, elf.DT_GNU_HASH: &d.gnuHash,
		elf.DT_JMPREL: &d.jmprel, elf.DT_PLTRELSZ: &d.jmprelSize, elf.DT_RELA: &d.rela, elf.DT_RELASZ: &d.relaLen,
		dtRELR: &d.relr, dtRELRSZ: &d.relrLen, elf.DT_INIT: &d.init, elf.DT_FINI: &d.fini,
	}
	for ; len(b) >= 16; b = b[16:] {
		tag, val := elf.DynTag(f.order.Uint64(b)), f.order.Uint64(b[8:])
		if tag == elf.DT_NULL {
			break
		}
		d.pie = d.pie || tag == elf.DT_FLAGS_1 && elf.DynFlag1(val)&elf.DF_1_PIE != 0
		d.runPath = d.runPath || tag == elf.DT_RPATH || tag == elf.DT_RUNPATH
		if tag == elf.DT_NEEDED {
			needed = append(needed, val)
		} else if p := fields[tag]; p != nil {
			*p = val
		}
	}
	if strtab == 0 {
		return nil
	}
	table, err := f.image(strtab, strsz)
	if err != nil {
		return fmt.Errorf("string table: %w", err)
	}
	d.strings = stringTable(table)
	var ok bool
	unnamed := 0
	if d.soname, ok = d.strings.at(soname); !ok && soname != 0 { // the string at 0 is empty
		unnamed++
	}
	for _, n := range needed {
		name, ok := d.strings.at(n)
		switch {
		case !ok:
			unnamed++
		case name != "":
			d.needed = append(d.needed, name)
		}
	}
	f.addUnnamed(unnamed, "{entry|entries} of the dynamic section")
	return nil
}

// rest returns the loaded image from addr to the end of its segment's content, at most maxRead
// bytes.
func (f *File) rest(addr uint64) ([]byte, error) { return f.image(addr, min(f.size, maxRead)) }

// image returns n bytes of the loaded image, or fewer if the segment's content ends before; an
// error if there are none.
func (f *File) image(addr, n uint64) ([]byte, error) {
	s := f.segmentAt(addr)
	if s == nil {
		_, err := f.Offset(addr)
		return nil, err
	}
	at := addr - s.addr
	n = min(n, s.filesz-at)
	if b := f.heldSegment(s); b != nil {
		return b[at:][:n:n], nil
	}
	return f.read(s.off+at, n)
}

// dynsymCount returns the number of dynamic symbols, which no field contains. It is found in the
// section header, or else in a hash table, or else from the relocations.
func (f *File) dynsymCount() uint64 {
	limit := f.available(f.dyn.symtab) / symSize
	var n uint64
	for _, s := range f.elf.Sections {
		if s.Type == elf.SHT_DYNSYM && s.Addr == f.dyn.symtab {
			n = s.Size / symSize
		}
	}
	if n == 0 {
		n = max(f.hashCount(), f.gnuHashCount())
		for _, r := range f.relocations() {
			n = max(n, uint64(r.sym)+1)
		}
	}
	return min(n, limit)
}

func (f *File) hashCount() uint64 {
	if f.dyn.hash == 0 {
		return 0
	}
	b, err := f.exactly(f.dyn.hash, 8)
	if err != nil {
		return 0
	}
	return uint64(f.order.Uint32(b[4:]))
}

// gnuHashCount follows the chain of the last bucket to its end.
func (f *File) gnuHashCount() uint64 {
	at := f.dyn.gnuHash
	if at == 0 {
		return 0
	}
	head, err := f.exactly(at, 16)
	if err != nil {
		return 0
	}
	nbuckets, first, nbloom := uint64(f.order.Uint32(head)), uint64(f.order.Uint32(head[4:])), uint64(f.order.Uint32(head[8:]))
	bucketsAt := at + 16 + 8*nbloom
	buckets, err := f.image(bucketsAt, 4*nbuckets)
	if err != nil {
		return first
	}
	last := uint64(0)
	for ; len(buckets) >= 4; buckets = buckets[4:] {
		last = max(last, uint64(f.order.Uint32(buckets)))
	}
	if last < first {
		return first
	}
	chain, err := f.rest(bucketsAt + 4*nbuckets + 4*(last-first))
	if err != nil {
		return first
	}
	for ; len(chain) >= 4; chain = chain[4:] {
		last++
		if f.order.Uint32(chain)&1 != 0 {
			return last
		}
	}
	return last
}

// versionNames returns the names of versions by index: those that the file defines and those that
// it needs. The base definition, which is the file's own name, is not a version.
func (f *File) versionNames() map[uint16]string {
	v := versionReader{f, map[uint16]string{}, maxVersions}
	if err := v.records(f.dyn.verdef, f.dyn.nverdef, 20, 16, v.defined); err != nil {
		f.AddProblem(fmt.Errorf("read version definitions: %w", err))
	}
	if err := v.records(f.dyn.verneed, f.dyn.nverneed, 16, 12, v.needed); err != nil {
		f.AddProblem(fmt.Errorf("read needed versions: %w", err))
	}
	return v.names
}

// maxVersions is the maximum number of versions: an index has 15 bits.
const maxVersions = 1 << 15

// versionReader reads chains of records whose relative offsets may be hostile: offsets only lead
// forwards, and at most left records are read in all chains together.
type versionReader struct {
	f     *File
	names map[uint16]string
	left  int
}

// records calls visit for n records of size bytes each, from address at on. nextAt is the offset in
// a record of the distance to the next record.
func (v *versionReader) records(at, n, size, nextAt uint64, visit func(rec []byte)) error {
	if at == 0 {
		return nil
	}
	b, err := v.f.rest(at)
	if err != nil {
		return err
	}
	for ; n > 0 && v.left > 0 && uint64(len(b)) >= size; n-- {
		v.left--
		visit(b)
		next := uint64(v.f.order.Uint32(b[nextAt:]))
		if next == 0 || next > uint64(len(b)) {
			return nil
		}
		b = b[next:]
	}
	return nil
}

// defined records the name in an Elf64_Verdef, which is in its first auxiliary record.
func (v *versionReader) defined(rec []byte) {
	const base = 1
	order := v.f.order
	aux := uint64(order.Uint32(rec[12:]))
	if order.Uint16(rec[2:])&base == 0 && aux+8 <= uint64(len(rec)) {
		v.name(order.Uint16(rec[4:]), order.Uint32(rec[aux:]))
	}
}

// needed records the names in an Elf64_Verneed, which are in its auxiliary records.
func (v *versionReader) needed(rec []byte) {
	order := v.f.order
	count, at := order.Uint16(rec[2:]), uint64(order.Uint32(rec[8:]))
	for ; count > 0 && v.left > 0 && at+16 <= uint64(len(rec)); count-- {
		v.left--
		a := rec[at:]
		v.name(order.Uint16(a[6:]), order.Uint32(a[8:]))
		next := uint64(order.Uint32(a[12:]))
		if next == 0 {
			return
		}
		at += next
	}
}

func (v *versionReader) name(index uint16, at uint32) {
	if s, ok := v.f.dyn.strings.at(uint64(at)); ok {
		v.names[index&0x7fff] = s
	}
}
