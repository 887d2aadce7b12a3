package live

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/internal/testtool"
	"github.com/tracepredict/tracepredict/loader"
	"github.com/tracepredict/tracepredict/observer"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
	"github.com/tracepredict/tracepredict/probes"
	"github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/unwind"
)

// process is a fake process that never ran.
type process struct {
	segments []loader.Segment
	sites    []*probes.Site
	chains   map[uint32][]uint64
}

func (p *process) CallStack(place uint32) []uint64 { return p.chains[place] }

func (p *process) PID() int                      { return 1 }
func (p *process) Segments(int) []loader.Segment { return p.segments }
func (p *process) Overlaid(int, uint64) bool     { return false }

func (p *process) Site(index uint32) *probes.Site {
	if int(index) < len(p.sites) {
		return p.sites[index]
	}
	return nil
}

func (p *process) Segment(_ int, addr uint64) (loader.Segment, bool) {
	for i := len(p.segments) - 1; i >= 0; i-- {
		if s := p.segments[i]; s.Lo <= addr && addr < s.Hi {
			return s, true
		}
	}
	return loader.Segment{}, false
}

const source = `int counters[4];
__attribute__((noinline)) int inner(int *p) {
	return ++*p;
}
__attribute__((noinline)) int outer(int *p) {
	return inner(p) +
		1;
}
int main(void) { return outer(counters); }
`

const bias = 0x7f0000000000

// world is a program, mapped as in a process, and an observer.
type world struct {
	*process
	file *elf.File
	o    *observer.Observer
	r    *names
}

func newWorld(t *testing.T) *world {
	t.Helper()
	testtool.Need(t, "gcc")
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "p.c"), []byte(source), 0o644); err != nil {
		t.Fatal(err)
	}
	gcc := exec.Command("gcc", "-g", "-O0", "-pie", "-fPIE", "-o", "p", "p.c")
	gcc.Dir = dir
	if out, err := gcc.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	f, err := elf.Open(filepath.Join(dir, "p"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	w := &world{file: f, o: observer.New(observer.Options{})}
	w.process = &process{
		segments: []loader.Segment{{Lo: bias, Hi: bias + 1<<20, Bias: bias, Module: &loader.Module{Path: "/bin/p", Bin: f}}},
		sites:    []*probes.Site{nil},
		chains:   map[uint32][]uint64{},
	}
	w.r = newNames(w.process, w.o)
	return w
}

// addr returns the address of a function in the process, plus off.
func (w *world) addr(t *testing.T, name string, off uint64) uint64 {
	t.Helper()
	syms := w.file.Lookup(name)
	if len(syms) != 1 {
		t.Fatalf("%s: %v", name, syms)
	}
	return syms[0].Addr + bias + off
}

// afterCall returns the return address of the first call in a function.
func (w *world) afterCall(t *testing.T, name string) uint64 {
	t.Helper()
	table := unwind.New(w.file)
	for off := uint64(1); off < 64; off++ {
		if pc := w.addr(t, name, off); table.AfterCall(pc - bias) {
			return pc
		}
	}
	t.Fatalf("%s calls nothing", name)
	return 0
}

func (w *world) place(id uint32, site uint32, chain ...uint64) event.StackID {
	w.o.Stack(&bpf.StackRecord{Stack: id, Site: site})
	w.chains[id] = chain
	return event.StackID(id)
}

// where shortens frames to function and line.
func where(frames []event.Frame) []string {
	var out []string
	for _, f := range frames {
		if f.Function == "" {
			out = append(out, "?")
			continue
		}
		out = append(out, f.Function+" "+filepath.Base(f.File)+":"+string(rune('0'+f.Line)))
	}
	return out
}

func TestFrames(t *testing.T) {
	w := newWorld(t)
	entry, inOuter, inMain := w.addr(t, "inner", 0), w.afterCall(t, "outer"), w.afterCall(t, "main")
	w.sites = append(w.sites,
		&probes.Site{At: entry - bias, Addr: entry - bias, BPF: bpf.Site{AtEntry: 1}},
		&probes.Site{At: entry - bias, Addr: entry - bias},
		&probes.Site{At: entry - bias, Addr: w.addr(t, "main", 0) - bias})
	for i, c := range []struct {
		name  string
		site  uint32
		chain []uint64
		want  []string
	}{
		{"nothing recorded", 1, nil, nil},
		{"return addresses stand for their calls", 1, []uint64{entry, inOuter, inMain}, []string{"inner p.c:2", "outer p.c:6", "main p.c:9"}},
		{"a probe that was moved stands for its instruction", 3, []uint64{w.addr(t, "main", 0)}, []string{"inner p.c:2"}},
		{"no file, no site", 77, []uint64{0x1234}, []string{"?"}},
	} {
		got := where(w.r.Frames(w.place(uint32(i+1), c.site, c.chain...)))
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
	if f := w.r.Frames(99); f != nil {
		t.Errorf("a place that nobody saw: %v", f)
	}
}

func TestObjects(t *testing.T) {
	w := newWorld(t)
	syms := w.file.Symbols()
	var at uint64
	for _, s := range syms {
		if s.Name == "counters" {
			at = s.Addr + bias
		}
	}
	for i, addr := range []uint64{at, at + 4, 0x10} {
		w.o.Record(&bpf.Record{Tid: 5, Tgid: 5, Op: uint8(bpf.OpAcquire), Object: addr, Stack: uint32(i + 1)})
	}
	for i, want := range []string{"counters[0]", "counters[1]", ""} {
		got := w.r.Object(event.ObjectID(i + 1))
		if got.Name != want || got.Kind != event.KindMutex || got.FirstThread != 1 || got.First != event.StackID(i+1) {
			t.Errorf("object %d: %+v, want the name %q", i+1, got, want)
		}
	}
	if got := w.r.Object(9); got != (run.Object{}) {
		t.Errorf("an object that nobody saw: %+v", got)
	}
	// After an execve the same file may be mapped elsewhere: the latest mapping counts.
	old := w.segments[0]
	old.Bias -= 4
	w.segments = append([]loader.Segment{old}, w.segments...)
	if got := w.r.Object(1); got.Name != "counters[0]" {
		t.Errorf("object 1 is %q by an old mapping", got.Name)
	}
}

func TestThreads(t *testing.T) {
	w := newWorld(t)
	const tid = 1 << 30 // no thread of this machine
	for _, r := range []bpf.Record{
		{Op: uint8(bpf.OpCreate), Stack: 7, Value: w.addr(t, "outer", 0)},
		{Op: uint8(bpf.OpFork), Object: tid + 1, Value: 99},
	} {
		r.Tid, r.Tgid = tid, tid
		w.o.Record(&r)
	}
	if got := w.r.Thread(1); !got.Main || got.TID != tid || got.Start != "" {
		t.Errorf("thread 1: %+v", got)
	}
	if got := w.r.Thread(2); got.Main || got.Parent != 1 || got.Start != "outer" || got.Created != 7 || got.TID != tid+1 {
		t.Errorf("thread 2: %+v", got)
	}
	if got := w.r.Thread(3); got != (run.Thread{}) {
		t.Errorf("a thread that nobody saw: %+v", got)
	}
}
