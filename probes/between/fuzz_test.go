package between

import (
	"bytes"
	"testing"

	"github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/elftest"
)

// patched is a process that consists of one file, in which every second function is one whose calls
// are events, and some instructions make events without a call.
type patched struct{ *elf.File }

func (p patched) Code(uint64) (*elf.File, uint64, bool)       { return p.File, 0, true }
func (p patched) Synchronises(_ *elf.File, entry uint64) bool { return entry>>4&1 == 0 }
func (p patched) Imports(name string) bool                    { return len(name)&1 == 0 }
func (p patched) Inlined(_ *elf.File, pc uint64) Inlined      { return Inlined(pc >> 2 & 15) }

// FuzzBetween checks that a query about a partly overwritten program is answered.
func FuzzBetween(f *testing.F) {
	seeds, err := elftest.Seeds()
	if err != nil {
		f.Fatal(err)
	}
	for i := range 4 * len(seeds) {
		f.Add(byte(i), []byte{byte(i + 4), 0, byte(7 * i), 0, byte(i), 0xff, 0xff, 0x7f, 0xff, 0xff, 0xff, 0xff}, byte(i), byte(3*i))
	}
	f.Fuzz(func(t *testing.T, which byte, program []byte, from, to byte) {
		b := elftest.Patch(seeds[int(which)%len(seeds)], program)
		file, err := elf.NewWith(bytes.NewReader(b), int64(len(b)), "patched", elf.Options{DebugDirs: []string{}})
		if err != nil {
			return
		}
		fns := file.Functions()
		if len(fns) == 0 {
			return
		}
		x := New(patched{file})
		im := x.image(file)
		var calls, events []uint64 // return addresses, and addresses in functions whose calls are events
		for _, fn := range fns {
			if x.process.Synchronises(file, fn.Lo) {
				events = append(events, fn.Lo)
			}
			for pc := fn.Lo; pc < fn.Hi && len(calls) < 1<<10; {
				in, _ := im.at(pc)
				if in == nil {
					break
				}
				if pc = in.End(); in.Kind.Calls() {
					calls = append(calls, pc)
				}
			}
		}
		if len(calls) == 0 || len(events) == 0 {
			return
		}
		stack := func(n byte) []uint64 {
			return []uint64{events[int(n)%len(events)], calls[int(n)%len(calls)], calls[int(n/2)%len(calls)], calls[0]}
		}
		ok, why := x.ReadsNothing(Query{From: stack(from), To: stack(to)})
		if ok != (why.Kind == NoReason) {
			t.Errorf("%v: %+v", ok, why)
		}
		_ = why.Text(func(uint64) string { return "" })
		x.Course(Detour{From: stack(from), To: [][]uint64{stack(to), stack(from / 2)}, Reads: []Seen{{Addr: fns[0].Lo, Size: int(to&7) + 1, Value: uint64(from)}}})
		for n, pc := range calls {
			x.Course(Detour{From: []uint64{events[0], pc, calls[n/2]}, To: [][]uint64{{events[0], calls[n/2]}}, Changed: n&1 == 0})
			x.Differ([]uint64{pc, calls[n/2]}, uint64(from), uint64(to))
			x.Differ([]uint64{fns[n%len(fns)].Lo + uint64(from)}, 0, uint64(to))
		}
	})
}
