package probes

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/tracepredict/tracepredict/probes/elf"
)

// TestOwnCode checks whose code is searched for what threads share: that of the first file, and of libraries with debug
// information or that the user names, also by a glob or DT_SONAME.
func TestOwnCode(t *testing.T) {
	const source = `int total; void add(int *p) { total++; ++*p; }`
	program := build(t, "gcc", `int main(void) { return 0; }`, "-O1")
	bare := build(t, "gcc", source, "-O1", "-shared", "-fPIC", "-Wl,-soname,libbare.so.1")
	debug := build(t, "gcc", source, "-O1", "-g", "-shared", "-fPIC")
	for _, tt := range []struct {
		name    string
		file    *elf.File
		modules []string
		want    bool
	}{
		{"without debug information", bare, nil, false},
		{"by its DT_SONAME", bare, []string{"libbare.so.1"}, true},
		{"by a glob", bare, []string{"other", "libbare*"}, true},
		{"by a part of its name", bare, []string{"libbare"}, false},
		{"with debug information", debug, nil, true},
	} {
		p := NewPlanner(Options{Shared: true, Pointers: true, Modules: tt.modules})
		if _, err := p.Plan(program); err != nil {
			t.Fatal(err)
		}
		plan, err := p.Plan(tt.file)
		if err != nil {
			t.Fatal(err)
		}
		if got := len(plan.Shared) > 0 && len(plan.Sites) > 1; got != tt.want {
			t.Errorf("%s: %v, want %v (%d sites)", tt.name, got, tt.want, len(plan.Sites))
		}
	}
}

// TestSystemIsNotOwn checks that a library of the system is not taken for the program's own.
func TestSystemIsNotOwn(t *testing.T) {
	libraries, err := filepath.Glob("/usr/lib/*/libc.so.6")
	if err != nil || len(libraries) == 0 {
		t.Skipf("no C library in /usr/lib: %v", err)
	}
	if _, err := os.Stat(libraries[0]); err != nil {
		t.Skip(err)
	}
	f, err := elf.Open(libraries[0])
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	p := NewPlanner(Options{})
	if _, err := p.Plan(build(t, "gcc", `int main(void) { return 0; }`, "-O1")); err != nil {
		t.Fatal(err)
	}
	if p.isOwn(f) {
		t.Errorf("%s is taken for the program's own", f.Name())
	}
}

// TestUsersBuildInTemporaryFolders checks that a library is not taken for the system's because TMPDIR lies below
// one of its folders.
func TestUsersBuildInTemporaryFolders(t *testing.T) {
	for name, want := range map[string]bool{
		"/usr/lib/libc.so.6": true, "/dev/zero": true, "/var/lib/app/libx.so": true, "/var/tmpfiles/libx.so": true,
		"/dev/shm/t/libx.so": false, "/var/tmp/t/libx.so": false, "/tmp/t/libx.so": false, "/srv/usr/libx.so": false,
	} {
		if got := inSystem(name); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}
