package target

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/tracepredict/tracepredict/loader/procfs"
)

// mapFile writes a file of this content and maps it into the test's own process.
func mapFile(t *testing.T, path, content string) procfs.Mapping {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	memory, err := unix.Mmap(int(f.Fd()), 0, len(content), unix.PROT_READ, unix.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Munmap(memory) })
	maps, err := procfs.Maps(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(maps, func(m procfs.Mapping) bool { return m.Path == path })
	if i < 0 {
		t.Fatalf("%q is not mapped", path)
	}
	return maps[i]
}

func wantMapped(t *testing.T, f *os.File) {
	t.Helper()
	defer f.Close()
	text := make([]byte, 6)
	if _, err := f.ReadAt(text, 0); err != nil || string(text) != "mapped" {
		t.Errorf("read %q, %v", text, err)
	}
}

// TestOpenMappedFollowsNoSwap: OpenMapped opens what a path names by then only if it is the
// mapped file. It opens nothing else, and so does not block.
func TestOpenMappedFollowsNoSwap(t *testing.T) {
	move := func(t *testing.T, path string) {
		t.Helper()
		if err := os.Rename(path, path+".moved"); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name string
		swap func(t *testing.T, path string) error
		want error // nil: the mapped file
	}{
		{"as mapped", func(*testing.T, string) error { return nil }, nil},
		{"moved, with a link to it", func(t *testing.T, path string) error { move(t, path); return os.Symlink(path+".moved", path) }, nil},
		{"moved", func(t *testing.T, path string) error { move(t, path); return nil }, os.ErrNotExist},
		{"deleted", func(_ *testing.T, path string) error { return os.Remove(path) }, os.ErrNotExist},
		{"another file", func(t *testing.T, path string) error {
			move(t, path)
			return os.WriteFile(path, []byte("anothe"), 0o600)
		}, ErrReplaced},
		{"a link to another", func(t *testing.T, path string) error { move(t, path); return os.Symlink(os.Args[0], path) }, ErrReplaced},
		{"a FIFO", func(t *testing.T, path string) error { move(t, path); return unix.Mkfifo(path, 0o600) }, ErrReplaced},
		{"a link to a device", func(t *testing.T, path string) error { move(t, path); return os.Symlink("/dev/zero", path) }, ErrReplaced},
		{"a directory", func(t *testing.T, path string) error { move(t, path); return os.Mkdir(path, 0o700) }, ErrReplaced},
		{"a link to itself", func(t *testing.T, path string) error { move(t, path); return os.Symlink(path, path) }, unix.ELOOP},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "lib\nrary.so")
			m := mapFile(t, path, "mapped")
			if err := c.swap(t, path); err != nil {
				t.Fatal(err)
			}
			// A user who may open map_files gets the mapped file in any case.
			if f, err := OpenMapped(os.Getpid(), m, ""); err == nil {
				wantMapped(t, f)
			}
			f, err := openByPath(os.Getpid(), m)
			if !errors.Is(err, c.want) {
				t.Fatalf("error %v, want %v", err, c.want)
			}
			if err != nil {
				return
			}
			wantMapped(t, f)
		})
	}
}

func TestParseFileUser(t *testing.T) {
	for _, c := range []struct {
		name   string
		status map[string]string
		want   *fileUser // nil: an error
	}{
		{"the last id counts", map[string]string{"Uid": "1\t2\t3\t4", "Gid": "5\t6\t7\t8", "Groups": "9 10 "}, &fileUser{4, 8, []int{9, 10}}},
		{"no groups", map[string]string{"Uid": "0\t0\t0\t0", "Gid": "0\t0\t0\t0", "Groups": ""}, &fileUser{}},
		{"short", map[string]string{"Uid": "1\t2\t3", "Gid": "5\t6\t7\t8"}, nil},
		{"no group", map[string]string{"Uid": "1\t2\t3\t4"}, nil},
		{"no number", map[string]string{"Uid": "1\t2\t3\tx", "Gid": "5\t6\t7\t8"}, nil},
		{"no number of a group", map[string]string{"Uid": "1\t2\t3\t4", "Gid": "5\t6\t7\t8", "Groups": "a"}, nil},
	} {
		got, err := parseFileUser(c.status)
		if (err == nil) != (c.want != nil) || !cmp.Equal(got, c.want, cmp.AllowUnexported(fileUser{})) {
			t.Errorf("%s: %+v, %v", c.name, got, err)
		}
	}
}
