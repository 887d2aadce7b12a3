package elf

import (
	"bytes"
	"crypto/sha256"
	"debug/elf"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/tracepredict/tracepredict/probes/insn"
)

// Options states where a file and its debug information are searched for. The zero value means this
// mount namespace and the system's debug directory.
type Options struct {
	// Root is the directory in which paths are resolved, including symbolic links: "/proc/PID/root"
	// for a process in another mount namespace. "" is this process's own root. Root needs Linux 5.6
	// (openat2).
	Root string
	// DebugDirs are the directories of separate debug files, inside Root. nil means /usr/lib/debug.
	// If it is empty but not nil, only the file's own directory is searched.
	DebugDirs []string
	// Path is the path inside Root of a file that is not opened by path. Separate and split debug
	// information is searched for beside it. "": nowhere.
	Path string
	// DebugOnly reports that only the debug information of the file is needed. Its segments may
	// have no content, and it may be an object file.
	DebugOnly bool
}

// File is an open ELF file. Its methods may be called concurrently, but Close must not be called
// while another one runs. Each table is read when it is first used.
type File struct {
	name   string // the name known to the user or the target
	path   string // "" if not opened by path
	opts   Options
	r      io.ReaderAt
	size   uint64
	closer io.Closer

	sectionless error // why the section headers are ignored; nil if they are not
	elf         *elf.File
	order       binary.ByteOrder
	arch        insn.Arch
	segments    []segment
	interp      string
	dyn         dynamic

	further  atomic.Bool // see LookedFurther
	mu       sync.Mutex  // guards problems; no other lock is taken while it is held
	problems []error
	held     holding
	values   sync.Map // key of Once → func() any

	dynsymOnce, symbolsOnce, functionsOnce, pltOnce, gotOnce, separateOnce, debugSymbolsOnce,
	framesOnce, landmarksOnce, entriesOnce, mentionsOnce, pointersOnce, sumOnce sync.Once

	symbols         []Symbol
	dynamic         []Symbol // those of the dynamic table alone
	undefined       []string
	byName          map[string][]int32
	functions       []Range
	frame           frameTable
	frameErr        error
	landmarks       []uint64
	entries         []uint64             // see Entries
	mentions        []mention            // sorted by to; nil: there is no index
	mentionSpan     Range                // the addresses that the index covers
	pointers        []Pointer            // to data, sorted by To
	named           map[string][]Pointer // to symbols, by name
	got             map[uint64]string
	plt             map[uint64]string
	separate        *File
	separateErr     error
	debugSymbols    []Symbol
	debugSymbolsErr error
	sum             [sha256.Size]byte // see Sum
	sumErr          error
}

// segment is a PT_LOAD segment whose content lies within the file.
type segment struct {
	addr, off, filesz, memsz uint64
	exec, write              bool
}

// Open opens the file at path. Errors are of type *Error or those of the operating system. The
// error for a script contains its interpreter.
func Open(path string) (*File, error) { return OpenWith(path, Options{}) }

// OpenWith opens the file at path inside opts.Root.
func OpenWith(path string, opts Options) (*File, error) {
	file, err := openIn(opts.Root, path)
	if err != nil {
		return nil, fmt.Errorf("open binary: %w", err)
	}
	st, err := file.Stat()
	if err == nil && !st.Mode().IsRegular() {
		err = notRegular(path)
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	f := &File{name: path, path: path, opts: opts, r: file, size: uint64(st.Size()), closer: file}
	if err := f.load(); err != nil {
		file.Close()
		return nil, err
	}
	return f, nil
}

func notRegular(path string) error {
	return &Error{Path: path, Kind: ErrNotELF, Offset: NoOffset, Reason: "is not a regular file", Remedy: "name a program"}
}

// openIn opens path for reading without blocking on a FIFO. With a root, symbolic links of the
// target cannot lead out of it.
func openIn(root, path string) (*os.File, error) {
	if root == "" {
		return os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	}
	dir, err := unix.Open(root, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: root, Err: err}
	}
	defer unix.Close(dir)
	// The path is resolved first, and opened only if it is a regular file: opening a device may
	// have an effect.
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_IN_ROOT}
	at, err := unix.Openat2(dir, path, &how)
	if err != nil {
		return nil, &os.PathError{Op: "openat2", Path: filepath.Join(root, path), Err: err}
	}
	defer unix.Close(at)
	var st unix.Stat_t
	if err := unix.Fstat(at, &st); err != nil {
		return nil, &os.PathError{Op: "fstat", Path: filepath.Join(root, path), Err: err}
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return nil, notRegular(path)
	}
	fd, err := unix.Open(fmt.Sprintf("/proc/self/fd/%d", at), unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: filepath.Join(root, path), Err: err}
	}
	return os.NewFile(uintptr(fd), path), nil
}

