package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestOutputKeepsWhatWasThere(t *testing.T) {
	name := filepath.Join(t.TempDir(), "report")
	for _, c := range []struct {
		name       string
		old, write string
		commit     bool
		want       string
	}{
		{"nothing is written", "older", "", false, "older"},
		{"the run fails first", "older", "new", false, "older"},
		{"a shorter one", "older", "new", true, "new"},
		{"an empty one", "older", "", true, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := os.WriteFile(name, []byte(c.old), 0o600); err != nil {
				t.Fatal(err)
			}
			o, err := openOutput("--output", name, partOfReport)
			if err != nil {
				t.Fatal(err)
			}
			if c.write != "" {
				writeText(t, o, c.write)
			}
			if got := fileText(t, name); got != c.old {
				t.Errorf("%q while it is written", got)
			}
			if c.commit {
				if err := o.commit(); err != nil {
					t.Error(err)
				}
			}
			for range 2 {
				if left := o.Close(); left != "" {
					t.Errorf("%s stays", left)
				}
			}
			wantFiles(t, filepath.Dir(name), "report")
			if info, err := os.Stat(name); err != nil || info.Mode() != 0o600 {
				t.Errorf("%v, %v", info.Mode(), err)
			}
			if got, err := os.ReadFile(name); err != nil || string(got) != c.want {
				t.Errorf("%q, %v, want %q", got, err, c.want)
			}
		})
	}
}

func TestOutputThatIsNotNeededGoes(t *testing.T) {
	name := filepath.Join(t.TempDir(), "report")
	o, err := openOutput("--output", name, partOfReport)
	if err != nil {
		t.Fatal(err)
	}
	o.Close()
	if _, err := os.Stat(name); !os.IsNotExist(err) {
		t.Errorf("it is there: %v", err)
	}
}

func TestOutputToAPipe(t *testing.T) {
	name := filepath.Join(t.TempDir(), "pipe")
	if err := unix.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := openOutput("--output", name, partOfReport); err == nil || !strings.Contains(err.Error(), "nobody reads") {
		t.Errorf("without a reader: %v", err)
	}
	reader, err := os.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	o, err := openOutput("--output", name, partOfReport)
	if err != nil {
		t.Fatal(err)
	}
	writeText(t, o, "report")
	got := make([]byte, 6)
	if _, err := reader.Read(got); err != nil || !bytes.Equal(got, []byte("report")) {
		t.Errorf("%q, %v", got, err)
	}
	if err := o.commit(); err != nil {
		t.Error(err)
	}
}

func TestOwnDescriptor(t *testing.T) {
	for name, want := range map[string]int{"/dev/stdout": 1, "/dev/stderr": 2, "/dev/fd/7": 7, "/proc/self/fd/12": 12, "//dev/./fd/1": 1, "/dev/null": -1, "fd/1": -1, "/dev/fd/x": -1} {
		if fd, ok := ownDescriptor(name); ok != (want >= 0) || ok && fd != want {
			t.Errorf("%s: %d, %v", name, fd, ok)
		}
	}
}

func TestSameFiles(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for _, name := range []string{"a", "b"} {
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for from, to := range map[string]string{"link": "a", "folder": "."} {
		if err := os.Symlink(to, from); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Link("a", "hard"); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		a, b  string
		write bool
		same  bool
	}{
		{"a", "a", true, true}, {"a", "b", true, false}, {"a", "link", true, true}, {"a", "hard", true, true},
		{"a", "folder/a", true, true}, {"new", filepath.Join(dir, "new"), true, true}, {"new", "folder/new", true, true},
		{"new", "newer", true, false}, {"a", "a", false, false}, {"", "", true, false}, {"-", "-", true, false}, {"/dev/null", "/dev/null", true, false},
	} {
		err := refuseSame(userFile{flag: "--one", name: c.a, written: c.write}, userFile{flag: "--other", name: c.b})
		if (err != nil) != c.same {
			t.Errorf("%s and %s: %v", c.a, c.b, err)
		}
	}
}

// TestForeignLink checks that a link of another user in a folder such as /tmp is not followed.
func TestForeignLink(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can make links of others")
	}
	dir := t.TempDir()
	link := filepath.Join(dir, "report")
	if err := os.Symlink(filepath.Join(dir, "precious"), link); err != nil {
		t.Fatal(err)
	}
	if err := os.Lchown(link, 65534, 65534); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		mode    os.FileMode
		refused bool
	}{{0o777, false}, {0o777 | os.ModeSticky, true}} {
		if err := os.Chmod(dir, c.mode); err != nil {
			t.Fatal(err)
		}
		o, err := openOutput("--output", link, partOfReport)
		if (err != nil) != c.refused {
			t.Errorf("mode %v: %v", c.mode, err)
		}
		if err == nil {
			o.Close()
		}
	}
}
