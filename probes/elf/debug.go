package elf

import (
	"bytes"
	"compress/zlib"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path"
	"strings"
)

// maxExpansion bounds the size that a compressed section claims, as a multiple of its size in the
// file. It does not apply up to maxUnchecked bytes. Debug information compresses two- to tenfold.
const (
	maxExpansion = 64
	maxUnchecked = 16 << 20
)

// DebugSections returns the sections .debug_NAME and .zdebug_NAME whose content is
// in the file. Object files can have several of one name.
func (f *File) DebugSections(name string) []*elf.Section {
	var out []*elf.Section
	for _, s := range f.elf.Sections {
		if s.Type != elf.SHT_NOBITS && (s.Name == ".debug_"+name || s.Name == ".zdebug_"+name) {
			out = append(out, s)
		}
	}
	return out
}

// LinkSection returns the content of a section that contains the name of another file; nil if there
// is none, or it is longer than a name may be.
func (f *File) LinkSection(name string) []byte {
	s := f.elf.Section(name)
	if s == nil || s.Type == elf.SHT_NOBITS || s.FileSize > maxName {
		return nil
	}
	b, err := f.SectionData(s)
	if err != nil {
		return nil
	}
	return b
}

// SectionData returns the content of a section, uncompressed.
func (f *File) SectionData(s *elf.Section) (b []byte, err error) {
	defer f.Guard("read section "+s.Name, &err)
	if s.Flags&elf.SHF_COMPRESSED != 0 {
		if err := f.checkExpansion(s, s.Size); err != nil {
			return nil, err
		}
		if b, err = s.Data(); err != nil {
			return nil, f.Fail(ErrMalformed, int64(s.Offset), "section %s: %v", s.Name, err)
		}
		return b, nil
	}
	if b, err = f.readUpTo(s.Offset, s.FileSize, MaxDebug); err != nil {
		return nil, fmt.Errorf("read section %s: %w", s.Name, err)
	}
	if strings.HasPrefix(s.Name, ".zdebug_") {
		return f.inflate(s, b)
	}
	return b, nil
}

// checkExpansion checks the size that a compressed section claims, before any of it is
// uncompressed.
func (f *File) checkExpansion(s *elf.Section, size uint64) error {
	if size > maxUnchecked && size/maxExpansion > s.FileSize || size > MaxDebug {
		return f.Fail(ErrTooLarge, int64(s.Offset), "compressed section %s has %d {byte|bytes} and claims %d", s.Name, s.FileSize, size)
	}
	return nil
}

// inflate uncompresses a .zdebug section, GNU's format before that of the ELF standard: "ZLIB", the
// size in 8 bytes big-endian, the stream.
func (f *File) inflate(s *elf.Section, b []byte) ([]byte, error) {
	if len(b) < 12 || string(b[:4]) != "ZLIB" {
		return b, nil
	}
	n := binary.BigEndian.Uint64(b[4:])
	bad := func(err error) error {
		return f.Fail(ErrMalformed, int64(s.Offset), "section %s: %v", s.Name, err)
	}
	if err := f.checkExpansion(s, n); err != nil {
		return nil, err
	}
	z, err := zlib.NewReader(bytes.NewReader(b[12:]))
	if err != nil {
		return nil, bad(err)
	}
	var out bytes.Buffer
	if k, err := io.CopyN(&out, z, int64(n)); err != nil {
		return nil, bad(fmt.Errorf("ends after %d of %d bytes: %w", k, n, err))
	}
	return out.Bytes(), nil
}

// DebugSymbols returns Symbols joined with the symbol table of the separate debug file, if one is
// installed: it contains a library's internal names. The list is valid even if there is an error,
// which states why a separate file could not be used. The slice is shared and must not be changed.
func (f *File) DebugSymbols() ([]Symbol, error) {
	f.debugSymbolsOnce.Do(f.loadDebugSymbols)
	return f.debugSymbols, f.debugSymbolsErr
}

func (f *File) loadDebugSymbols() {
	f.debugSymbols = f.Symbols()
	if f.HasSymbols() {
		return
	}
	d, err := f.DebugFile()
	if err != nil || d == nil {
		f.debugSymbolsErr = err
		return
	}
	more, err := d.staticSymbols()
	if err != nil {
		f.debugSymbolsErr = err
		return
	}
	f.debugSymbols = mergeSymbols(f.Symbols(), more)
}

// DebugPath returns the path of the separate debug file in use, or "".
func (f *File) DebugPath() string {
	if d, _ := f.DebugFile(); d != nil {
		return d.name
	}
	return ""
}

// DebugFile returns the separate debug file; nil and no error if there is none.
func (f *File) DebugFile() (*File, error) {
	f.separateOnce.Do(func() {
		if !f.opts.DebugOnly {
			f.separate, f.separateErr = f.findDebugFile()
		}
	})
	return f.separate, f.separateErr
}

