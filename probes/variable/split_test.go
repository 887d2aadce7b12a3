package variable

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/internal/testtool"
)

// command runs a tool in a directory. It skips the test if the tool is missing.
func command(t *testing.T, dir, name string, args ...string) {
	t.Helper()
	testtool.Need(t, name)
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(cmd.Args, " "), err, out)
	}
}

// compiled compiles and links in two steps, as is needed where debug information remains beside the
// object files.
func compiled(t *testing.T, compiler, source, text string, flags ...string) (dir, program string) {
	t.Helper()
	dir = t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, source), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	command(t, dir, compiler, slices.Concat([]string{"-c", "-o", "one.o", source}, flags)...)
	command(t, dir, compiler, "-o", "program", "one.o")
	return dir, filepath.Join(dir, "program")
}

// Members are found at the offsets that the program prints, wherever the compiler puts its debug
// information.
func TestSplitDebugInformation(t *testing.T) {
	pack := func(tool string) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			command(t, dir, tool, "-e", "program", "-o", "program.dwp")
			removeDWO(t, dir)
		}
	}
	keep := func(*testing.T, string) {}
	share := func(t *testing.T, dir string) { shareWith(t, dir, "-q") }
	for _, c := range []struct {
		name     string
		compiler string
		flags    string
		then     func(t *testing.T, dir string)
	}{
		{"gcc 4", "g++", "-gdwarf-4 -gsplit-dwarf", keep},
		{"gcc 5", "g++", "-gdwarf-5 -gsplit-dwarf -O2", keep},
		{"gcc 5 compressed", "g++", "-gdwarf-5 -gsplit-dwarf -gz", keep},
		{"gcc 4 types", "g++", "-gdwarf-4 -gsplit-dwarf -fdebug-types-section", keep},
		{"gcc 5 types", "g++", "-gdwarf-5 -gsplit-dwarf -fdebug-types-section", keep},
		{"clang 4", "clang++-19", "-gdwarf-4 -gsplit-dwarf", keep},
		{"clang 5", "clang++-19", "-gdwarf-5 -gsplit-dwarf -O1", keep},
		{"clang 5 types", "clang++-19", "-gdwarf-5 -gsplit-dwarf -fdebug-types-section", keep},
		{"clang 4 types", "clang++-19", "-gdwarf-4 -gsplit-dwarf -fdebug-types-section", keep},
		{"gcc 4 dwp", "g++", "-gdwarf-4 -gsplit-dwarf", pack("dwp")},
		{"gcc 4 types dwp", "g++", "-gdwarf-4 -gsplit-dwarf -fdebug-types-section", pack("dwp")},
		{"clang 4 dwp", "clang++-19", "-gdwarf-4 -gsplit-dwarf -fdebug-types-section", pack("llvm-dwp-19")},
		{"clang 5 dwp", "clang++-19", "-gdwarf-5 -gsplit-dwarf", pack("llvm-dwp-19")},
		{"clang 5 types dwp", "clang++-19", "-gdwarf-5 -gsplit-dwarf -fdebug-types-section", pack("llvm-dwp-19")},
		{"types 4", "g++", "-gdwarf-4 -fdebug-types-section", keep},
		{"types 5", "g++", "-gdwarf-5 -fdebug-types-section", keep},
		{"types clang 4", "clang++-19", "-gdwarf-4 -fdebug-types-section", keep},
		{"types clang 5", "clang++-19", "-gdwarf-5 -fdebug-types-section", keep},
		{"separate file", "g++", "-g", func(t *testing.T, dir string) {
			command(t, dir, "objcopy", "--only-keep-debug", "program", "program.debug")
			command(t, dir, "objcopy", "--strip-all", "--add-gnu-debuglink=program.debug", "program")
		}},
		{"dwz 4", "g++", "-gdwarf-4", share},
		{"dwz 5", "g++", "-gdwarf-5 -O2", share},
		{"dwz types", "g++", "-gdwarf-4 -fdebug-types-section", share},
		{"dwz clang", "clang++-19", "-gdwarf-4", share},
		{"dwz debug_sup", "g++", "-gdwarf-5", func(t *testing.T, dir string) { shareWith(t, dir, "--dwarf-5") }},
		{"moved", "g++", "-g -gsplit-dwarf", func(t *testing.T, dir string) { // and beside the program
			command(t, dir, "mkdir", "new")
			command(t, dir, "cp", "program", "one.dwo", "new")
			command(t, dir, "rm", "one.dwo")
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir, program := compiled(t, c.compiler, "q.cc", cppMembers, strings.Fields(c.flags)...)
			c.then(t, dir)
			if c.name == "moved" {
				program = filepath.Join(dir, "new", "program")
			}
			checkClasses(t, program)
			f := open(t, program)
			if v := mustFind(t, f, "q.cc:inst.own"); filepath.Base(v.DeclFile) != "q.cc" || v.DeclLine == 0 {
				t.Errorf("declared in %s:%d", v.DeclFile, v.DeclLine)
			}
		})
	}
}

