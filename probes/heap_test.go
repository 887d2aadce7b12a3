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
		"sdallocx": true, "je_dallocx": true, "mi_heap_malloc": true, "mi_free_size_aligned": true, "tc_delete_sized": true, "_ZdlPvmSt11align_val_t": true,
		"malloc_trim": false, "je_": false, "xmalloc": false, "heap_malloc": false, "delete": false, "nallocx": false, "mi_heap_delete": false, "_Znx": false, "": false,
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
		{"glibc", glibc(t), Options{Lives: true}, map[string]bpf.Op{"free": bpf.OpFree, "realloc": bpf.OpMove, "munmap": bpf.OpFree, "mremap": bpf.OpMove, "mmap": bpf.OpFree}, []string{"malloc", "alloc"}, true},
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

// TestLivesOfMappings checks that mmap ends memory only if it gets MAP_FIXED, and that sized functions
// that free tell how much.
func TestLivesOfMappings(t *testing.T) {
	freeing := build(t, "gcc", `
		#include <stddef.h>
		__attribute__((noinline)) void sdallocx(void *p, size_t n, int flags) { __asm__ volatile("" : : "r"(p), "r"(n), "r"(flags)); }
		int main(void) { sdallocx(NULL, 3, 0); }`, "-O1")
	for _, c := range []struct {
		file     *elf.File
		function string
		check    func(*bpf.HeapSite) bool
	}{
		{glibc(t), "mmap", func(s *bpf.HeapSite) bool {
			return s.IfReg > 0 && s.IfMask == 0x10 && s.IfValue == 0x10 && s.OldReg > 0
		}},
		{glibc(t), "munmap", func(s *bpf.HeapSite) bool { return s.IfReg == 0 && s.OldReg > 0 }},
		{freeing, "sdallocx", func(s *bpf.HeapSite) bool { return s.IfReg == 0 && s.SizeReg > 0 && s.OldReg == 0 }},
	} {
		p, n := plan(t, c.file, Options{Lives: true}), 0
		for i := range p.Sites {
			s := &p.Sites[i]
			if s.Program != ProgramLives || strings.TrimSuffix(s.Function, "64") != c.function {
				continue
			}
			if n++; !c.check(s.BPF.Heap()) {
				t.Errorf("%s: %+v", c.function, *s.BPF.Heap())
			}
		}
		if n != 1 {
			t.Errorf("%s has %d sites", c.function, n)
		}
	}
}

// TestUnloads checks that each unmapping by the dynamic loader is recorded, whatever it costs, and that
// only the loader's function is taken for that.
func TestUnloads(t *testing.T) {
	own := build(t, "gcc", `
		int unmap(void *p, long n) { long r = 11; __asm__ volatile("syscall" : "+a"(r) : "D"(p), "S"(n) : "rcx", "r11", "memory"); return r; }
		int main(void) { return unmap((void *)4096, 4096); }`, "-O1")
	for _, c := range []struct {
		name  string
		file  *elf.File
		opts  Options
		sites int
	}{
		{"the loader", open(t, glibc(t).Interp()), Options{Lives: true}, 1},
		{"the loader without", open(t, glibc(t).Interp()), Options{}, 0},
		{"a program's own", own, Options{Lives: true}, 0},
		{"glibc", glibc(t), Options{Lives: true}, 0},
	} {
		p, n := plan(t, c.file, c.opts), 0
		for i := range p.Sites {
			if s := &p.Sites[i]; s.Program == ProgramHeap {
				if n++; bpf.Op(s.BPF.Op) != bpf.OpFree || s.BPF.Flags != bpf.SiteRange || s.BPF.Heap().Always == 0 || s.BPF.Heap().Cost != 0 {
					t.Errorf("%s: %+v, %+v", c.name, s.BPF, *s.BPF.Heap())
				}
			}
		}
		if n != c.sites {
			t.Errorf("%s: %d sites, want %d", c.name, n, c.sites)
		}
	}
}
