package debugpkg

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// database creates a root folder with lists, and returns its path.
func database(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	dir := filepath.Join(root, lists)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestOwner(t *testing.T) {
	root := database(t, map[string]string{
		"libc6:amd64.list":     "/.\n/lib\n/lib/x86_64-linux-gnu/libc.so.6\n",
		"libx1:amd64.list":     "/.\n/usr/lib/libx.so.1.2\n/usr/lib/libx.so.1.2.3\n",
		"tool.list":            "/.\n/usr/bin/tool",
		"tool.md5sums":         "/usr/bin/other\n",
		"libc6-dev:amd64.list": "/.\n/usr/share/gdb/lib/x86_64-linux-gnu/libc.so.6\n",
	})
	for file, want := range map[string]string{
		"/lib/x86_64-linux-gnu/libc.so.6":     "libc6",
		"/usr/lib/x86_64-linux-gnu/libc.so.6": "libc6",
		"/lib/libx.so.1.2":                    "libx1",
		"/usr/lib/libx.so.1":                  "",
		"/usr/lib//libx.so.1.2.3":             "libx1",
		"/bin/tool":                           "tool",
		"/usr/bin/other":                      "",
		"/opt/tool":                           "",
	} {
		if got, err := Owner(root, file); got != want || err != nil {
			t.Errorf("%s: %q, %v; want %q", file, got, err, want)
		}
	}
	if got := Symbols("libc6") + " " + Symbols("libx1"); got != "libc6-dbg libx1-dbgsym" {
		t.Error(got)
	}
}

// TestHostileDatabase checks that what is no list is skipped, and that links do not lead out of the
// root.
func TestHostileDatabase(t *testing.T) {
	root := database(t, map[string]string{"z.list": "/usr/bin/tool\n"})
	dir := filepath.Join(root, lists)
	if err := unix.Mkfifo(filepath.Join(dir, "a.list"), 0o644); err != nil {
		t.Fatal(err)
	}
	outside := filepath.Join(t.TempDir(), "list")
	if err := os.WriteFile(outside, []byte("/usr/bin/tool\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(dir, "b.list")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "c.list"), 0o755); err != nil {
		t.Fatal(err)
	}
	if got, err := Owner(root, "/usr/bin/tool"); got != "z" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := Owner(t.TempDir(), "/usr/bin/tool"); got != "" || err != nil {
		t.Errorf("without a database: %q, %v", got, err)
	}
}

// TestDpkg compares Owner with dpkg itself.
func TestDpkg(t *testing.T) {
	dpkg, err := exec.LookPath("dpkg")
	if err != nil {
		t.Skip("dpkg is not installed: this is no Debian")
	}
	out, err := exec.Command(dpkg, "-S", dpkg).Output()
	if err != nil {
		t.Skipf("dpkg -S %s: %v", dpkg, err)
	}
	want, _, _ := strings.Cut(string(out), ":")
	if got, err := Owner("/", dpkg); got != want || err != nil {
		t.Errorf("%q, %v; want %q", got, err, want)
	}
}
