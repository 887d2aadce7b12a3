package elf

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path"
	"strings"
)

// supplementLink names the supplementary file of a file's debug information.
type supplementLink struct {
	name string
	id   string // its build identifier, or for DWARF 5 its checksum, in hex
	sup  bool   // DWARF 5: the checksum is in the file's .debug_sup
}

// supplementLink reads .gnu_debugaltlink, which is a file name and a build
// identifier, or .debug_sup (DWARF 5, section 7.3.6).
func (f *File) supplementLink() (supplementLink, bool) {
	if b := f.linkSection(".gnu_debugaltlink"); b != nil {
		name, id, ok := bytes.Cut(b, []byte{0})
		return supplementLink{name: string(name), id: hex.EncodeToString(id)}, ok && len(name) > 0 && len(id) <= maxBuildID
	}
	is, l := f.debugSup()
	return l, !is && l.name != "" && l.id != ""
}

// linkSection reads a section that holds a name; nil if there is none.
func (f *File) linkSection(name string) []byte {
	s := f.elf.Section(name)
	if s == nil || s.Type == elf.SHT_NOBITS || s.FileSize > maxName {
		return nil
	}
	b, err := f.sectionData(s)
	if err != nil {
		return nil
	}
	return b
}

// debugSup reads .debug_sup; is says that the file is a supplementary one.
func (f *File) debugSup() (is bool, l supplementLink) {
	r := lineHeader{b: f.linkSection(".debug_sup")}
	if version := binary.LittleEndian.Uint16(r.skip(2)); version < 2 || version > 5 {
		return false, l
	}
	is = r.skip(1)[0] == 1
	l.name = strings.TrimSuffix(string(r.skip(stringLen(r.b))), "\x00")
	l.id, l.sup = hex.EncodeToString(r.skip(r.uleb())), true
	if r.bad {
		return false, supplementLink{}
	}
	return is, l
}

// joinSupplement adds the sections of the supplementary file to the file's own.
// Where that cannot be done these stay as they are, and supplementErr says why.
func (f *File) joinSupplement() {
	l, ok := f.supplementLink()
	if !ok {
		return
	}
	all, err := f.withSupplement(l)
	if err != nil {
		f.supplementErr = fmt.Errorf("part of the debug information of %s is in %s, made by dwz, which is not read (install the debug symbols of exactly this build, or compile with -g): %w", f.name, l.name, err)
		return
	}
	f.sections, f.joined = all, true
}

func (f *File) withSupplement(l supplementLink) (all debugSections, err error) {
	defer f.guard("join with the supplementary file", &err)
	d, err := f.findSupplement(l)
	if err != nil {
		return nil, err
	}
	defer d.Close() // what is needed of it is read here
	sup := debugSections{}
	for _, name := range dwarfSections {
		s := d.debugSection(name)
		if s == nil {
			continue
		}
		if sup[name], err = d.sectionData(s); err != nil {
			return nil, err
		}
		if !spend(&f.debugLeft, 2*uint64(len(sup[name]))+uint64(len(f.sections[name]))) {
			return nil, d.fail(ErrTooLarge, int64(s.Offset), "more than %d bytes of debug information", uint64(maxDebug))
		}
	}
	if err := checkSections(sup); err != nil {
		return nil, d.fail(ErrMalformed, noOffset, "debug information: %v", err)
	}
	if all, err = supplement(f.sections, sup); err != nil {
		return nil, d.fail(ErrMalformed, noOffset, "debug information: %v", err)
	}
	return all, checkSections(all)
}

// findSupplement opens the file that a link names. One of another build is passed
// over.
func (f *File) findSupplement(l supplementLink) (*File, error) {
	err := error(&os.PathError{Op: "open", Path: l.name, Err: os.ErrNotExist})
	for _, name := range f.supplementPlaces(l) {
		d, failed := openFile(name, f.opts, true)
		if failed == nil {
			if d.isSupplement(l) {
				return d, nil
			}
			failed = d.fail(ErrDebugFile, noOffset, "belongs to another build of %s", f.name)
			d.Close()
		}
		if errors.Is(err, os.ErrNotExist) {
			err = failed
		}
	}
	return nil, err
}

func (f *File) isSupplement(l supplementLink) bool {
	if !l.sup {
		return f.BuildID() == l.id
	}
	is, own := f.debugSup()
	return is && own.id == l.id
}

// supplementPlaces are where gdb looks: where the link says, seen from the file
// that has it, else by build identifier; and below each directory of debug files
// what the link says of the system's.
func (f *File) supplementPlaces(l supplementLink) []string {
	const system = "/usr/lib/debug"
	dirs := f.opts.DebugDirs
	if dirs == nil {
		dirs = []string{system}
	}
	var out []string
	if !path.IsAbs(l.name) && f.path != "" {
		out = append(out, path.Join(path.Dir(f.resolvedPath()), l.name))
	}
	for _, d := range dirs {
		if rest, ok := strings.CutPrefix(path.Clean(l.name), system+"/"); ok {
			out = append(out, path.Join(d, rest))
		} else if path.IsAbs(l.name) {
			out = append(out, l.name)
		}
		if !l.sup && len(l.id) > 2 {
			out = append(out, path.Join(d, ".build-id", l.id[:2], l.id[2:]+".debug"))
		}
	}
	return out
}