// shareWith runs dwz, which moves the debug information that the program shares with another to a
// third file.
func shareWith(t *testing.T, dir, flag string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, "other.cc"), []byte(cppMembers+"int more;"), 0o644); err != nil {
		t.Fatal(err)
	}
	command(t, dir, "g++", "-g", "-o", "other", "other.cc")
	command(t, dir, "dwz", flag, "-m", "shared.debug", "program", "other")
	if _, err := os.Stat(filepath.Join(dir, "shared.debug")); err != nil {
		t.Fatalf("dwz has moved nothing: %v", err)
	}
}

func removeDWO(t *testing.T, dir string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.dwo"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no .dwo file: %v", err)
	}
	for _, name := range files {
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
}

// Debug information that is missing is reported by name.
func TestSplitDebugInformationMissing(t *testing.T) {
	dir, program := compiled(t, "gcc", "s.c", "static struct { int a, b; } pair; int main(void) { return pair.b++; }", "-g", "-gsplit-dwarf")
	other, _ := compiled(t, "gcc", "s.c", "static struct { int x, y; } pair; int main(void) { return pair.y++; }", "-g", "-gsplit-dwarf")
	if v := mustFind(t, open(t, program), "pair.b"); v.Size != 4 {
		t.Errorf("%+v", v)
	}
	dwo := filepath.Join(dir, "one.dwo")
	if err := os.Rename(filepath.Join(other, "one.dwo"), dwo); err != nil {
		t.Fatal(err)
	}
	wantMissing(t, program, "belongs to another build")
	if err := os.WriteFile(dwo, []byte("no ELF file"), 0o644); err != nil {
		t.Fatal(err)
	}
	wantMissing(t, program, "one.dwo is not read: ")
	if err := os.Remove(dwo); err != nil {
		t.Fatal(err)
	}
	wantMissing(t, program, "one.dwo is not there: keep it where the compiler wrote it, or make program.dwp")
}

func wantMissing(t *testing.T, program, want string) {
	t.Helper()
	_, err := Find(open(t, program), "pear.b")
	var e *Error
	if !errors.As(err, &e) || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %q", err, want)
	}
	if _, err := Find(open(t, program), "pair.b"); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("a member: got %v, want %q", err, want)
	}
}

// A class that one unit only declares is defined in another.
func TestClassDescribedElsewhere(t *testing.T) {
	header := "struct Base { virtual void key(); int count; long total; };\n"
	f := build(t, "clang++-19", []string{"-g", "-O0"}, []string{"a.cc", "b.cc"}, map[string]string{
		"k.h": header, "a.cc": header + "Base one; int main() { one.total++; return one.count; }", "b.cc": header + "void Base::key() {}",
	})
	v := mustFind(t, f, "one.total")
	if v.Addr != v.Whole.Lo+16 || v.Size != 8 {
		t.Errorf("%+v", v)
	}
}

// Rust's statics have members, and its enumerations have constants.
func TestMembersInRust(t *testing.T) {
	dir := t.TempDir()
	source := `use std::sync::atomic::{AtomicU64, Ordering};
#[derive(Clone, Copy)]
#[repr(u8)]
pub enum Mode { Idle, Open = 5 }
#[repr(C)]
pub struct Stats { pub hits: u64, pub mode: Mode, pub turns: AtomicU64 }
pub static mut STATS: Stats = Stats { hits: 0, mode: Mode::Idle, turns: AtomicU64::new(0) };
fn main() { unsafe { STATS.hits += 1; STATS.mode = Mode::Open; STATS.turns.fetch_add(1, Ordering::SeqCst); } }
`
	if err := os.WriteFile(filepath.Join(dir, "a.rs"), []byte(source), 0o644); err != nil {
		t.Fatal(err)
	}
	command(t, dir, "rustc", "-g", "-A", "warnings", "a.rs")
	f := open(t, filepath.Join(dir, "a"))
	for name, at := range map[string]uint64{"a::STATS.hits": 0, "STATS.mode": 8, "STATS.turns": 16} {
		if v := mustFind(t, f, name); v.Addr-v.Whole.Lo != at || v.Atomic != (at == 16) || at == 8 && len(v.Constants) != 2 {
			t.Errorf("%s: %+v", name, v)
		}
	}
}
