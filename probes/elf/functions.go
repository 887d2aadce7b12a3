package elf

import (
	"slices"
	"sort"
)

// Functions returns the extents of functions, sorted and disjoint, inside Text: those of the unwind
// table and, where it has none, those of symbols that have a size. A function that the compiler
// split has several extents. The procedure linkage table counts as one function. Extents that
// overlap are split at the beginning of each. The slice is shared and must not be changed.
func (f *File) Functions() []Range {
	f.functionsOnce.Do(func() { f.functions = f.loadFunctions() })
	return f.functions
}

// FunctionAt returns the extent that contains addr.
func (f *File) FunctionAt(addr uint64) (Range, bool) {
	return rangeAt(f.Functions(), addr)
}

// rangeAt returns the range that contains addr; rs must be sorted and disjoint.
func rangeAt(rs []Range, addr uint64) (Range, bool) {
	i := sort.Search(len(rs), func(i int) bool { return rs[i].Hi > addr })
	if i < len(rs) && rs[i].Contains(addr) {
		return rs[i], true
	}
	return Range{}, false
}

func (f *File) loadFunctions() []Range {
	frames, _ := f.frames() // an error has been added to Problems
	text := f.Text()
	var symbols []Range
	for _, s := range f.Symbols() {
		if (s.Kind == Func || s.Kind == IFunc) && s.Size > 0 && s.Addr+s.Size > s.Addr {
			symbols = append(symbols, Range{s.Addr, s.Addr + s.Size})
		}
	}
	return mergeExtents(within(frames, text), within(symbols, text))
}

// within returns the ranges that lie completely in one of the sorted, disjoint areas.
func within(rs, areas []Range) []Range {
	var out []Range
	for _, r := range rs {
		if a, ok := rangeAt(areas, r.Lo); ok && r.Hi <= a.Hi {
			out = append(out, r)
		}
	}
	return out
}

// mergeExtents joins the extents of frames with those parts of symbols that no frame covers. Unwind
// tables have priority: the assembler makes them from the code, whereas the sizes of symbols
// written by hand may be wrong.
func mergeExtents(frames, symbols []Range) []Range {
	base := splitUnion(frames)
	out := append(slices.Clone(base), subtract(splitUnion(symbols), base)...)
	slices.SortFunc(out, compareRange)
	return out
}

func compareRange(a, b Range) int {
	switch {
	case a.Lo < b.Lo || a.Lo == b.Lo && a.Hi < b.Hi:
		return -1
	case a == b:
		return 0
	}
	return 1
}

// splitUnion returns the union of the ranges as sorted, disjoint ranges, split at the start of each
// range. Empty ranges are dropped.
func splitUnion(rs []Range) []Range {
	rs = slices.DeleteFunc(slices.Clone(rs), func(r Range) bool { return r.Lo >= r.Hi })
	slices.SortFunc(rs, compareRange)
	var out []Range
	hi := uint64(0)
	for i, r := range rs {
		hi = max(hi, r.Hi)
		if i+1 < len(rs) && rs[i+1].Lo == r.Lo {
			continue
		}
		end := hi
		if i+1 < len(rs) {
			end = min(end, rs[i+1].Lo)
		}
		out = append(out, Range{r.Lo, end})
	}
	return out
}

// subtract returns the parts of a that b does not cover; both are sorted and
// disjoint.
func subtract(a, b []Range) []Range {
	var out []Range
	j := 0
	for _, r := range a {
		for j < len(b) && b[j].Hi <= r.Lo {
			j++
		}
		for k := j; k < len(b) && b[k].Lo < r.Hi; k++ {
			if r.Lo < b[k].Lo {
				out = append(out, Range{r.Lo, b[k].Lo})
			}
			r.Lo = min(b[k].Hi, r.Hi)
		}
		if r.Lo < r.Hi {
			out = append(out, r)
		}
	}
	return out
}
