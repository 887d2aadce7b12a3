package dwarf

import (
	"debug/dwarf"
	"errors"
	"fmt"
	"os"
	"path"

	"github.com/tracepredict/tracepredict/internal/plural"
	"github.com/tracepredict/tracepredict/probes/elf"
)

// Debug information may consist of several bodies. The type units of DWARF 4 have a section of
// their own. With -gsplit-dwarf the program contains only skeleton units, and each unit is in a
// .dwo file, or all are in one package, whose name is the program's with .dwp appended (DWARF 5,
// sections 7.3.2 and 7.3.5; for DWARF 4 the GNU extension on which they are based). Each body has
// offsets of its own, and refers to the others by signatures.

// Part is one body of debug information. Its offsets count from its own beginning.
type Part struct {
	Data  *dwarf.Data
	Size  int // bytes of entries
	Units []Unit
	// SeekEachUnit reports that readers must seek each unit, because the bytes between the entries
	// of two units are not entries.
	SeekEachUnit bool
	// Skeleton, for a unit outside of the program, is the entry of its skeleton in the program,
	// which has the line table. AddrBase is where the unit's addresses begin in .debug_addr.
	Skeleton *dwarf.Entry
	AddrBase int64
}

// maxParts bounds the files and type units of split debug information.
const maxParts = 1 << 16

// Parts returns all bodies of the file's debug information, the program's own first. If some cannot
// be read, missing contains sentences that report it. The error is that of Data.
func (i *Info) Parts() (parts []Part, missing []string, err error) {
	d, err := i.Data()
	if err != nil {
		return nil, nil, err
	}
	defer i.file.Guard("parse debug information", &err)
	info, err := i.Section("info")
	if err != nil {
		return nil, nil, err
	}
	parts = []Part{{Data: d, Size: len(info), Units: unitsOf("info", info)}}
	s := splitter{file: i.file, from: i.source, parts: parts}
	s.types(i.source, "")
	s.skeletons()
	if s.pack != nil {
		s.pack.file.Close() // all needed sections have been read
	}
	if err := i.source.supplementErr; err != nil {
		s.missing = append(s.missing, err.Error())
	}
	return s.parts, s.missing, nil
}

// splitter collects parts.
type splitter struct {
	file    *elf.File  // the program
	from    *container // the file that has its debug information
	parts   []Part
	missing []string
	unread  int // number of units whose file could not be read
	pack    *dwarfPackage
	packed  bool // openPackage has been called
}

// types adds the type units of DWARF 4.
func (s *splitter) types(f *container, suffix string) {
	for _, b := range f.sectionsOf("types" + suffix) {
		if p, err := f.newPart(contributions{info: b}, suffix, true); err == nil && len(s.parts) < maxParts {
			s.parts = append(s.parts, p)
		}
	}
}

// skeletons adds the units for which the program has skeletons.
func (s *splitter) skeletons() {
	main := s.parts[0]
	r := main.Data.Reader()
	for _, u := range main.Units {
		if u.kind != unitSkeleton && u.Version >= 5 {
			continue
		}
		r.Seek(u.Entry)
		e, err := r.Next()
		if err != nil || e == nil {
			continue
		}
		if name := dwoName(e); name != "" && len(s.parts) < maxParts {
			if err := s.unit(u, e, name); err != nil {
				s.noteMissing(name, err)
			}
		}
	}
	if s.unread > 1 {
		s.missing = append(s.missing, plural.Sprintf("and so {is|are} %d more {unit|units} of %s", s.unread-1, s.file.Name()))
	}
}

func (s *splitter) noteMissing(name string, err error) {
	if s.unread++; s.unread > 1 {
		return
	}
	text := fmt.Sprintf("the debug information of %s in %s is not there: keep it where the compiler wrote it, or make %s.dwp", path.Base(s.file.Name()), name, path.Base(s.file.Name()))
	if !errors.Is(err, os.ErrNotExist) {
		text = fmt.Sprintf("the debug information of %s in %s is not read: %v", path.Base(s.file.Name()), name, err)
	}
	s.missing = append(s.missing, text)
}

