package binary

import (
	"debug/elf"
	"fmt"
	"strings"
)

// dynamic is what the dynamic loader reads: found through PT_DYNAMIC, so that
// it is there in files without section headers too.
type dynamic struct {
	present                           bool
	needed                            []string
	strings                           stringTable
	symtab, versym, verdef, verneed   uint64
	nverdef, nverneed                 uint64
	hash, gnuHash                     uint64
	jmprel, jmprelSize, rela, relaLen uint64
}

// stringTable is an ELF string table; names are slices of it, not copies.
type stringTable string

// maxName bounds the search for a name's end. The longest C++ names in use are
// some tens of KiB.
const maxName = 1 << 16

// at gives the string at offset i, or "" and false if there is none.
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

func (f *File) loadDynamic() {
	for _, p := range f.elf.Progs {
		if p.Type == elf.PT_DYNAMIC {
			if err := f.readDynamic(p); err != nil {
				f.problem(fmt.Errorf("read dynamic section: %w", err))
			}
			return
		}
	}
}

func (f *File) readDynamic(p *elf.Prog) error {
	b, err := f.read(p.Off, p.Filesz&^15)
	if err != nil {
		return err
	}
	d := &f.dyn
	d.present = true
	var strtab, strsz uint64
	var needed []uint64
	fields := map[elf.DynTag]*uint64{
		elf.DT_STRTAB: &strtab, elf.DT_STRSZ: &strsz, elf.DT_SYMTAB: &d.symtab,
		elf.DT_VERSYM: &d.versym, elf.DT_VERDEF: &d.verdef, elf.DT_VERDEFNUM: &d.nverdef,
		elf.DT_VERNEED: &d.verneed, elf.DT_VERNEEDNUM: &d.nverneed,
		elf.DT_HASH: &d.hash, elf.DT_GNU_HASH: &d.gnuHash,
		elf.DT_JMPREL: &d.jmprel, elf.DT_PLTRELSZ: &d.jmprelSize, elf.DT_RELA: &d.rela, elf.DT_RELASZ: &d.relaLen,
	}
	for ; len(b) >= 16; b = b[16:] {
		tag, val := elf.DynTag(f.order.Uint64(b)), f.order.Uint64(b[8:])
		if tag == elf.DT_NULL {
			break
		}
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
	for _, n := range needed {
		if name, ok := d.strings.at(n); ok && name != "" {
			d.needed = append(d.needed, name)
		}
	}
	return nil
}

// image gives n bytes of the loaded image, or what its segment has of them.
func (f *File) image(addr, n uint64) ([]byte, error) {
	n = min(n, f.available(addr))
	if n == 0 {
		return nil, f.fail(ErrAddress, noOffset, "nothing at address 0x%x", addr)
	}
	off, err := f.Offset(addr)
	if err != nil {
		return nil, err
	}
	return f.read(off, n)
}

// dynsymCount finds the number of dynamic symbols, which no field states: from
// the section header, else from a hash table, else from the relocations.
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
	b, err := f.Bytes(f.dyn.hash, 8)
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
	head, err := f.Bytes(at, 16)
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
	chain, err := f.image(bucketsAt+4*nbuckets+4*(last-first), f.size)
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

// versionNames maps version indexes to names, of the versions that the file
// defines and of those that it needs. The base definition, which is the file's
// own name, is no version.
func (f *File) versionNames() map[uint16]string {
	names := map[uint16]string{}
	f.eachVersion(f.dyn.verdef, f.dyn.nverdef, 20, 16, func(rec, aux []byte) {
		const base = 1
		if f.order.Uint16(rec[2:])&base == 0 {
			if s, ok := f.dyn.strings.at(uint64(f.order.Uint32(aux))); ok {
				names[f.order.Uint16(rec[4:])&0x7fff] = s
			}
		}
	})
	f.eachNeededVersion(names)
	return names
}

// eachVersion walks the verdef records, each with its first auxiliary one.
// Offsets are relative and may be hostile: steps are bounded by the stated
// count and by the bytes there are, and go forward only.
func (f *File) eachVersion(at, n uint64, size, nextAt uint64, visit func(rec, aux []byte)) {
	if at == 0 {
		return
	}
	b, err := f.image(at, f.size)
	if err != nil {
		f.problem(fmt.Errorf("read version definitions: %w", err))
		return
	}
	for ; n > 0 && uint64(len(b)) >= size; n-- {
		aux := uint64(f.order.Uint32(b[12:]))
		if aux+8 <= uint64(len(b)) {
			visit(b, b[aux:])
		}
		next := uint64(f.order.Uint32(b[nextAt:]))
		if next == 0 || next > uint64(len(b)) {
			return
		}
		b = b[next:]
	}
}

func (f *File) eachNeededVersion(names map[uint16]string) {
	if f.dyn.verneed == 0 {
		return
	}
	b, err := f.image(f.dyn.verneed, f.size)
	if err != nil {
		f.problem(fmt.Errorf("read needed versions: %w", err))
		return
	}
	for n := f.dyn.nverneed; n > 0 && len(b) >= 16; n-- {
		f.needAux(b, names)
		next := uint64(f.order.Uint32(b[12:]))
		if next == 0 || next > uint64(len(b)) {
			return
		}
		b = b[next:]
	}
}

func (f *File) needAux(rec []byte, names map[uint16]string) {
	count, at := f.order.Uint16(rec[2:]), uint64(f.order.Uint32(rec[8:]))
	for ; count > 0 && at+16 <= uint64(len(rec)) && len(names) <= 0x7fff; count-- {
		a := rec[at:]
		if s, ok := f.dyn.strings.at(uint64(f.order.Uint32(a[8:]))); ok {
			names[f.order.Uint16(a[6:])&0x7fff] = s
		}
		next := uint64(f.order.Uint32(a[12:]))
		if next == 0 {
			return
		}
		at += next
	}
}
