package elf

import (
	"cmp"
	"encoding/binary"
	"slices"
	"sort"

	"github.com/tracepredict/tracepredict/probes/insn"
)

// To find the instructions that use one address, all code must be searched. For many addresses, an
// index of the addresses that code may mention is made once.

// mention is the address of four bytes of code that may denote the address to: as a displacement
// from the end of the instruction, or as an absolute address.
type mention struct{ to, at uint64 }

// maxMentions bounds the number of entries in the index, of 16 bytes each. Code mentions data about
// once in forty bytes.
const maxMentions = 1 << 23

// maxTrailing is the maximum number of bytes of an immediate after a displacement, which is
// relative to the end of the immediate.
const maxTrailing = 4

// Mentions returns the addresses of code, sorted, at which four bytes may denote an address in
// [lo, hi) as an operand of x86-64: a displacement or, in files with a fixed load address, the
// address itself. They include all true mentions. The result is false if there is no index for
// these addresses: they are not in memory that the program may write, the code is not x86-64, or it
// is too large. The code itself must then be searched.
func (f *File) Mentions(lo, hi uint64) ([]uint64, bool) {
	f.mentionsOnce.Do(f.loadMentions)
	if f.mentions == nil || hi <= lo || lo < f.mentionSpan.Lo || hi > f.mentionSpan.Hi {
		return nil, false
	}
	from := lo - min(lo, maxTrailing)
	i := sort.Search(len(f.mentions), func(i int) bool { return f.mentions[i].to >= from })
	var at []uint64
	for ; i < len(f.mentions) && f.mentions[i].to < hi; i++ {
		at = append(at, f.mentions[i].at)
	}
	slices.Sort(at)
	return slices.Compact(at), true
}

func (f *File) loadMentions() {
	if f.arch != insn.AMD64 {
		return
	}
	span := f.writableSpan()
	if span.Lo >= span.Hi {
		return
	}
	all := []mention{}
	for _, text := range f.Text() {
		code, err := f.Bytes(text.Lo, int(text.Hi-text.Lo))
		if err != nil {
			return
		}
		if all = appendMentions(all, code, text.Lo, span, !f.PIE()); len(all) > maxMentions {
			return
		}
	}
	slices.SortFunc(all, func(a, b mention) int { return cmp.Compare(a.to, b.to) })
	f.mentions, f.mentionSpan = slices.Clip(all), span
}

func appendMentions(all []mention, code []byte, base uint64, span Range, fixed bool) []mention {
	lo, size := span.Lo-min(span.Lo, maxTrailing), span.Hi-span.Lo+maxTrailing
	for p := 0; p+4 <= len(code); p++ {
		bytes, at := binary.LittleEndian.Uint32(code[p:]), base+uint64(p)
		if to := at + 4 + uint64(int64(int32(bytes))); to-lo < size {
			all = append(all, mention{to, at})
		}
		if fixed && uint64(bytes)-lo < size {
			all = append(all, mention{uint64(bytes), at})
		}
		if len(all) > maxMentions {
			return all
		}
	}
	return all
}

// beforeSpan is the maximum distance before an object at which an operand that touches it may
// begin, in bytes: a vector's width.
const beforeSpan = 64

// writableSpan returns the range from beforeSpan bytes before the first address that the program
// may write to the last one; empty if there is none.
func (f *File) writableSpan() Range {
	span := Range{Lo: ^uint64(0)}
	for _, s := range f.segments {
		if s.write {
			span.Lo, span.Hi = min(span.Lo, s.addr), max(span.Hi, s.addr+s.memsz)
		}
	}
	if span.Lo < span.Hi {
		span.Lo -= min(span.Lo, beforeSpan)
	}
	return span
}
