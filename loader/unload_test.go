package loader

import (
	"slices"
	"testing"

	"github.com/tracepredict/tracepredict/loader/procfs"
)

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
			p.findUnloaded(maps)
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
