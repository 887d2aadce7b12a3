package e2e

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tracepredict/tracepredict/observer/event"
	model "github.com/tracepredict/tracepredict/observer/run"
	"github.com/tracepredict/tracepredict/observer/trace"
)

// block describes where the object of the only finding was allocated: "16 of 64 in make_queue by T1"; "" if the report
// does not say.
func (r jsonReport) block(t *testing.T) string {
	t.Helper()
	if len(r.Findings) != 1 || len(r.Findings[0].Info) != 1 {
		t.Fatalf("findings: %q, want one about one object (notes: %q)", r.summary(), r.Run.Notes)
	}
	b := r.Findings[0].Info[0].Block
	if b == nil {
		return ""
	}
	in := "?"
	if n := len(b.Allocated); n > 0 {
		in, _, _ = strings.Cut(b.Allocated[n-1].Function, "(")
	}
	element := ""
	if b.Element > 0 {
		element = fmt.Sprintf(", by %d", b.Element)
	}
	return fmt.Sprintf("%d of %d%s in %s by T%d", b.Offset, b.Size, element, in, b.Thread)
}

// TestAllocated checks that a finding says where the memory was allocated: by the last allocation, if the memory was
// another block's before, and not at all if that was not seen. The report of the trace is the same, and the twin that locks
// has none.
func TestAllocated(t *testing.T) {
	needBPF(t)
	t.Parallel()
	for _, c := range []struct {
		compiler, source string
		want             map[string]string
	}{
		{"gcc", "allocated.c", map[string]string{
			"made": "16 of 64 in make_queue by T1", "reused": "16 of 64 in make_queue by T1", "elsewhere": "",
			"grown": "16 of 200008 in grow by T1", "kept": "16 of 56 in grow by T1", "wrapped": "16 of 64 in allocate by T1",
			"zeroed": "144 of 256, by 64 in get by T1", "large": "64016 of 1048576, by 64 in get by T1", "freed": "16 of 64 in make_queue by T1",
		}},
		{"g++", "allocated.cc", map[string]string{
			"object": "8 of 16 in open by T1", "array": "56 of 160 in open by T1", "vector": "320 of 800 in fill by T1", "thrown": "8 of 16 in open by T1",
		}},
	} {
		program := build(t, c.compiler, c.source, "-O1", "-g", "-pthread")
		for way, want := range c.want {
			t.Run(c.source+" "+way, func(t *testing.T) {
				trace := filepath.Join(t.TempDir(), "run.trace")
				status, r := reported(t, "exec", "--watch-shared=all", "--record", trace, "--", program, way)
				if got := r.block(t); got != want {
					t.Errorf("allocated at %q, want %q: %s", got, want, r.Findings[0].Message)
				}
				if again, fromTrace := reported(t, "analyze", trace); again != status || cmp.Diff(r, fromTrace) != "" {
					t.Errorf("the trace gives another report (-run +trace), status %d, want %d:\n%s", again, status, cmp.Diff(r, fromTrace))
				}
				if _, r := reported(t, "exec", "--watch-shared=all", "--", program, way, "locked"); r.summary() != "" {
					t.Errorf("the twin that locks has findings: %q", r.summary())
				}
			})
		}
	}
}

// TestAllocatedWithoutTypes checks that memory of a program without debug information is named by where it was
// allocated, by no address, and that the fingerprint is the same in each run.
func TestAllocatedWithoutTypes(t *testing.T) {
	needBPF(t)
	t.Parallel()
	program := build(t, "gcc", "allocated.c", "-O1", "-g0", "-pthread")
	prints := map[string]bool{}
	for range 2 {
		_, r := reported(t, "exec", "--watch-shared=all", "--", program, "made")
		if got := r.block(t); got != "16 of 64 in make_queue by T1" {
			t.Errorf("allocated at %q", got)
		}
		if m := r.Findings[0].Message; !strings.Contains(m, "the variable at offset 16 of a block of 64 bytes allocated in make_queue") || strings.Contains(m, "0x") {
			t.Errorf("the finding is named by %q", m)
		}
		prints[r.Findings[0].Fingerprint] = true
	}
	if len(prints) != 1 {
		t.Errorf("fingerprints: %v", prints)
	}
}

// TestAllocatedStorm checks, for thousands of objects that follow each other in the same memory, that each that is said
// to be allocated somewhere is said to be allocated where one of its type is, also where some allocations are not seen
// to keep a budget.
func TestAllocatedStorm(t *testing.T) {
	needBPF(t)
	t.Parallel()
	program := build(t, "gcc", "allocated_storm.c", "-O1", "-g", "-pthread")
	for _, c := range []struct{ budget, rounds string }{{"none", "2000"}, {"1.5x", "20000"}} {
		t.Run(c.budget, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "run.trace")
			if _, r := reported(t, "exec", "--watch-shared=all", "--budget", c.budget, "--record", path, "--", program, c.rounds); strings.Contains(r.summary(), "observed") || strings.Contains(r.summary(), "predicted") {
				t.Errorf("findings: %q", r.summary())
			}
			known, unknown := 0, 0
			for _, o := range objectsIn(t, path) {
				kind, _, _ := strings.Cut(o.Member, ".")
				switch want := map[string]string{"struct apple": "make_apple", "struct pear": "make_pear"}[kind]; {
				case want == "":
				case o.Block.Size == 0:
					unknown++
				case o.in != want || o.Block.Size != 48 || o.Block.Offset != 0:
					t.Fatalf("%s is allocated in %s: %+v", o.Member, o.in, o.Block)
				default:
					known++
				}
			}
			t.Logf("%d objects with an allocation, %d without", known, unknown)
			if known == 0 || c.budget == "none" && unknown > 0 {
				t.Errorf("%d objects have an allocation, and %d have none", known, unknown)
			}
		})
	}
}

// allocatedObject is an object of a trace, and the function that called the one that allocated its memory.
type allocatedObject struct {
	model.Object
	in string
}

// objectsIn returns the objects of a trace.
func objectsIn(t *testing.T, path string) (all []allocatedObject) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := trace.NewReader(f, path)
	if err != nil {
		t.Fatal(err)
	}
	var e event.Event
	for err = r.Next(&e); err == nil; err = r.Next(&e) {
	}
	if !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	names := r.Names()
	for id := range names.Objects() {
		o := names.Object(event.ObjectID(id + 1))
		x := allocatedObject{Object: o}
		if frames := names.Frames(o.Init); len(frames) > 0 {
			if at := model.OwnIndex(frames) + 1; at < len(frames) {
				x.in = frames[at].Function
			}
		}
		all = append(all, x)
	}
	return all
}
