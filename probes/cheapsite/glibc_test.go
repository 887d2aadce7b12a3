package cheapsite

import (
	stdelf "debug/elf"
	"testing"

	"github.com/tracepredict/tracepredict/probes/code"
	"github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/insn"
)

// The rest of the project uses an elf.File as the Source.
var _ code.Source = (*elf.File)(nil)

var rdi = insn.RegSet(0).With(insn.RDI)

// TestGlibc places probes in this machine's glibc and logs where.
func TestGlibc(t *testing.T) {
	c := openCode(t, glibc)
	im := NewImage(c)
	for _, x := range []struct {
		name   string
		sense  Sense
		ret    bool
		mnem   string // expected mnemonic; "": any
		common bool
	}{
		{"pthread_mutex_lock", Entry, true, "j", true},
		{"pthread_mutex_unlock", Before, false, "j", true},
		{"pthread_mutex_trylock", Entry, true, "", false},
		{"pthread_mutex_timedlock", Entry, true, "", false},
		{"pthread_cond_wait", Before, false, "", false},
		{"pthread_cond_signal", Before, false, "", false},
		{"pthread_cond_broadcast", Before, false, "", false},
		{"pthread_create", Before, false, "", false},
		{"pthread_join", Entry, false, "", false},
		{"pthread_rwlock_rdlock", Entry, true, "", false},
		{"pthread_rwlock_wrlock", Entry, true, "", false},
		{"pthread_rwlock_unlock", Before, false, "", false},
		{"pthread_spin_lock", Entry, true, "", false},
		{"pthread_spin_unlock", Before, false, "", false},
		{"sem_post", Before, false, "", false},
		{"sem_wait", Before, false, "", false},
		{"pthread_barrier_wait", Before, false, "", false},
		{"pthread_once", Before, false, "", false},
		{"mtx_lock", Entry, true, "", false},
	} {
		s, ok := c.symbols[x.name]
		if !ok || stdelf.ST_TYPE(s.Info) != stdelf.STT_FUNC {
			t.Logf("%-24s not here", x.name)
			continue
		}
		site, err := im.Place(Want{At: s.Value, Reads: rdi.With(insn.RSP), Sense: x.sense, Return: x.ret})
		if err != nil {
			t.Errorf("%s: %v", x.name, err)
			continue
		}
		ex, err := im.Returns(s.Value)
		if err != nil {
			t.Errorf("%s: %v", x.name, err)
		}
		t.Logf("%-24s 0x%x %-9s %-60s sp%+d; %d returns, %d tail jumps, complete %v %s; wraps %x; loops %v", x.name, s.Value, site.Class, site.Why, site.SPDelta,
			len(ex.Returns), len(ex.TailJumps), ex.Complete, ex.Reason, im.WrapperOf(s.Value, rdi), site.Loops)
		if x.common && (site.Class != Emulated || site.Why[:1] != x.mnem) {
			t.Errorf("%s: %+v, want a cheap jump", x.name, site)
		}
	}
	open, untiled := 0, 0
	for _, fn := range c.funcs {
		e := im.ExtentAt(fn.Lo)
		if e == nil {
			continue
		}
		if e.Open {
			open++
		}
		if e.Untiled {
			untiled++
		}
	}
	t.Logf("%d extents, %d open to unresolved jumps, %d with data", len(c.funcs), open, untiled)
}

// TestBinaryFile checks that an opened file, whose Bytes returns all bytes or none, leads to the
// same sites as the code that this test holds in memory.
func TestBinaryFile(t *testing.T) {
	c := openCode(t, glibc)
	f, err := elf.Open(glibc)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	c.marks = f.Landmarks()
	held, file := NewImage(c), NewImage(f)
	n := 0
	for _, r := range c.funcs {
		w := Want{At: r.Lo, Reads: rdi.With(insn.RSP), Sense: Entry, Return: true}
		a, errA := held.Place(w)
		b, errB := file.Place(w)
		if a != b || (errA == nil) != (errB == nil) {
			t.Errorf("0x%x: %+v %v, from the file %+v %v", r.Lo, a, errA, b, errB)
		}
		if b.Class == Emulated {
			n++
		}
	}
	t.Logf("%d of %d functions have a cheap entry for a uretprobe", n, len(c.funcs))
}
