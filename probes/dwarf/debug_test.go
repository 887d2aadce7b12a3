package dwarf

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/probes/elf"
)

// hasUnit reports whether there is debug information for a source file of that name.
func hasUnit(t *testing.T, f *elf.File, suffix string) bool {
	t.Helper()
	d, err := Of(f).Data()
	if err != nil {
		t.Errorf("debug information: %v", err)
		return false
	}
	for r := d.Reader(); ; r.SkipChildren() {
		e, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		if e == nil {
			return false
		}
		if name, _ := e.Val(3).(string); strings.HasSuffix(name, suffix) { // DW_AT_name
			return true
		}
	}
}

func TestOwnDebugInformation(t *testing.T) {
	for _, c := range []struct{ name, flags string }{
		{"dwarf4", "-gdwarf-4"}, {"dwarf5", "-gdwarf-5"},
		{"zlib", "-gdwarf-5 -gz=zlib"}, {"gnu", "-gdwarf-4 -gz=zlib-gnu"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := open(t, build(t, "gcc", "plain.c", strings.Fields(c.flags)...))
			if !hasUnit(t, f, "plain.c") {
				t.Error("the unit is not there")
			}
			b, err := Of(f).Section("info")
			if err != nil || len(b) == 0 {
				t.Errorf(".debug_info: %d bytes, %v", len(b), err)
			}
		})
	}
}

func TestNoDebugInformation(t *testing.T) {
	f := openWith(t, build(t, "gcc", "plain.c", "-s"), quiet)
	if _, err := Of(f).Data(); !errors.Is(err, elf.ErrNoDWARF) || !strings.Contains(err.Error(), "-g") {
		t.Errorf("got %v", err)
	}
	if b, err := Of(f).Section("info"); b != nil || err != nil {
		t.Errorf("section: %d bytes, %v", len(b), err)
	}
}

// split separates a program from its debug information.
func split(t *testing.T, flags ...string) (program, debug string) {
	t.Helper()
	program = build(t, "gcc", "plain.c", append(flags, "-g")...)
	debug = program + ".debug"
	run(t, "objcopy", "--only-keep-debug", program, debug)
	run(t, "objcopy", "--strip-all", "--add-gnu-debuglink="+debug, program)
	return program, debug
}

func move(t *testing.T, from, to string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(to), 0o755), os.Rename(from, to)); err != nil {
		t.Fatal(err)
	}
}

func TestSeparateDebugFile(t *testing.T) {
	noID := "-Wl,--build-id=none"
	for _, c := range []struct {
		name  string
		flags []string
		place func(program, debugDir, id string) string
	}{
		{"beside", []string{noID}, func(p, _, _ string) string { return p + ".debug" }},
		{"subfolder", []string{noID}, func(p, _, _ string) string {
			return filepath.Join(filepath.Dir(p), ".debug", filepath.Base(p)+".debug")
		}},
		{"global", []string{noID}, func(p, dir, _ string) string { return filepath.Join(dir, p+".debug") }},
		{"build-id", []string{"-Wl,--build-id"}, func(_, dir, id string) string {
			return filepath.Join(dir, ".build-id", id[:2], id[2:]+".debug")
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			program, debug := split(t, c.flags...)
			dir := t.TempDir()
			opts := elf.Options{DebugDirs: []string{dir}}
			id := openWith(t, program, opts).BuildID()
			to := c.place(program, dir, id)
			move(t, debug, to)
			f := openWith(t, program, opts)
			if f.DebugPath() != to || !hasUnit(t, f, "plain.c") {
				t.Errorf("debug file %q, want %q", f.DebugPath(), to)
			}
			if len(f.Lookup("m")) != 0 {
				t.Error("the stripped file knows m by itself")
			}
			all, err := f.DebugSymbols()
			if err != nil {
				t.Fatal(err)
			}
			found := false
			for _, s := range all {
				found = found || s.Name == "m" && s.Kind == elf.Object && s.Local && s.Section == ".bss"
			}
			if !found {
				t.Error("static m is not among the symbols of the debug file")
			}
		})
	}
}

func TestDebugFileOfAnotherBuild(t *testing.T) {
	t.Run("checksum", func(t *testing.T) {
		program, debug := split(t, "-Wl,--build-id=none")
		h, err := os.OpenFile(debug, os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		_, err = h.WriteString("x")
		if err := errors.Join(err, h.Close()); err != nil {
			t.Fatal(err)
		}
		checkRefused(t, program, quiet)
	})
	t.Run("build-id", func(t *testing.T) {
		program, _ := split(t, "-Wl,--build-id=0x1111111111")
		_, other := split(t, "-Wl,--build-id=0x2222222222")
		dir := t.TempDir()
		move(t, other, filepath.Join(dir, ".build-id", "11", "11111111.debug"))
		if err := os.Remove(program + ".debug"); err != nil {
			t.Fatal(err)
		}
		checkRefused(t, program, elf.Options{DebugDirs: []string{dir}})
	})
}

func checkRefused(t *testing.T, program string, opts elf.Options) {
	t.Helper()
	f := openWith(t, program, opts)
	if _, err := Of(f).Data(); !errors.Is(err, elf.ErrDebugFile) {
		t.Errorf("debug information: %v", err)
	}
	if all, err := f.DebugSymbols(); !errors.Is(err, elf.ErrDebugFile) || len(all) != len(f.Symbols()) {
		t.Errorf("%d debug symbols, %d symbols: %v", len(all), len(f.Symbols()), err)
	}
}
