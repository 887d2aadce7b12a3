package between

import (
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/probes/elf"
)

// detour returns the question about the first two locks of a function, between which it reads value, real and
// status.over: 1 in the run, and 0; and chosen: an address, and 0.
func (f *fixture) detour(t testing.TB, name string) Detour {
	t.Helper()
	from, to := f.stacks(t, name)
	d := Detour{From: from, To: [][]uint64{to}}
	for _, v := range []struct {
		name   string
		offset uint64
		size   int
		value  uint64
	}{{"value", 0, 4, 1}, {"real", 0, 8, 0x3ff0_0000_0000_0000}, {"status", 16, 4, 1}, {"chosen", 0, 8, 0x1234_5678}} {
		d.Reads = append(d.Reads, Seen{Addr: f.program.Lookup(v.name)[0].Addr + v.offset + programBias, Size: v.size, Value: v.value})
	}
	return d
}

// waiting is a process in which waits on conditions are events, too.
type waiting struct{ *fixture }

func (w waiting) Imports(name string) bool {
	return name == "pthread_cond_wait" || w.fixture.Imports(name)
}

func (w waiting) Synchronises(file *elf.File, entry uint64) bool {
	return strings.HasSuffix(file.FunctionName(entry), "pthread_cond_wait") || w.fixture.Synchronises(file, entry)
}

// TestCourse checks whether threads certainly go elsewhere that read something else, at several levels of
// optimisation.
func TestCourse(t *testing.T) {
	for _, c := range []struct{ compiler, flags string }{
		{"gcc", "-O0"}, {"gcc", "-O1 -fno-omit-frame-pointer -fstack-protector-all"}, {"gcc", "-O2"}, {"gcc", "-O3 -fcf-protection=full"},
		{"gcc", "-Os"}, {"gcc", "-O2 -static"}, {"clang-19", "-O0"}, {"clang-19", "-O2"},
	} {
		t.Run(c.compiler+" "+c.flags, func(t *testing.T) {
			f, names := build(t, c.compiler, "detours.c", strings.Fields(c.flags)...)
			for _, name := range names {
				course := New(waiting{f}).Course(f.detour(t, name))
				if (course == Elsewhere) != strings.HasPrefix(name, "yes_") {
					t.Errorf("%s: %v", name, course)
				}
			}
		})
	}
}
