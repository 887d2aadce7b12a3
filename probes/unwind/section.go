package unwind

import (
	"cmp"
	"encoding/binary"
	"slices"
	"sort"

	elffile "github.com/tracepredict/tracepredict/probes/elf"
)

// section finds and reads the entries of a section of call frame information: by the linker's index
// if there is one, else by an index of its own, which is built at the first need.
type section struct {
	elffile.CallFrames
	cies    map[int]*cie
	indexed bool
	index   []indexEntry // sorted by lo
}

// indexEntry maps a range of code to the offset of its entry.
type indexEntry struct {
	lo, hi uint64
	at     int
}

// cie is a common information entry.
type cie struct {
	codeAlign       uint64
	dataAlign       uint64 // signed
	ra              int    // the column of the return address
	enc             byte   // encoding of addresses
	hasAugmentation bool   // whether frame entries have augmentation data
	signal          bool   // whether the frames are interrupted ones, not calling ones
	lo, hi          int    // offsets of its instructions
}

// fde is a frame description entry: how to unwind code in [lo, hi).
type fde struct {
	lo, hi  uint64
	cie     *cie
	program []byte
	addr    uint64 // address of program
}

// record has the offsets of the parts of an entry of either kind.
type record struct {
	body, end int
	cie       int // offset of the common entry; -1: this entry is one
}

// Bounds of an index: the largest programs in use have half a million functions.
const (
	maxEntries = 1 << 23
	maxNear    = 16   // entries before an address that are examined: entries should not overlap
	maxCIEs    = 4096 // common entries that are kept: a linked file has some hundreds
)

func newSection(c elffile.CallFrames) *section {
	return &section{CallFrames: c, cies: map[int]*cie{}}
}

// cursor reads bytes [at, end) of the section.
func (s *section) cursor(at, end int) elffile.Cursor {
	return elffile.NewCursor(s.Bytes[at:end], s.Addr+uint64(at), s.Data)
}

// find returns the entry for the code at addr.
func (s *section) find(addr uint64) (fde, bool) {
	if at, ok := s.byLinkerIndex(addr); ok {
		if f, ok := s.entry(at); ok && addr-f.lo < f.hi-f.lo {
			return f, true
		}
	}
	if !s.indexed {
		s.indexed = true
		s.scan()
	}
	i := sort.Search(len(s.index), func(i int) bool { return s.index[i].lo > addr })
	for n := 0; i > 0 && n < maxNear; n++ {
		i--
		if e := s.index[i]; addr < e.hi {
			return s.entry(e.at)
		}
	}
	return fde{}, false
}

// byLinkerIndex searches .eh_frame_hdr (LSB 5.0, section 10.6.2), in the only form that linkers
// write and libgcc searches: sorted pairs of 4-byte distances from the header, of a function and of
// its entry. If they are not sorted, the entry found does not contain the address, which find
// checks.
func (s *section) byLinkerIndex(addr uint64) (at int, ok bool) {
	const version, udata4, pairs, sdata4OfHeader = 1, 0x03, 8, 0x3b
	r := elffile.NewCursor(s.Index, s.IndexAddr, s.IndexAddr)
	if len(s.Index) < 4 || r.U8() != version {
		return 0, false
	}
	start, count, table := r.U8(), r.U8(), r.U8()
	if _, ok := r.Pointer(start); !ok || count != udata4 || table != sdata4OfHeader {
		return 0, false
	}
	n := int(r.U32())
	if r.Failed() || n > r.Left()/pairs {
		return 0, false
	}
	rows := s.Index[r.Pos():]
	word := func(i int) uint64 {
		return s.IndexAddr + uint64(int64(int32(binary.LittleEndian.Uint32(rows[4*i:]))))
	}
	i := sort.Search(n, func(i int) bool { return word(2*i) > addr })
	if i == 0 {
		return 0, false
	}
	offset := word(2*(i-1)+1) - s.Addr
	return int(offset), offset < uint64(len(s.Bytes))
}

// scan builds the index of all entries.
func (s *section) scan() {
	for at := 0; len(s.Bytes)-at >= 4 && len(s.index) < maxEntries; {
		if binary.LittleEndian.Uint32(s.Bytes[at:]) == 0 {
			if s.ZeroTerminated {
				break
			}
			at += 4
			continue
		}
		r, ok := s.record(at)
		if !ok {
			break
		}
		if r.cie >= 0 {
			if f, ok := s.entry(at); ok {
				s.index = append(s.index, indexEntry{f.lo, f.hi, at})
			}
		}
		at = r.end
	}
	slices.SortStableFunc(s.index, func(a, b indexEntry) int { return cmp.Compare(a.lo, b.lo) })
}

