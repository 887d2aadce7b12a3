package dwarf

import (
	"debug/dwarf"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/tracepredict/tracepredict/internal/plural"
	"github.com/tracepredict/tracepredict/probes/elf"
)

// The standard library's reader of debug information is safe only for well-formed data. Hostile
// data can make it work or allocate disproportionately: units that each read the same whole table
// of abbreviations, an entry of one byte that has a hundred thousand attributes, one long name that
// every entry refers to. So headers and abbreviations are checked before it sees them, and entries
// are read through Entries, which counts. Layout: DWARF 5, sections 7.5.1 and 7.5.3; DWARF 4, the
// same.

const (
	// minUnit is the minimum length of a unit: version, offset of abbreviations, size of an
	// address.
	minUnit = 7
	// maxAttributes bounds the attributes of one abbreviation; compilers use about twenty. Many
	// forms need no byte in the entry.
	maxAttributes = 128
)

// Unit is a unit of debug information, as its header describes it: DWARF 5, section
// 7.5.1; DWARF 4, 7.5.1.1. Offsets are those of the section.
type Unit struct {
	Start, Entry, End dwarf.Offset // the header, the first entry, the end
	Version           uint16
	// Type and Signature, for a type unit, are the type's entry and the number by which other units
	// refer to it. For a skeleton or split unit, Signature is the number that both have in common.
	Type      dwarf.Offset
	Signature uint64

	kind     byte   // DW_UT_*: DWARF 5, section 7.5.1; 0: padding
	abbrev   uint64 // offset of its abbreviations in .debug_abbrev
	abbrevAt int    // offset in the section of the header field that contains abbrev
	word     int    // bytes of an offset
	address  int    // bytes of an address
	refAddr  int    // bytes of a reference to another unit
}

// Kinds of unit.
const (
	unitCompile   = 1
	unitType      = 2
	unitSkeleton  = 4
	unitSplit     = 5
	unitSplitType = 6
)

// isType reports whether the unit describes a type that others refer to.
func (u *Unit) isType() bool { return u.kind == unitType || u.kind == unitSplitType }

// HasCode reports whether the unit can describe code: it is a compilation unit, or
// the skeleton of one.
func (u *Unit) HasCode() bool { return u.kind == unitCompile || u.kind == unitSkeleton }

// eachUnit calls visit for the units of a section, .debug_info or .debug_types, until visit fails.
// Offsets in errors are those of the section.
func eachUnit(section string, b []byte, visit func(Unit) error) error {
	for at := 0; len(b)-at >= 4; {
		u, err := readUnit(section, b, at)
		if err == nil && u.kind != 0 {
			err = visit(u)
		}
		if err != nil {
			return err
		}
		at = int(u.End)
	}
	return nil
}

// readUnit returns the unit whose header is at an offset. Padding is a unit of kind 0. A unit
// without entries has Entry 0.
func readUnit(section string, b []byte, at int) (u Unit, err error) {
	order := binary.LittleEndian
	n, body := uint64(order.Uint32(b[at:])), at+4
	u = Unit{Start: dwarf.Offset(at), word: 4}
	if n == 0xffffffff && len(b)-at >= 12 {
		n, body, u.word = order.Uint64(b[at+4:]), at+12, 8
	}
	switch {
	case n == 0:
		u.End = dwarf.Offset(body)
		return u, nil
	case n > uint64(len(b)-body):
		return u, errors.New(plural.Sprintf("the unit at 0x%x of .debug_%s has %d {byte|bytes}, the section %d more", at, section, n, len(b)-body))
	case n < minUnit:
		return u, errors.New(plural.Sprintf("the unit at 0x%x of .debug_%s has %d {byte|bytes}", at, section, n))
	}
	u.End = dwarf.Offset(body + int(n))
	r := elf.NewCursor(b[body:u.End], 0, 0)
	u.Version, u.kind = r.U16(), unitCompile
	five := u.Version >= 5 && section != "types"
	switch {
	case five:
		u.kind, u.address = r.U8(), int(r.U8())
	case section == "types":
		u.kind = unitType
	}
	u.abbrevAt = body + r.Pos()
	u.abbrev = r.Uint(u.word)
	if !five {
		u.address = int(r.U8())
	}
	if r.Failed() {
		return u, errors.New(plural.Sprintf("the unit at 0x%x of .debug_%s has %d {byte|bytes}", at, section, n))
	}
	if u.refAddr = u.word; u.Version < 3 {
		u.refAddr = u.address
	}
	switch u.kind {
	case unitSkeleton, unitSplit:
		u.Signature = r.U64()
	case unitType, unitSplitType:
		u.Signature = r.U64()
		u.Type = u.Start + dwarf.Offset(r.Uint(u.word))
	case 0:
		u.kind = 0xff // a kind that DWARF does not define, but not padding
	}
	if !r.Failed() && r.Left() > 0 {
		u.Entry = dwarf.Offset(body + r.Pos())
	}
	return u, nil
}

// unitsOf returns the units of a section that have an entry, up to the first malformed one.
func unitsOf(section string, b []byte) []Unit {
	var out []Unit
	_ = eachUnit(section, b, func(u Unit) error {
		if u.Entry != 0 {
			out = append(out, u)
		}
		return nil
	})
	return out
}

// units returns the units of .debug_info that can describe code. Type units and partial units have
// no code of their own.
func units(info []byte) []Unit {
	var out []Unit
	for _, u := range unitsOf("info", info) {
		if u.HasCode() {
			out = append(out, u)
		}
	}
	return out
}