// New reads an ELF file of size bytes from r. name is its name in errors. r remains for the caller
// to close.
func New(r io.ReaderAt, size int64, name string) (*File, error) {
	return NewWith(r, size, name, Options{})
}

// NewWith is New with options, which state where separate debug files are.
func NewWith(r io.ReaderAt, size int64, name string, opts Options) (*File, error) {
	if size < 0 {
		return nil, &Error{Path: name, Kind: ErrTruncated, Offset: NoOffset, Reason: "has a negative size"}
	}
	f := &File{name: name, path: opts.Path, opts: opts, r: r, size: uint64(size)}
	if err := f.load(); err != nil {
		return nil, err
	}
	return f, nil
}

// Close releases the file and its separate debug file. Data that was read from it before remains
// valid.
func (f *File) Close() error {
	var err error
	f.separateOnce.Do(func() { f.separateErr = ErrClosed })
	if f.separate != nil {
		err = f.separate.Close()
	}
	if f.closer != nil {
		err = errors.Join(err, f.closer.Close())
	}
	return err
}

func (f *File) load() (err error) {
	defer f.Guard("read ELF header", &err)
	h, err := f.header()
	if err != nil {
		return err
	}
	if err := f.checkTables(h); err != nil {
		return err
	}
	if f.elf, err = f.parse(); err != nil {
		return err
	}
	f.order = f.elf.ByteOrder
	if err := f.loadSegments(); err != nil {
		return err
	}
	if !f.opts.DebugOnly {
		f.loadDynamic()
	}
	return nil
}

// parse reads the headers. The kernel runs a program whose section headers are invalid, so section
// headers that cannot be parsed are ignored.
func (f *File) parse() (*elf.File, error) {
	err := f.sectionless
	if err == nil {
		var e *elf.File
		if e, err = elf.NewFile(io.NewSectionReader(f.r, 0, int64(f.size))); err == nil {
			return e, nil
		}
	}
	e, err2 := elf.NewFile(noSections{io.NewSectionReader(f.r, 0, int64(f.size))})
	if err2 != nil {
		return nil, f.Fail(ErrMalformed, NoOffset, "ELF headers: %v", err)
	}
	f.AddProblem(f.Fail(ErrMalformed, NoOffset, "section headers are unreadable and were ignored: %v", err))
	return e, nil
}

// noSections presents a file as if its ELF header had no section table.
type noSections struct{ r io.ReaderAt }

func (n noSections) ReadAt(p []byte, off int64) (int, error) {
	k, err := n.r.ReadAt(p, off)
	blank := func(lo, hi int64) {
		for i := max(lo, off); i < min(hi, off+int64(k)); i++ {
			p[i-off] = 0
		}
	}
	blank(40, 48) // e_shoff
	blank(60, 64) // e_shnum, e_shstrndx
	return k, err
}

