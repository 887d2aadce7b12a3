package probes

import (
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/probes/elf"
)

func TestAllocatorNamed(t *testing.T) {
	for name, want := range map[string]bool{
		"malloc": true, "je_malloc": true, "mi_realloc": true, "tc_free": true, "_ZnwmSt11align_val_t": true, "_ZdaPvm": true,
		"malloc_trim": false, "je_": false, "xmalloc": false, "mi_heap_malloc": false, "_Znx": false, "": false,
	} {
		if _, ok := allocatorNamed(name); ok != want {
			t.Errorf("%q: %v", name, ok)
		}
	}
}

// TestLivesOfMemory checks what is planned of the functions that allocate and free where no field is
// watched: of glibc's neither malloc nor calloc, because the word before a block says its size.
func TestLivesOfMemory(t *testing.T) {
	own := build(t, "gcc", `
		#include <stddef.h>
		static char memory[1 << 20], *next = memory;
		void *malloc(size_t n) { char *p = next; next += n + 15 & ~15ul; return p; }
		void free(void *p) { next = p ? p : next; }
		size_t malloc_usable_size(void *p) { return next - (char *)p; }
		int main(void) { free(malloc(3)); }`, "-O1", "-fno-builtin")
	for _, c := range []struct {
		name   string
		file   *elf.File
		opts   Options
		want   map[string]bpf.Op // functions with a site
		not    []string          // functions without
		header bool
	}{
		{"glibc", glibc(t), Options{Lives: true}, map[string]bpf.Op{"free": bpf.OpFree, "realloc": bpf.OpMove, "munmap": bpf.OpFree, "mremap": bpf.OpMove}, []string{"malloc", "alloc"}, true},
		{"glibc without", glibc(t), Options{}, nil, []string{"free", "realloc", "malloc", "munmap"}, false},
		{"its own", own, Options{Lives: true}, map[string]bpf.Op{"malloc": bpf.OpAlloc, "free": bpf.OpFree}, nil, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := map[string]bpf.Site{}
			p := plan(t, c.file, c.opts)
			for i := range p.Sites {
				s := &p.Sites[i]
				if s.Program == ProgramHeap {
					t.Errorf("the probe of %s would remain", s.Function)
				}
				if s.Program == ProgramLives {
					got[strings.TrimPrefix(s.Function, "c")] = s.BPF // cfree is free
					if s.BPF.Heap().Cost == 0 {
						t.Errorf("a hit of %s costs nothing", s.Function)
					}
				}
			}
			for name, op := range c.want {
				if bpf.Op(got[name].Op) != op {
					t.Errorf("%s: operation %v, want %v", name, bpf.Op(got[name].Op), op)
				}
			}
			for _, name := range c.not {
				if _, ok := got[name]; ok {
					t.Errorf("%s has a site", name)
				}
			}
			for _, name := range []string{"free", "realloc"} {
				if s, ok := got[name]; ok && (s.Flags&bpf.SiteHeader != 0) != c.header {
					t.Errorf("%s: flags %d, header %v", name, s.Flags, c.header)
				}
			}
		})
	}
}
