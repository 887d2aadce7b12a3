package dwarf

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"

	"github.com/tracepredict/tracepredict/probes/elf"
)

// dwarfPackage is a .dwp file, which contains the units of many .dwo files. An index finds them by
// their identifiers: DWARF 5, section 7.3.5; for DWARF 4 GNU's "DWARF Package File Format", which
// is version 2 of the index.
type dwarfPackage struct {
	file  *container
	units map[uint64]contributions
}

// Columns of the index. The ones used here are the same in both versions.
const (
	columnInfo       = 1
	columnTypes      = 2
	columnAbbrev     = 3
	columnStrOffsets = 6
	maxColumns       = 8
)

// openPackage opens the program's package, if there is one, and adds its type units.
func (s *splitter) openPackage() {
	at := s.file.ResolvedPath()
	if at == "" {
		return
	}
	for _, name := range []string{at + ".dwp", s.from.Name() + ".dwp"} {
		f, err := s.file.OpenDebug(name)
		if err == nil {
			if err = s.usePackage(&container{File: f, kept: sections{}}); err != nil {
				f.Close()
			}
		}
		if err == nil {
			return
		}
		if !errors.Is(err, os.ErrNotExist) {
			s.missing = append(s.missing, fmt.Sprintf("%s is not read: %v", name, err))
		}
	}
}

func (s *splitter) usePackage(d *container) error {
	units, err := d.packageIndex("cu_index")
	if err != nil {
		return err
	}
	types, err := d.packageIndex("tu_index")
	if err != nil {
		return err
	}
	s.pack = &dwarfPackage{file: d, units: units}
	for _, c := range types {
		if len(s.parts) >= maxParts {
			break
		}
		if p, err := d.newPart(c, ".dwo", c.version < 5); err == nil {
			s.parts = append(s.parts, p)
		}
	}
	return nil
}

// packageIndex reads .debug_cu_index or .debug_tu_index.
func (d *container) packageIndex(name string) (map[uint64]contributions, error) {
	b, err := d.partSection(name)
	if err != nil || len(b) == 0 {
		return nil, err
	}
	bad := func() (map[uint64]contributions, error) {
		return nil, d.Fail(elf.ErrMalformed, elf.NoOffset, "section .debug_%s is cut short", name)
	}
	order := binary.LittleEndian
	if len(b) < 16 {
		return bad()
	}
	version := order.Uint32(b)
	if version != 2 {
		version = uint32(order.Uint16(b))
	}
	if version != 2 && version != 5 {
		return nil, d.Fail(elf.ErrMalformed, elf.NoOffset, "section .debug_%s has version %d, known are 2 and 5", name, version)
	}
	columns, units, slots := uint64(order.Uint32(b[4:])), uint64(order.Uint32(b[8:])), uint64(order.Uint32(b[12:]))
	if columns > maxColumns || units > uint64(len(b)) || slots > uint64(len(b)) ||
		16+12*slots+4*columns*(1+2*units) > uint64(len(b)) {
		return bad()
	}
	t := packageTable{file: d, ids: b[16+12*slots:], columns: columns, units: units, version: uint16(version)}
	out := map[uint64]contributions{}
	for i := range slots {
		row := uint64(order.Uint32(b[16+8*slots+4*i:]))
		if row == 0 || row > units {
			continue
		}
		c, err := t.row(row - 1)
		if err != nil {
			return nil, err
		}
		out[order.Uint64(b[16+8*i:])] = c
	}
	return out, nil
}

// packageTable is the part of an index that contains the offsets and sizes of units.
type packageTable struct {
	file           *container
	ids            []byte // the identifiers of the columns, then the offsets, then the sizes
	columns, units uint64
	version        uint16
}

func (t *packageTable) row(i uint64) (c contributions, err error) {
	order := binary.LittleEndian
	c.version = t.version
	for k := range t.columns {
		column := uint64(order.Uint32(t.ids[4*k:]))
		var name string
		switch column {
		case columnInfo:
			name = "info.dwo"
		case columnTypes:
			if name = "types.dwo"; t.version >= 5 {
				continue
			}
		case columnAbbrev:
			name = "abbrev.dwo"
		case columnStrOffsets:
			name = "str_offsets.dwo"
		default:
			continue
		}
		all, err := t.file.partSection(name)
		if err != nil {
			return c, err
		}
		at, n := uint64(order.Uint32(t.ids[4*(t.columns*(1+i)+k):])), uint64(order.Uint32(t.ids[4*(t.columns*(1+t.units+i)+k):]))
		if at > uint64(len(all)) || n > uint64(len(all))-at {
			return c, t.file.Fail(elf.ErrMalformed, elf.NoOffset, "the index names bytes %d to %d of .debug_%s, which has %d", at, at+n, name, len(all))
		}
		b := all[at : at+n : at+n]
		switch column {
		case columnInfo, columnTypes:
			if n > 0 {
				c.info = b
			}
		case columnAbbrev:
			c.abbrev = b
		case columnStrOffsets:
			c.strOffsets = b
		}
	}
	return c, nil
}