func (f *File) loadSegments() error {
	code := min(maxCode, f.size)
	for _, p := range f.elf.Progs {
		switch p.Type {
		case elf.PT_LOAD:
			if err := f.addSegment(p); err != nil {
				return err
			}
			if p.Flags&elf.PF_X != 0 && !f.opts.DebugOnly && !Spend(&code, p.Filesz) {
				return f.Fail(ErrTooLarge, int64(p.Off), "more than %d bytes of code", min(maxCode, f.size))
			}
		case elf.PT_INTERP:
			f.interp = f.readInterp(p)
		}
	}
	return nil
}

// Memory returns the addresses, as linked, from the beginning of the first segment that is loaded to the
// end of the last, in whole pages.
func (f *File) Memory() Range {
	const page = 4096
	var r Range
	for i, s := range f.segments {
		lo, hi := s.addr&^(page-1), s.addr+s.memsz
		if i == 0 || lo < r.Lo {
			r.Lo = lo
		}
		r.Hi = max(r.Hi, hi)
	}
	if r.Hi <= ^uint64(0)-page {
		r.Hi = (r.Hi + page - 1) &^ (page - 1)
	}
	return r
}

func (f *File) addSegment(p *elf.Prog) error {
	filesz := p.Filesz
	if p.Off > f.size || filesz > f.size-p.Off {
		if !f.opts.DebugOnly {
			return f.Fail(ErrTruncated, int64(f.size), "a segment of %d {byte|bytes} at 0x%x ends beyond the file's %d bytes", p.Filesz, p.Off, f.size)
		}
		filesz = 0
	}
	if p.Vaddr+p.Memsz < p.Vaddr || p.Vaddr+filesz < p.Vaddr {
		return f.Fail(ErrMalformed, NoOffset, "a segment at address 0x%x wraps around", p.Vaddr)
	}
	f.segments = append(f.segments, segment{addr: p.Vaddr, off: p.Off, filesz: filesz, memsz: p.Memsz, exec: p.Flags&elf.PF_X != 0, write: p.Flags&elf.PF_W != 0})
	return nil
}

func (f *File) readInterp(p *elf.Prog) string {
	b, err := f.read(p.Off, min(p.Filesz, unix.PathMax))
	if err != nil {
		f.AddProblem(fmt.Errorf("read PT_INTERP: %w", err))
		return ""
	}
	if i := bytes.IndexByte(b, 0); i >= 0 {
		b = b[:i]
	}
	return string(b)
}

// read returns n bytes at a file offset. It allocates no more than the file contains.
func (f *File) read(off, n uint64) ([]byte, error) { return f.readUpTo(off, n, maxRead) }

// readUpTo is read with another bound than maxRead.
func (f *File) readUpTo(off, n, most uint64) ([]byte, error) {
	if off > f.size || n > f.size-off {
		return nil, f.Fail(ErrTruncated, int64(min(off, f.size)), "%d {byte|bytes} wanted at 0x%x, the file has %d", n, off, f.size)
	}
	if n > most {
		return nil, f.Fail(ErrTooLarge, int64(off), "%d {byte|bytes} wanted at 0x%x, at most %d are read", n, off, most)
	}
	b := make([]byte, n)
	k, err := f.r.ReadAt(b, int64(off))
	if uint64(k) == n {
		return b, nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		return nil, f.Fail(ErrTruncated, int64(off)+int64(k), "file ends early")
	}
	return nil, fmt.Errorf("read %s at 0x%x: %w", f.name, off, err)
}

// AddProblem adds an error to Problems, unless it is nil.
func (f *File) AddProblem(err error) {
	if err == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.problems) < 32 {
		f.problems = append(f.problems, err)
	}
}

// Problems returns the errors in parts of the file that could not be read so far (at most 32). A
// file can be usable although, for example, its unwind tables are damaged. Functions and symbols
// may then be missing.
func (f *File) Problems() []error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]error(nil), f.problems...)
}

// Once returns the result of make from the first call of Once with the key. Packages that read one
// part of a file keep the data there.
func (f *File) Once(key any, make func() any) any {
	v, known := f.values.Load(key)
	if !known {
		v, _ = f.values.LoadOrStore(key, sync.OnceValue(make))
	}
	return v.(func() any)()
}

