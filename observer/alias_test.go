package observer

import (
	"strings"
	"testing"
)

// TestAliases checks which addresses are those of one object: in mappings of the same part of one file, as
// long as both mappings are there.
func TestAliases(t *testing.T) {
	file := func(at rune, inode, offset uint64) SharedMapping {
		return SharedMapping{Range: Range{uint64(at) << 12, uint64(at)<<12 + 0x1000}, File: File{Inode: inode}, Offset: offset}
	}
	for _, c := range []struct {
		observation
		other SharedMapping // beside S, which maps the beginning of file 1
		gone  bool          // the mappings can only be read once, since the process ends
	}{
		{other: file('R', 1, 0), observation: observation{name: "one object", in: `
			1 init S
			11 acquire S
			11 release S
			12 acquire R
			12 release R
			12 destroy R
			12 acquire S`, out: `
			T1 init S1 =0
			T2 acquire S1
			T2 release S1
			T3 acquire S1
			T3 release S1
			T3 destroy S1
			T3 acquire S2`}},
		{other: file('R', 1, 0), gone: true, observation: observation{name: "the process has ended", in: `
			1 init S
			12 acquire R`, out: `
			T1 init S1 =0
			T3 acquire S1`}},
		{other: file('R', 1, 0), observation: observation{name: "made again by the other address", in: `
			1 init S
			12 init R
			12 acquire S`, out: `
			T1 init S1 =0
			T3 destroy S1 inferred
			T3 init R2 S1 =0
			T3 acquire R2`}},
		{other: file('R', 2, 0), observation: observation{name: "another file", in: `
			1 init S
			12 acquire R`, out: `
			T1 init S1 =0
			T3 acquire R2`}},
		{other: file('R', 1, 0x1000), observation: observation{name: "another part of the file", in: `
			1 init S
			12 acquire R`, out: `
			T1 init S1 =0
			T3 acquire R2`}},
		{other: file('R', 1, 0), observation: observation{name: "another place in the page", in: `
			1 init S
			12 acquire 0x52100`, out: `
			T1 init S1 =0
			T3 acquire R2`}},
		{other: file('R', 1, 0), gone: true, observation: observation{name: "unmapped", in: `
			1 init S
			12 acquire R
			12 release R
			1 free R with=0x1000 result=1
			12 acquire R`, out: `
			T1 init S1 =0
			T3 acquire S1
			T3 release S1
			T3 acquire R2`}},
	} {
		t.Run(strings.ReplaceAll(c.name, " ", "-"), func(t *testing.T) {
			reads := 0
			c.checkWith(t, listenWith(Options{SharedMemory: func(uint32) []SharedMapping {
				if reads++; c.gone && reads > 1 {
					return nil
				}
				return []SharedMapping{file('S', 1, 0), c.other}
			}}))
		})
	}
}