// Attributes of GNU's split debug information for DWARF 4.
const (
	attrGNUDwoName  dwarf.Attr = 0x2130
	attrGNUDwoID    dwarf.Attr = 0x2131
	attrGNUAddrBase dwarf.Attr = 0x2133
)

func dwoName(e *dwarf.Entry) string {
	for _, a := range []dwarf.Attr{dwarf.AttrDwoName, attrGNUDwoName} {
		if name, ok := e.Val(a).(string); ok {
			return name
		}
	}
	return ""
}

// unit adds the unit of a skeleton, from the package or from its own file.
func (s *splitter) unit(u Unit, e *dwarf.Entry, name string) error {
	id := u.Signature
	if n, ok := e.Val(attrGNUDwoID).(int64); ok {
		id = uint64(n)
	}
	base, ok := e.Val(dwarf.AttrAddrBase).(int64)
	if !ok {
		base, _ = e.Val(attrGNUAddrBase).(int64)
	}
	if !s.packed {
		s.packed = true
		s.openPackage()
	}
	if s.pack != nil {
		if c, ok := s.pack.units[id]; ok {
			p, err := s.pack.file.newPart(c, ".dwo", false)
			if err != nil {
				return err
			}
			p.Skeleton, p.AddrBase = e, base
			s.parts = append(s.parts, p)
			return nil
		}
	}
	return s.ownFile(e, id, base, name)
}

// ownFile adds the unit of a skeleton from its .dwo file.
func (s *splitter) ownFile(e *dwarf.Entry, id uint64, base int64, name string) error {
	dir, _ := e.Val(dwarf.AttrCompDir).(string)
	var failed error
	for _, at := range s.paths(dir, name) {
		f, err := s.file.OpenDebug(at)
		if err != nil {
			if failed == nil || errors.Is(failed, os.ErrNotExist) {
				failed = err
			}
			continue
		}
		err = s.addFile(&container{File: f, kept: sections{}}, e, id, base)
		f.Close() // all needed sections have been read
		if err == nil {
			return nil
		}
		failed = err
	}
	return failed
}

// paths returns the possible paths of a .dwo file: where the compiler wrote it, or beside the
// program.
func (s *splitter) paths(dir, name string) []string {
	var out []string
	if path.IsAbs(name) {
		out = append(out, name)
	} else if path.IsAbs(dir) {
		out = append(out, path.Join(dir, name))
	}
	if at := s.file.ResolvedPath(); at != "" {
		beside := path.Dir(at)
		out = append(out, path.Join(beside, name), path.Join(beside, path.Base(name)))
	}
	return out
}

// addFile adds the unit of a .dwo file, and the type units in the same file.
func (s *splitter) addFile(d *container, e *dwarf.Entry, id uint64, base int64) error {
	var all []Part
	found := false
	for _, info := range d.sectionsOf("info.dwo") {
		p, err := d.newPart(contributions{info: info}, ".dwo", false)
		if err != nil {
			return err
		}
		if got, ok := p.id(); ok && got == id {
			p.Skeleton, p.AddrBase, found = e, base, true
		}
		all = append(all, p)
	}
	if !found {
		return d.Fail(elf.ErrDebugFile, elf.NoOffset, "belongs to another build of %s: it has no unit %016x", s.file.Name(), id)
	}
	s.parts = append(s.parts, all[:min(len(all), maxParts)]...)
	s.types(d, ".dwo")
	return nil
}

// id returns the identifier by which a skeleton refers to the split unit of a part.
func (p *Part) id() (uint64, bool) {
	for _, u := range p.Units {
		switch {
		case u.kind == unitSplit:
			return u.Signature, true
		case u.Version < 5:
			r := p.Data.Reader()
			r.Seek(u.Entry)
			if e, err := r.Next(); err == nil && e != nil {
				n, ok := e.Val(attrGNUDwoID).(int64)
				return uint64(n), ok
			}
		}
	}
	return 0, false
}