// Arch returns the architecture of the file's code.
func (f *File) Arch() insn.Arch { return f.arch }

// Name returns the path, or the name that was passed to New.
func (f *File) Name() string { return f.name }

// PIE reports whether the kernel chooses the load address, so that a load bias must be added to the
// addresses of this file. It is true for shared libraries too.
func (f *File) PIE() bool { return f.elf.Type == elf.ET_DYN }

// Static reports whether the file needs neither a dynamic loader nor a library.
func (f *File) Static() bool { return f.interp == "" && len(f.dyn.needed) == 0 }

// IsProgram reports whether the file is a program, and no library: it has a fixed address, or its linker says so, or it
// asks for a dynamic loader and has no name by which others need it. A C library may ask for one, to print its version.
func (f *File) IsProgram() bool {
	return f.elf.Type == elf.ET_EXEC || f.dyn.pie || f.interp != "" && f.dyn.soname == ""
}

// LoadsPrograms reports whether the file is a dynamic loader, which itself may be run with a program as its argument: a
// library that needs nothing, and exports what debuggers ask a loader for. Of a static program that is no export.
func (f *File) LoadsPrograms() bool {
	if !f.PIE() || f.IsProgram() || !f.Static() {
		return false
	}
	symbols, _ := f.dynamicSymbols()
	return slices.ContainsFunc(symbols, func(s Symbol) bool { return s.Name == "_dl_debug_state" && !s.Local })
}

// Interp returns the path of the dynamic loader that the file requests, or "".
func (f *File) Interp() string { return f.interp }

// Needed returns the names of the libraries (DT_NEEDED) in the file's order.
func (f *File) Needed() []string { return append([]string(nil), f.dyn.needed...) }

// HasRunPath reports whether the file says where libraries that it needs lie (DT_RPATH, DT_RUNPATH).
func (f *File) HasRunPath() bool { return f.dyn.runPath }

// SOName returns the name by which other files need this library (DT_SONAME), or "".
func (f *File) SOName() string { return f.dyn.soname }

// Entry returns the address of the first instruction, as linked.
func (f *File) Entry() uint64 { return f.elf.Entry }

// HasSymbols reports whether the file itself has a full symbol table.
func (f *File) HasSymbols() bool {
	s := f.elf.SectionByType(elf.SHT_SYMTAB)
	return s != nil && s.FileSize >= 2*symSize
}

// IsGo reports whether Go's linker made the file. Its locks are then those of Go's run-time system,
// which are not functions in the table of calls.
func (f *File) IsGo() bool { return f.elf.Section(".go.buildinfo") != nil }

// MaxBuildID bounds a build identifier, in bytes, well above the 20 of a SHA-1. maxNotes bounds the
// bytes of notes that are read: a linked file has a few hundred.
const (
	MaxBuildID = 64
	maxNotes   = 1 << 20
)

// BuildID returns the build identifier in lower-case hex, or "".
func (f *File) BuildID() string {
	left := uint64(maxNotes)
	for _, s := range f.elf.Sections {
		if s.Type == elf.SHT_NOTE {
			if id := f.buildIDIn(s.Offset, s.FileSize, &left); id != "" {
				return id
			}
		}
	}
	for _, p := range f.elf.Progs {
		if p.Type == elf.PT_NOTE && !f.opts.DebugOnly {
			if id := f.buildIDIn(p.Off, p.Filesz, &left); id != "" {
				return id
			}
		}
	}
	return ""
}

// buildIDIn returns the build identifier in a table of notes, or "".
func (f *File) buildIDIn(off, n uint64, left *uint64) string {
	const ntGNUBuildID = 3
	n = min(n, *left)
	*left -= n
	b, err := f.read(off, n)
	if err != nil {
		return ""
	}
	for len(b) >= 12 {
		nameLen, descLen, typ := uint64(f.order.Uint32(b)), uint64(f.order.Uint32(b[4:])), f.order.Uint32(b[8:])
		descAt := 12 + align4(nameLen)
		if descAt+descLen > uint64(len(b)) {
			return ""
		}
		if typ == ntGNUBuildID && string(b[12:12+nameLen]) == "GNU\x00" && descLen > 0 && descLen <= MaxBuildID {
			return hex.EncodeToString(b[descAt : descAt+descLen])
		}
		b = b[min(descAt+align4(descLen), uint64(len(b))):]
	}
	return ""
}

