package loader

import (
	"slices"
	"testing"

	"github.com/tracepredict/tracepredict/loader/procfs"
	"github.com/tracepredict/tracepredict/probes/elf"
)

// TestOverlaid: code of several files was where a segment overlaps one of another file, or of another part
// of the same file.
func TestOverlaid(t *testing.T) {
	one, two := &Module{Path: "/one"}, &Module{Path: "/two"}
	first := Segment{Lo: 0x5000, Hi: 0x7000, Bias: 0x4000, Module: one}
	for _, c := range []struct {
		name string
		then Segment
		want []elf.Range
	}{
		{"elsewhere", Segment{Lo: 0x7000, Hi: 0x9000, Bias: 0x6000, Module: two}, nil},
		{"another file", Segment{Lo: 0x6000, Hi: 0x9000, Bias: 0x5000, Module: two}, []elf.Range{{Lo: 0x6000, Hi: 0x7000}}},
		{"another part", Segment{Lo: 0x5000, Hi: 0x6000, Bias: 0x3000, Module: one}, []elf.Range{{Lo: 0x5000, Hi: 0x6000}}},
		{"again", first, nil},
	} {
		p, s := &process{}, &Spaces{}
		s.mapped(p, first)
		if before := s.mapped(p, c.then); !slices.Equal(p.overlaid, c.want) || len(p.segments) != 2 || (before == one) != (c.want != nil) {
			t.Errorf("%s: %v, want %v", c.name, p.overlaid, c.want)
		}
	}
}

// TestFindUnloaded: a segment is unloaded once no mapping of its file overlaps it, and remains so when
// the file is mapped there again.
func TestFindUnloaded(t *testing.T) {
	program, library := procfs.FileID{Inode: 1}, procfs.FileID{Inode: 2}
	ofProgram, ofLibrary := &Module{Path: "/program"}, &Module{Path: "/library"}
	first, second := Segment{Lo: 0x1000, Hi: 0x3000, Module: ofProgram}, Segment{Lo: 0x5000, Hi: 0x7000, Module: ofLibrary}
	at := func(id procfs.FileID, lo, hi uint64) procfs.Mapping { return procfs.Mapping{Lo: lo, Hi: hi, File: id} }
	for _, c := range []struct {
		name string
		maps [][]procfs.Mapping
		want []Segment
	}{
		{"all mapped", [][]procfs.Mapping{{at(program, 0x1000, 0x3000), at(library, 0x5000, 0x7000)}}, nil},
		{"in two parts", [][]procfs.Mapping{{at(program, 0x1000, 0x2000), at(program, 0x2000, 0x3000), at(library, 0x6000, 0x7000)}}, nil},
		{"one gone", [][]procfs.Mapping{{at(program, 0x1000, 0x3000)}}, []Segment{second}},
		{"another file there", [][]procfs.Mapping{{at(program, 0x1000, 0x3000), at(procfs.FileID{Inode: 3}, 0x5000, 0x7000)}}, []Segment{second}},
		{"mapped elsewhere", [][]procfs.Mapping{{at(program, 0x1000, 0x3000), at(library, 0x8000, 0xa000)}}, []Segment{second}},
		{"gone, then there again", [][]procfs.Mapping{{at(program, 0x1000, 0x3000)}, {at(program, 0x1000, 0x3000), at(library, 0x5000, 0x7000)}}, []Segment{second}},
	} {
		p := &process{segments: []Segment{first, second}, unmapped: map[Segment]bool{}, modules: map[procfs.FileID]*Module{program: ofProgram, library: ofLibrary}}
		for _, maps := range c.maps {
			new(Spaces).findUnloaded(p, maps)
		}
		var got []Segment
		for _, seg := range p.segments {
			if p.unmapped[seg] {
				got = append(got, seg)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