// record reads the header of the entry at an offset.
func (s *section) record(at int) (rec record, ok bool) {
	if at < 0 || at >= len(s.Bytes) {
		return rec, false
	}
	r := s.cursor(at, len(s.Bytes))
	n, wide := uint64(r.U32()), false
	if n == 0xffffffff {
		n, wide = r.U64(), true
	}
	if r.Failed() || n < 4 || n > uint64(r.Left()) {
		return rec, false
	}
	field := at + r.Pos()
	rec.end = field + int(n)
	id := uint64(0)
	if wide && s.Debug {
		id = r.U64()
	} else if id = uint64(r.U32()); s.Debug && id == 0xffffffff {
		id = ^uint64(0)
	}
	rec.body = at + r.Pos()
	switch {
	case r.Failed() || rec.body > rec.end:
		return rec, false
	case s.Debug && id == ^uint64(0), !s.Debug && id == 0:
		rec.cie = -1
	case s.Debug:
		rec.cie = int(min(id, uint64(len(s.Bytes))))
	case id > uint64(field):
		return rec, false
	default:
		rec.cie = field - int(id)
	}
	return rec, true
}

// entry reads the frame description entry at an offset.
func (s *section) entry(at int) (f fde, ok bool) {
	rec, ok := s.record(at)
	if !ok || rec.cie < 0 {
		return f, false
	}
	if f.cie = s.common(rec.cie); f.cie == nil {
		return f, false
	}
	r := s.cursor(rec.body, rec.end)
	lo, direct := r.Pointer(f.cie.enc)
	size := r.Value(f.cie.enc &^ 0x08) // a length is unsigned, whatever the encoding says
	if f.cie.hasAugmentation {
		r.Take(r.LEB(false))
	}
	if r.Failed() || !direct || size == 0 || lo+size < lo {
		return f, false
	}
	f.lo, f.hi = lo, lo+size
	at = rec.body + r.Pos()
	f.program, f.addr = s.Bytes[at:rec.end], s.Addr+uint64(at)
	return f, true
}

// common returns the common entry at an offset; nil if there is no valid one.
func (s *section) common(at int) *cie {
	c, known := s.cies[at]
	if known {
		return c
	}
	if rec, ok := s.record(at); ok && rec.cie < 0 {
		c = s.readCommon(rec)
	}
	if len(s.cies) >= maxCIEs {
		clear(s.cies)
	}
	s.cies[at] = c
	return c
}

func (s *section) readCommon(rec record) *cie {
	r := s.cursor(rec.body, rec.end)
	c := &cie{}
	version, augmentation := r.U8(), r.CString()
	if version != 1 && version != 3 && version != 4 {
		return nil
	}
	if augmentation == "eh" { // gcc 2
		r.U64()
	}
	if version == 4 {
		if address, segment := r.U8(), r.U8(); address != 8 || segment != 0 {
			return nil
		}
	}
	c.codeAlign, c.dataAlign = r.LEB(false), r.LEB(true)
	if version == 1 {
		c.ra = int(r.U8())
	} else {
		c.ra = int(min(r.LEB(false), 1<<16))
	}
	switch {
	case augmentation == "" || augmentation == "eh":
	case augmentation[0] != 'z' || !c.augment(&r, augmentation[1:]):
		return nil
	}
	if r.Failed() {
		return nil
	}
	c.lo, c.hi = rec.body+r.Pos(), rec.end
	return c
}

// augment reads augmentation data (LSB 5.0, section 10.6.1.1.1; 'B' is defined by Arm: the key that
// signs return addresses).
func (c *cie) augment(r *elffile.Cursor, letters string) bool {
	c.hasAugmentation = true
	n := r.LEB(false)
	start := r.Pos()
	for _, l := range letters {
		switch l {
		case 'R':
			c.enc = r.U8()
		case 'L':
			r.U8()
		case 'P':
			r.Value(r.U8())
		case 'S':
			c.signal = true
		case 'B', 'G':
		default:
			return false
		}
	}
	read := uint64(r.Pos() - start)
	if r.Failed() || read > n {
		return false
	}
	r.Take(n - read)
	return true
}