func align4(n uint64) uint64 { return (n + 3) &^ 3 }

// Text returns the executable sections, or the executable segments of a file
// without section headers, sorted.
func (f *File) Text() []Range {
	var out []Range
	for _, s := range f.elf.Sections {
		if s.Flags&elf.SHF_EXECINSTR != 0 && s.Flags&elf.SHF_ALLOC != 0 && s.Size > 0 && s.Addr+s.Size > s.Addr {
			out = append(out, Range{s.Addr, s.Addr + s.Size})
		}
	}
	if len(out) == 0 {
		for _, s := range f.segments {
			if s.exec && s.filesz > 0 {
				out = append(out, Range{s.addr, s.addr + s.filesz})
			}
		}
	}
	return splitUnion(out)
}

// TextSize returns the number of bytes of code.
func (f *File) TextSize() (n uint64) {
	for _, r := range f.Text() {
		n += r.Hi - r.Lo
	}
	return n
}

// Bytes returns up to n bytes of the loaded image at addr as they are in the file, before
// relocation. The result is shorter where the segment's content ends. It may be shared and must not
// be changed. Errors match ErrAddress (errors.Is).
func (f *File) Bytes(addr uint64, n int) ([]byte, error) {
	if n < 0 {
		return nil, f.Fail(ErrAddress, NoOffset, "%d {byte|bytes} wanted at address 0x%x", n, addr)
	}
	return f.image(addr, uint64(n))
}

// exactly returns n bytes as Bytes does, or an error if there are fewer.
func (f *File) exactly(addr, n uint64) ([]byte, error) {
	b, err := f.image(addr, n)
	if err == nil && uint64(len(b)) < n {
		return nil, f.Fail(ErrAddress, NoOffset, "no %d {byte|bytes} at address 0x%x", n, addr)
	}
	return b, err
}

func (f *File) segmentAt(addr uint64) *segment {
	for i := range f.segments {
		if s := &f.segments[i]; s.addr <= addr && addr-s.addr < s.filesz {
			return s
		}
	}
	return nil
}

// available returns the number of bytes from addr to the end of its segment's content.
func (f *File) available(addr uint64) uint64 {
	if s := f.segmentAt(addr); s != nil {
		return s.filesz - (addr - s.addr)
	}
	return 0
}

// Offset returns the file offset of a virtual address, which the kernel needs for a uprobe. Errors
// match ErrAddress (errors.Is).
func (f *File) Offset(addr uint64) (uint64, error) {
	s := f.segmentAt(addr)
	if s == nil {
		return 0, f.Fail(ErrAddress, NoOffset, "address 0x%x has no content in the file", addr)
	}
	return s.off + (addr - s.addr), nil
}

// Addr returns the virtual address of a file offset; the one in the executable segment if segments
// share content. Errors match ErrAddress (errors.Is).
func (f *File) Addr(offset uint64) (uint64, error) {
	var found *segment
	for i := range f.segments {
		s := &f.segments[i]
		if s.off <= offset && offset-s.off < s.filesz && (found == nil || s.exec && !found.exec) {
			found = s
		}
	}
	if found == nil {
		return 0, f.Fail(ErrAddress, int64(min(offset, 1<<62)), "offset is in no segment")
	}
	return found.addr + (offset - found.off), nil
}

// sectionName returns the name of section i, for messages and symbols; "" if there is none.
func (f *File) sectionName(i int) string {
	if i <= 0 || i >= len(f.elf.Sections) {
		return ""
	}
	return strings.Clone(f.elf.Sections[i].Name)
}
