package field

import (
	gobytes "bytes"
	"testing"

	bin "github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/elftest"
)

// FuzzField checks that a partly overwritten program yields a result or an error.
func FuzzField(f *testing.F) {
	seeds, err := elftest.Seeds()
	if err != nil {
		f.Fatal(err)
	}
	for i := range 4 * len(seeds) {
		f.Add(byte(i), []byte{byte(i + 4), 0, byte(7 * i), 0, byte(i), 0xff, 0xff, 0x7f, 0xff, 0xff, 0xff, 0xff})
	}
	f.Fuzz(func(t *testing.T, which byte, program []byte) {
		b := elftest.Patch(seeds[int(which)%len(seeds)], program)
		file, err := bin.NewWith(gobytes.NewReader(b), int64(len(b)), "patched", bin.Options{DebugDirs: []string{}})
		if err != nil {
			return
		}
		for _, name := range []string{"v of struct node", "next of node", "word of lock_t", "v of Pool<long>"} {
			s, _, err := Parse(name)
			if err != nil {
				t.Fatal(err)
			}
			fds, _, err := Find(file, s)
			if err != nil {
				continue
			}
			for _, fd := range fds[:min(len(fds), 2)] {
				_, _ = Accesses(file, fd)
			}
		}
	})
}

// FuzzParse checks that a name that is accepted can be parsed again with the same meaning.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"state of struct conn", "a.b of ns::Q<int, long>", " of ", "x of of of y", "\xff of \xfe"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		s, ok, err := Parse(name)
		if !ok || err != nil {
			return
		}
		again, ok, err := Parse(s.Text)
		if !ok || err != nil || again.Type != s.Type || again.Tag != s.Tag || len(again.Path) != len(s.Path) {
			t.Errorf("%q: %+v, again %+v %v %v", name, s, again, ok, err)
		}
	})
}