// partSection returns a section of debug information of this file, uncompressed, joined with that
// of its supplementary file if there is one; nil if the file has no such section.
func (c *container) partSection(name string) ([]byte, error) {
	if b, ok := c.kept[name]; ok {
		return b, nil
	}
	if b, ok := c.sections[name]; ok && c.joined {
		return b, nil
	}
	b, err := c.read(name)
	if b != nil && err == nil && c.kept != nil {
		c.kept[name] = b
	}
	return b, err
}

// sectionsOf returns all sections of one name: a compiler puts each type unit into a section of its
// own. Sections that cannot be read are left out.
func (c *container) sectionsOf(name string) [][]byte {
	if b, ok := c.sections[name]; ok && c.joined {
		return [][]byte{b}
	}
	var out [][]byte
	for _, s := range c.DebugSections(name) {
		if len(out) == maxParts {
			break
		}
		if b, err := c.SectionData(s); err == nil && len(b) > 0 {
			out = append(out, b)
		}
	}
	return out
}

// contributions are the parts of each section that belong to one unit; nil: the whole section.
type contributions struct {
	info, abbrev, strOffsets []byte
	version                  uint16
}

// newPart returns a part made of units and of the sections that they need. suffix is that of the
// sections' names. types reports that the units are those of .debug_types.
func (c *container) newPart(of contributions, suffix string, types bool) (p Part, err error) {
	defer c.Guard("parse debug information", &err)
	get := func(have []byte, name string) []byte {
		if have != nil || err != nil {
			return have
		}
		var b []byte
		b, err = c.partSection(name + suffix)
		return b
	}
	abbrev, offsets := get(of.abbrev, "abbrev"), get(of.strOffsets, "str_offsets")
	str := get(nil, "str")
	if err != nil {
		return p, err
	}
	section := "info"
	if types {
		section = "types"
	}
	p = Part{Size: len(of.info), Units: unitsOf(section, of.info), SeekEachUnit: types}
	if len(p.Units) == 0 {
		return p, c.Fail(elf.ErrMalformed, elf.NoOffset, "debug information: no unit")
	}
	if err := checkUnits(section, of.info, abbrev); err != nil {
		return p, c.Fail(elf.ErrMalformed, elf.NoOffset, "debug information: %v", err)
	}
	if suffix != "" {
		abbrev = plainForms(abbrev)
		if p.Units[0].Version >= 5 {
			offsets = offsets[min(8, len(offsets)):] // skip the table's header
		}
	}
	if p.Data, err = dwarf.New(abbrev, nil, nil, of.info, nil, nil, nil, str); err != nil {
		return p, c.Fail(elf.ErrMalformed, elf.NoOffset, "debug information: %v", err)
	}
	return p, p.Data.AddSection(".debug_str_offsets", offsets)
}

// plainForm returns a replacement for a form of split units that the standard library cannot read,
// or would resolve by sections of another file. The replacement has the same length and reads the
// bare number. Readers of split units look up what the number refers to themselves.
func plainForm(form uint64) (uint64, bool) {
	switch form {
	case formGNUStrIndex:
		return formStrx, true
	case formGNUAddrIndex, formAddrx, formLoclistx, formRnglistx:
		return formUdata, true
	case formAddrx1:
		return formData1, true
	case formAddrx2:
		return formData2, true
	case formAddrx4:
		return formData4, true
	}
	return 0, false
}

// plainForms returns a copy of abbreviations in which such forms are replaced. Abbreviations that
// cannot be parsed stay unchanged.
func plainForms(abbrev []byte) []byte {
	b := append([]byte(nil), abbrev...)
	r := elf.NewCursor(b, 0, 0)
	for r.Left() > 0 && !r.Failed() {
		readAbbreviation(&r, func(a attribute) bool {
			if plain, ok := plainForm(a.form); ok {
				putPadded(b[a.at:a.to], plain)
			}
			return true
		})
	}
	return b
}

// putPadded writes a number in LEB128, padded to exactly the length of b.
func putPadded(b []byte, v uint64) {
	for i := range b {
		b[i] = byte(v&0x7f) | 0x80
		v >>= 7
	}
	b[len(b)-1] &= 0x7f
}