// checkUnits checks the headers of .debug_info or .debug_types and the tables of abbreviations that
// they refer to. Offsets in errors are those of the section.
func checkUnits(section string, info, abbrev []byte) error {
	seen := map[uint64]bool{}
	left := 2*len(abbrev) + 1<<16 // the tables of a well-formed file do not overlap
	return eachUnit(section, info, func(u Unit) error {
		if seen[u.abbrev] || u.abbrev >= uint64(len(abbrev)) {
			return nil
		}
		seen[u.abbrev] = true
		size, err := checkAbbreviations(abbrev[u.abbrev:], left)
		if err != nil {
			return fmt.Errorf("abbreviations at 0x%x of .debug_abbrev: %w", u.abbrev, err)
		}
		left -= size
		return nil
	})
}

// attribute is an attribute of an abbreviation: its name, the form of its value, and the bytes [at,
// to) that encode the form.
type attribute struct {
	name   dwarf.Attr
	form   uint64
	at, to int
}

// readAbbreviation reads an abbreviation, and calls visit for each of its attributes until visit
// returns false. Code 0 ends a table.
func readAbbreviation(r *elf.Cursor, visit func(attribute) bool) (code uint64, tag dwarf.Tag, children bool) {
	if code = r.LEB(false); code == 0 {
		return 0, 0, false
	}
	tag, children = dwarf.Tag(r.LEB(false)), r.U8() != 0
	for !r.Failed() {
		a := attribute{name: dwarf.Attr(r.LEB(false)), at: r.Pos()}
		a.form = r.LEB(false)
		a.to = r.Pos()
		if a.form == formImplicitConst {
			r.LEB(true)
		}
		if a.name == 0 && a.form == 0 || r.Failed() || !visit(a) {
			break
		}
	}
	return code, tag, children
}

// checkAbbreviations returns the size of a table, which may be at most left. A truncated table is
// accepted here: its reader rejects it.
func checkAbbreviations(b []byte, left int) (int, error) {
	r := elf.NewCursor(b[:min(len(b), left)], 0, 0)
	for {
		n := 0
		code, _, _ := readAbbreviation(&r, func(attribute) bool { n++; return n <= maxAttributes })
		switch {
		case n > maxAttributes:
			return 0, fmt.Errorf("%w: more than %d attributes in one", elf.ErrMalformed, maxAttributes)
		case r.Failed() && r.Left() > 0:
			return 0, fmt.Errorf("%w: a number of more than 64 bits", elf.ErrMalformed)
		case r.Failed() && left < len(b):
			return 0, fmt.Errorf("%w: the tables of units overlap", elf.ErrMalformed)
		case code == 0 || r.Failed():
			return r.Pos(), nil
		}
	}
}

// Forms of values: DWARF 5, table 7.6, and GNU's.
const (
	formAddr          = 0x01
	formBlock2        = 0x03
	formBlock4        = 0x04
	formData2         = 0x05
	formData4         = 0x06
	formData8         = 0x07
	formString        = 0x08
	formBlock         = 0x09
	formBlock1        = 0x0a
	formData1         = 0x0b
	formFlag          = 0x0c
	formSdata         = 0x0d
	formStrp          = 0x0e
	formUdata         = 0x0f
	formRefAddr       = 0x10
	formRef4          = 0x13
	formRef8          = 0x14
	formRefUdata      = 0x15
	formIndirect      = 0x16
	formSecOffset     = 0x17
	formExprloc       = 0x18
	formFlagPresent   = 0x19
	formStrx          = 0x1a
	formAddrx         = 0x1b
	formRefSup4       = 0x1c
	formStrpSup       = 0x1d
	formLineStrp      = 0x1f
	formImplicitConst = 0x21 // the value is in the abbreviation
	formLoclistx      = 0x22
	formRnglistx      = 0x23
	formRefSup8       = 0x24
	formStrx1         = 0x25
	formAddrx1        = 0x29
	formAddrx2        = 0x2a
	formAddrx4        = 0x2c
	formGNUAddrIndex  = 0x1f01
	formGNUStrIndex   = 0x1f02
	formGNURefAlt     = 0x1f20
	formGNUStrAlt     = 0x1f21
)

// formSizes are the sizes of the forms that have a fixed size: DWARF 5, section 7.5.6.
var formSizes = [...]uint8{
	formData2: 2, formData4: 4, formData8: 8, formData1: 1, formFlag: 1, 0x11: 1, 0x12: 2, formRef4: 4, formRef8: 8, formRefSup4: 4,
	0x1e: 16, 0x20: 8, formRefSup8: 8, formStrx1: 1, 0x26: 2, 0x27: 3, 0x28: 4, formAddrx1: 1, formAddrx2: 2, 0x2b: 3, formAddrx4: 4,
}

// skipForm skips a value in a unit's entry; known is false if the form is unknown.
func (u *Unit) skipForm(r *elf.Cursor, form uint64) (known bool) {
	if form < uint64(len(formSizes)) && formSizes[form] > 0 {
		r.Skip(uint64(formSizes[form]))
		return true
	}
	switch form {
	case formFlagPresent, formImplicitConst:
	case formAddr:
		r.Skip(uint64(u.address))
	case formStrp, formSecOffset, formStrpSup, formLineStrp, formGNURefAlt, formGNUStrAlt:
		r.Skip(uint64(u.word))
	case formRefAddr:
		r.Skip(uint64(u.refAddr))
	case formSdata, formUdata, formRefUdata, formStrx, formAddrx, formLoclistx, formRnglistx:
		r.LEB(false)
	case formBlock, formExprloc:
		r.Skip(r.LEB(false))
	case formBlock1:
		r.Skip(r.Uint(1))
	case formBlock2:
		r.Skip(r.Uint(2))
	case formBlock4:
		r.Skip(r.Uint(4))
	case formString:
		r.SkipString()
	default:
		return false
	}
	return true
}