// findDebugFile searches where gdb does (manual, "Separate Debug Files"). A file of another build
// is skipped, and reported only if no matching one is found.
func (f *File) findDebugFile() (*File, error) {
	var errs []error
	for _, c := range f.debugCandidates() {
		d, err := f.tryDebugFile(c)
		if err == nil {
			return d, nil
		}
		if !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return nil, errors.Join(errs...)
}

// candidate is a possible path of a separate debug file. If hasCRC, the whole file must have the
// checksum crc.
type candidate struct {
	path   string
	hasCRC bool
	crc    uint32
}

// DebugDirs returns the directories of separate debug files.
func (f *File) DebugDirs() []string {
	if f.opts.DebugDirs == nil {
		return []string{"/usr/lib/debug"}
	}
	return f.opts.DebugDirs
}

// OpenDebug opens another file that has debug information of this one, with the same options and
// Options.DebugOnly.
func (f *File) OpenDebug(path string) (*File, error) {
	f.further.Store(true)
	return f.openDebug(path)
}

// LookedFurther reports whether debug information has been looked for in other files than this one and
// its separate debug file.
func (f *File) LookedFurther() bool {
	d, _ := f.DebugFile()
	return f.further.Load() || d != nil && d.further.Load()
}

func (f *File) openDebug(path string) (*File, error) {
	opts := f.opts
	opts.DebugOnly = true
	return OpenWith(path, opts)
}

func (f *File) debugCandidates() []candidate {
	dirs := f.DebugDirs()
	var out []candidate
	if id := f.BuildID(); len(id) > 2 {
		for _, d := range dirs {
			out = append(out, candidate{path: path.Join(d, ".build-id", id[:2], id[2:]+".debug")})
		}
	}
	name, crc, ok := f.debugLink()
	if !ok || f.path == "" {
		return out
	}
	dir := path.Dir(f.ResolvedPath())
	places := []string{dir, path.Join(dir, ".debug")}
	for _, d := range dirs {
		places = append(places, path.Join(d, dir))
	}
	for _, p := range places {
		out = append(out, candidate{path.Join(p, name), true, crc})
	}
	return out
}

// ResolvedPath returns the file's path with symbolic links resolved, as the kernel knows the
// descriptor. Inside a root it returns the path as given, and "" for a file that was not opened by
// path.
func (f *File) ResolvedPath() string {
	if f.path == "" {
		return ""
	}
	if file, ok := f.r.(*os.File); ok && f.opts.Root == "" {
		p, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", file.Fd()))
		if err == nil && path.IsAbs(p) {
			return p
		}
	}
	return f.path
}

// debugLink reads .gnu_debuglink, which contains a file name, padding to 4 bytes and a CRC-32.
func (f *File) debugLink() (name string, crc uint32, ok bool) {
	s := f.elf.Section(".gnu_debuglink")
	if s == nil || s.Type == elf.SHT_NOBITS || s.FileSize > maxName {
		return "", 0, false
	}
	b, err := f.SectionData(s)
	if err != nil {
		return "", 0, false
	}
	end := bytes.IndexByte(b, 0)
	if end <= 0 {
		return "", 0, false
	}
	name = string(b[:end])
	at := align4(uint64(end) + 1)
	if at+4 > uint64(len(b)) || strings.ContainsRune(name, '/') || name == ".." {
		return "", 0, false
	}
	return name, f.order.Uint32(b[at:]), true
}

func (f *File) tryDebugFile(c candidate) (*File, error) {
	d, err := f.openDebug(c.path)
	if err != nil {
		return nil, err
	}
	if err := f.matches(d, c); err != nil {
		d.Close()
		return nil, err
	}
	return d, nil
}

func (f *File) matches(d *File, c candidate) error {
	own, theirs := f.BuildID(), d.BuildID()
	// A file found by checksum may lack the build identifier, as may this file. A file found by the
	// identifier must have the same.
	if d.arch != f.arch || own != theirs && (!c.hasCRC || own != "" && theirs != "") {
		return d.Fail(ErrDebugFile, NoOffset, "belongs to another build of %s (%s, not %s)", f.name, theirs, own)
	}
	if !c.hasCRC {
		return nil
	}
	if d.size > maxChecksum {
		return d.Fail(ErrTooLarge, NoOffset, "has %d bytes: the checksum that %s asks for is taken of %d at most", d.size, f.name, uint64(maxChecksum))
	}
	sum := crc32.NewIEEE()
	if _, err := io.Copy(sum, io.NewSectionReader(d.r, 0, int64(d.size))); err != nil {
		return fmt.Errorf("checksum of %s: %w", d.name, err)
	}
	if sum.Sum32() != c.crc {
		return d.Fail(ErrDebugFile, NoOffset, "has checksum %08x, %s asks for %08x", sum.Sum32(), f.name, c.crc)
	}
	return nil
}
