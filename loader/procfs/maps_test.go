package procfs

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	_ "github.com/tracepredict/tracepredict/internal/fixedseed"
)

func TestParseMaps(t *testing.T) {
	const text = `55d0a0000000-55d0a0001000 r-xp 00002000 08:01 1234 /usr/bin/a b
7f0000000000-7f0000001000 rw-p 00000000 00:00 0 
7f0000002000-7f0000003000 r--p 00001000 fe:0a 99                         /lib/x.so (deleted)
ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]
7f0000004000-7f0000005000 rwxs 00000000 00:05 7
`
	want := []Mapping{
		{Lo: 0x55d0a0000000, Hi: 0x55d0a0001000, Offset: 0x2000, Exec: true, File: FileID{8, 1, 1234}, Path: "/usr/bin/a b"},
		{Lo: 0x7f0000000000, Hi: 0x7f0000001000, Write: true},
		{Lo: 0x7f0000002000, Hi: 0x7f0000003000, Offset: 0x1000, File: FileID{0xfe, 10, 99}, Path: "/lib/x.so", Deleted: true},
		{Lo: 0xffffffffff600000, Hi: 0xffffffffff601000, Exec: true, Path: "[vsyscall]"},
		{Lo: 0x7f0000004000, Hi: 0x7f0000005000, Exec: true, Write: true, Shared: true, File: FileID{0, 5, 7}},
	}
	got, err := ParseMaps(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestParseMapsErrors(t *testing.T) {
	const good = "1000-2000 r-xp 00000000 08:01 12 /a\n"
	for _, line := range []string{
		"", "x", "1000 r-xp 0 08:01 12", "1000-2000 r-x 0 08:01 12", "1000-2000 r-xp 0 0801 12", "1000-zz r-xp 0 08:01 12",
		"1000-2000 r-xp 0 08:fffffffff 12", "1000-20000000000000000 r-xp 0 08:01 12", strings.Repeat("a", 2<<20),
	} {
		if _, err := ParseMaps(strings.NewReader(good + line + "\n")); err == nil {
			t.Errorf("%.40q is taken for a mapping", line)
		} else if len(line) < 100 && !strings.Contains(err.Error(), "line 2") {
			t.Errorf("%.40q: the error does not name the line: %v", line, err)
		}
	}
}

// TestMapsRoundTrip: ParseMaps returns the mapping that was printed as the kernel prints it.
func TestMapsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := Mapping{
			Lo: rapid.Uint64().Draw(t, "lo"), Hi: rapid.Uint64().Draw(t, "hi"), Offset: rapid.Uint64().Draw(t, "offset"),
			Exec: rapid.Bool().Draw(t, "exec"), Write: rapid.Bool().Draw(t, "write"), Deleted: rapid.Bool().Draw(t, "gone"), Shared: rapid.Bool().Draw(t, "shared"),
			File: FileID{rapid.Uint32().Draw(t, "major"), rapid.Uint32().Draw(t, "minor"), rapid.Uint64().Draw(t, "inode")},
			Path: rapid.StringMatching(`/[a-z /:()-]{0,20}[a-z]`).Draw(t, "path"),
		}
		mode := []byte("r--p")
		if m.Write {
			mode[1] = 'w'
		}
		if m.Exec {
			mode[2] = 'x'
		}
		if m.Shared {
			mode[3] = 's'
		}
		line := fmt.Sprintf("%08x-%08x %s %08x %02x:%02x %d", m.Lo, m.Hi, mode, m.Offset, m.File.Major, m.File.Minor, m.File.Inode)
		line = fmt.Sprintf("%-73s%s", line+" ", m.Path)
		if m.Deleted {
			line += " (deleted)"
		}
		got, err := ParseMaps(strings.NewReader(line + "\n"))
		if err != nil || len(got) != 1 || got[0] != m {
			t.Fatalf("%q: %+v, want %+v (%v)", line, got, m, err)
		}
	})
}

func FuzzParseMaps(f *testing.F) {
	f.Add("1000-2000 r-xp 00000000 08:01 12 /a\n")
	f.Add("7f0000000000-7f0000001000 rw-p 00000000 00:00 0 \n\n")
	f.Fuzz(func(t *testing.T, text string) {
		maps, err := ParseMaps(strings.NewReader(text))
		if err != nil {
			if len(maps) != 0 {
				t.Error("an error, and mappings")
			}
			return
		}
		if n := strings.Count(text, "\n") + 1; len(maps) > n {
			t.Errorf("%d mappings of %d lines", len(maps), n)
		}
	})
}

// TestMapsOfNames: what Maps returns is the name of the file, whatever /proc/PID/maps shows for it.
func TestMapsOfNames(t *testing.T) {
	for _, name := range []string{"a\nb", `a\012b`, "a\n\\012b ", "a\r", "a b"} {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, make([]byte, 100), 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		page := uintptr(os.Getpagesize())
		at, err := unix.MmapPtr(int(f.Fd()), 0, nil, page, unix.PROT_READ, unix.MAP_PRIVATE)
		if err != nil {
			t.Fatal(err)
		}
		maps, err := Maps(os.Getpid())
		if err != nil {
			t.Fatal(err)
		}
		if i := slices.IndexFunc(maps, func(m Mapping) bool { return m.Lo == uint64(uintptr(at)) }); i < 0 || maps[i].Path != path {
			t.Errorf("%q is not among the mappings (%d)", path, i)
		}
		if err := unix.MunmapPtr(at, page); err != nil {
			t.Fatal(err)
		}
	}
}

func TestNoMaps(t *testing.T) {
	if _, err := Maps(-1); err == nil {
		t.Error("process -1 has mappings")
	}
}

func TestInFileSystem(t *testing.T) {
	for path, want := range map[string]bool{
		"/tmp/state": true, "/devices": true, "/var/lib/a b": true, "": false, "/dev/shm/ring": false, "/dev/zero": false,
		"/memfd:pool": false, "/SYSV00000000": false,
	} {
		if m := (Mapping{Path: path}); m.InFileSystem() != want {
			t.Errorf("%q: %v", path, !want)
		}
	}
}
