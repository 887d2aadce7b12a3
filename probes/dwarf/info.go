// Package dwarf reads the debug information of ELF files: its sections, from the file itself or
// from the separate, supplementary and split files that belong to it (Info, Part), compilation
// units and their addresses (Unit, Spans), entries (Entries, Skimmer, Tree) and the scopes that
// enclose them (Walk, Scope), types (Type), locations and registers (Locations), line tables.
//
// The input is an open ELF file, and Of returns its debug information. The package does not know
// what its users look for (which variable, field or function a name denotes). Its cursor is that of
// package elf, which reads unwind tables for the extents of functions, in the same encodings.
// Entries are those of the standard library's debug/dwarf, which is safe only for well-formed data.
// Input is hostile: sections are checked before the standard library sees them, the amount that is
// read is bounded, and every error names the file.
package dwarf

import (
	"debug/dwarf"
	"errors"
	"sync"

	"github.com/tracepredict/tracepredict/probes/elf"
)

// Info is the debug information of a program or library. It is read when it is first used, once for
// each file. Its methods may be called concurrently.
type Info struct {
	file *elf.File

	sourceOnce, dataOnce, linesOnce sync.Once

	source    *container // nil: there is no debug information
	sourceErr error
	data      *dwarf.Data
	dataErr   error
	lines     lineCheck
}

type infoKey struct{}

// Of returns the debug information of a file. The file must stay open while it is used.
func Of(f *elf.File) *Info {
	return f.Once(infoKey{}, func() any { return &Info{file: f} }).(*Info)
}

// container is one ELF file with sections of debug information: the program, its
// separate debug file, a supplementary file, a .dwo file or a package of those.
type container struct {
	*elf.File
	sections      sections // as loaded
	joined        bool     // they are joined with those of a supplementary file
	supplementErr error    // the error in joining a supplementary file; nil: none
	left          uint64   // the number of bytes that sections may still have
	kept          sections // sections that several parts share; nil: not kept
}

// sections are sections of debug information by name, without ".debug_".
type sections map[string][]byte

// open returns the file that has the debug information: the file itself, or its separate debug
// file; nil if neither has it.
func (i *Info) open() (*container, error) {
	i.sourceOnce.Do(func() {
		f := i.file
		if !hasInfo(f) {
			f, i.sourceErr = f.DebugFile()
		}
		if f != nil {
			i.source = &container{File: f}
		}
	})
	return i.source, i.sourceErr
}

func hasInfo(f *elf.File) bool {
	all := f.DebugSections("info")
	return len(all) > 0 && all[0].FileSize > 0
}

// Data returns the debug information: the file's own or, if it has none, that of the separate file
// found by build identifier or by .gnu_debuglink. The error matches elf.ErrNoDWARF (errors.Is) if
// there is none, and elf.ErrDebugFile if the separate file belongs to another build. Sections are
// held in memory, uncompressed.
//
// The standard library's reader can panic later, on damaged data that it reads only then. Callers
// that walk hostile input must recover, and use Entries and LineReader.
func (i *Info) Data() (*dwarf.Data, error) {
	i.dataOnce.Do(func() { i.data, i.dataErr = i.load() })
	return i.data, i.dataErr
}

func (i *Info) load() (*dwarf.Data, error) {
	c, err := i.open()
	if err != nil {
		return nil, err
	}
	if c == nil || !hasInfo(c.File) {
		return nil, i.file.Fail(elf.ErrNoDWARF, elf.NoOffset, "has no debug information")
	}
	d, err := c.load()
	i.file.AddProblem(c.supplementErr)
	return d, err
}

// Section returns the content of .debug_NAME, uncompressed, from the same file as Data; nil if
// there is none. The slice is shared and must not be changed.
func (i *Info) Section(name string) ([]byte, error) {
	i.Data() // its error is ignored: a single section may be intact
	c, err := i.open()
	if err != nil || c == nil {
		return nil, err
	}
	if b, ok := c.sections[name]; ok {
		return b, nil
	}
	return c.read(name)
}

// read returns the first section of a name, uncompressed; nil if there is none.
func (c *container) read(name string) ([]byte, error) {
	all := c.DebugSections(name)
	if len(all) == 0 {
		return nil, nil
	}
	return c.SectionData(all[0])
}

// sectionNames are the sections that the standard library reads, which include the type units.
var sectionNames = [...]string{"abbrev", "info", "line", "ranges", "str", "addr", "line_str", "str_offsets", "rnglists", "types"}

func (c *container) load() (d *dwarf.Data, err error) {
	defer c.Guard("parse debug information", &err)
	c.sections, c.left = sections{}, elf.MaxDebug
	for _, name := range sectionNames {
		all := c.DebugSections(name)
		if len(all) == 0 {
			continue
		}
		b, err := c.SectionData(all[0])
		if err != nil {
			return nil, err
		}
		if !elf.Spend(&c.left, uint64(len(b))) {
			return nil, c.Fail(elf.ErrTooLarge, int64(all[0].Offset), "more than %d bytes of debug information", uint64(elf.MaxDebug))
		}
		c.sections[name] = b
	}
	if err := c.sections.check(); err != nil {
		return nil, c.malformed(err)
	}
	c.joinSupplement()
	if d, err = c.sections.data(); err != nil {
		return nil, c.malformed(err)
	}
	return d, nil
}

func (c *container) malformed(err error) error {
	return c.Fail(elf.ErrMalformed, elf.NoOffset, "debug information: %v", err)
}

func (s sections) check() error {
	if err := checkUnits("info", s["info"], s["abbrev"]); err != nil {
		return err
	}
	return checkUnits("types", s["types"], s["abbrev"])
}

// data passes the checked sections to the standard library.
func (s sections) data() (*dwarf.Data, error) {
	d, err := dwarf.New(s["abbrev"], nil, nil, s["info"], s["line"], nil, s["ranges"], s["str"])
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"addr", "line_str", "str_offsets", "rnglists"} {
		if b := s[name]; b != nil {
			err = errors.Join(err, d.AddSection(".debug_"+name, b))
		}
	}
	if b := s["types"]; b != nil {
		err = errors.Join(err, d.AddTypes(".debug_types", b))
	}
	return d, err
}
