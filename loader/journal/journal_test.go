package journal

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/tracepredict/tracepredict/loader/procfs"
)

const boot = "2f0c1a8e-0000-4026531836"

var (
	library = File{ID: procfs.FileID{Major: 8, Minor: 1, Inode: 1234}, Build: "5f3a", Path: "/usr/lib/a \"b\"\n.so", Probes: []Probe{{0x1a40, 0x55}, {0x1a52, 0x48}}}
	program = File{ID: procfs.FileID{Inode: 7}, Path: "/bin/p", Probes: []Probe{{0, 0xf3}}}
)

// folder returns a folder of journals that is the test's own.
func folder(t *testing.T) *Folder {
	t.Helper()
	f, err := Open(filepath.Join(t.TempDir(), "journals"), true)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// write makes a journal in a folder, and returns its writer.
func write(t *testing.T, path string, targets []procfs.Identity, files ...File) *Writer {
	t.Helper()
	f, err := Open(path, true)
	if err != nil {
		t.Fatal(err)
	}
	w, err := f.Create(boot)
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range targets {
		err = errors.Join(err, w.AddTarget(id))
	}
	if err := errors.Join(err, w.Add(files)); err != nil {
		t.Fatal(err)
	}
	return w
}

// names returns what is in a folder.
func names(t *testing.T, f *Folder) (all []string) {
	t.Helper()
	entries, err := os.ReadDir(f.path)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

func own(t *testing.T) procfs.Identity {
	t.Helper()
	id, err := procfs.IdentityOf(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// TestWrittenIsRead: what a Writer writes is read again, each probe once, and is gone with the Writer.
func TestWrittenIsRead(t *testing.T) {
	f := folder(t)
	targets := []procfs.Identity{{PID: 41, Start: 1 << 40}, {PID: 42, Start: 7}}
	w := write(t, f.path, targets, library, program)
	if err := errors.Join(w.AddTarget(targets[0]), w.Add([]File{library})); err != nil {
		t.Fatal(err)
	}
	more := library
	more.Probes = append(slices.Clone(library.Probes), Probe{0x10, 0xcc})
	if err := w.Add([]File{more}); err != nil {
		t.Fatal(err)
	}
	more.Probes = more.Probes[2:]
	want := Journal{Boot: boot, Owner: own(t), Targets: targets, Files: []File{library, program, more}}
	entries, damaged := f.Read(boot)
	if len(entries) != 1 || len(damaged) > 0 {
		t.Fatalf("%d journals, %v", len(entries), damaged)
	}
	defer entries[0].Close()
	if d := cmp.Diff(entries[0].Journal, want); d != "" {
		t.Errorf("read (-got +want):\n%s", d)
	}
	if !want.Has(targets[1]) || want.Has(procfs.Identity{PID: 42, Start: 8}) || entries[0].Gone() {
		t.Error("the targets, or the owner, are wrong")
	}
	if err := w.Remove(); err != nil || len(names(t, f)) > 0 {
		t.Errorf("left: %q, %v", names(t, f), err)
	}
	if w.Add([]File{{ID: library.ID, Probes: []Probe{{1, 2}}}}) == nil {
		t.Error("a journal that was removed was written")
	}
}

// TestTargetsDoNotGrow: the journal is as long as there are processes at once.
func TestTargetsDoNotGrow(t *testing.T) {
	f := folder(t)
	w := write(t, f.path, nil, program)
	before := w.size
	for pid := 1; pid < 1000; pid++ {
		if err := errors.Join(w.AddTarget(procfs.Identity{PID: pid, Start: uint64(pid)}), w.RemoveTarget(procfs.Identity{PID: pid - 1, Start: uint64(pid) - 1})); err != nil {
			t.Fatal(err)
		}
	}
	if grown := w.size - before; grown > 200 {
		t.Errorf("it grew by %d bytes", grown)
	}
	entries, _ := f.Read(boot)
	defer entries[0].Close()
	if want := []procfs.Identity{{PID: 999, Start: 999}}; !slices.Equal(entries[0].Targets, want) {
		t.Errorf("targets %v", entries[0].Targets)
	}
	w.Remove()
}

// TestBound: a journal that would be too long is written no more, and can be read.
func TestBound(t *testing.T) {
	f := folder(t)
	w := write(t, f.path, nil, program)
	many := File{ID: library.ID, Path: "many"}
	for i := range uint64(maxSize / 10) {
		many.Probes = append(many.Probes, Probe{1<<40 + i, 0x55})
	}
	if w.Add([]File{many}) == nil || w.Add([]File{library}) == nil {
		t.Error("there is no bound")
	}
	entries, damaged := f.Read(boot)
	if len(entries) != 1 || len(entries[0].Files) != 1 {
		t.Fatalf("%d journals, %v", len(entries), damaged)
	}
	entries[0].Close()
	w.Remove()
}

func TestNilWriter(t *testing.T) {
	var w *Writer
	if err := errors.Join(w.AddTarget(procfs.Identity{}), w.RemoveTarget(procfs.Identity{}), w.Add([]File{library}), w.Remove()); err != nil {
		t.Error(err)
	}
}

// put writes a file into a folder.
func put(t *testing.T, f *Folder, name string, mode os.FileMode, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(f.path, name), []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

// TestReadJudges: what is no journal of this user is not read, and what says nothing any more is removed.
func TestReadJudges(t *testing.T) {
	f := folder(t)
	dead := exec.Command("true")
	if err := dead.Run(); err != nil {
		t.Fatal(err)
	}
	gone := procfs.Identity{PID: dead.Process.Pid, Start: 5}
	journalOf := func(boot string, owner procfs.Identity) string { return string(header(boot, owner)) }
	put(t, f, fileName(gone, 0), 0o600, journalOf(boot, gone))
	put(t, f, fileName(gone, 1), 0o600, "")
	put(t, f, fileName(own(t), 0), 0o600, "")
	put(t, f, fileName(gone, 2), 0o600, journalOf("another-4026531836", gone))
	put(t, f, fileName(gone, 3), 0o600, journalOf("2f0c1a8e-0000-1", gone))
	put(t, f, fileName(gone, 4), 0o600, journalOf(boot, procfs.Identity{PID: 1, Start: 1}))
	put(t, f, fileName(gone, 5), 0o604, journalOf(boot, gone))
	put(t, f, fileName(gone, 6), 0o600, "tracepredict journal 1\nnonsense\n")
	put(t, f, "notes", 0o600, journalOf(boot, gone))
	if err := os.Symlink(fileName(gone, 0), filepath.Join(f.path, fileName(gone, 7))); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mkfifo(filepath.Join(f.path, fileName(gone, 8)), 0o600); err != nil {
		t.Fatal(err)
	}
	entries, damaged := f.Read(boot)
	if len(entries) != 1 || entries[0].Path != filepath.Join(f.path, fileName(gone, 0)) || !entries[0].Gone() {
		t.Errorf("journals: %+v", entries)
	}
	if len(damaged) != 6 { // 4, 5, 6, notes, 7, 8
		t.Errorf("not read:\n%v", errors.Join(damaged...))
	}
	left := names(t, f)
	for n, want := range map[int]bool{0: true, 1: false, 2: false, 3: true, 4: true, 5: true, 6: true, 7: true, 8: true} {
		if slices.Contains(left, fileName(gone, n)) != want {
			t.Errorf("journal %d is left: %v", n, !want)
		}
	}
	if !slices.Contains(left, fileName(own(t), 0)) {
		t.Error("an empty journal of a process that lives was removed")
	}
	if err := entries[0].Remove(); err != nil || slices.Contains(names(t, f), fileName(gone, 0)) {
		t.Errorf("the journal is left: %v", err)
	}
	put(t, f, fileName(gone, 1), 0o600, "")
	f.dir.Seek(0, 0)
	f.RemoveEmpty(gone.PID)
	if left := names(t, f); slices.Contains(left, fileName(gone, 1)) || !slices.Contains(left, fileName(gone, 6)) {
		t.Errorf("RemoveEmpty leaves %q", left)
	}
}

// TestFolderIsTheUsersAlone: a folder that others may write or read, or that is another's, is not used.
func TestFolderIsTheUsersAlone(t *testing.T) {
	above := t.TempDir()
	path := filepath.Join(above, "journals")
	if _, err := Open(path, false); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a folder that is not there: %v", err)
	}
	f, err := Open(path, true)
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	for mode, usable := range map[os.FileMode]bool{0o700: true, 0o701: false, 0o740: false, 0o770: false} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		f, err := Open(path, true)
		if (err == nil) != usable {
			t.Errorf("mode %04o: %v", mode, err)
		}
		if err == nil {
			f.Close()
		}
	}
	link := filepath.Join(above, "link")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(link, true); err == nil {
		t.Error("a symbolic link was followed")
	}
	if os.Geteuid() == 0 {
		if err := errors.Join(os.Chmod(path, 0o700), os.Chown(path, 65534, 65534)); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(path, true); err == nil {
			t.Error("a folder of another user was opened")
		}
	}
}

// seeds are contents that are no journal, with what is wrong.
var seeds = map[string]string{
	"":                                       "begin",
	"tracepredict journal 2\n":               "begin",
	magic:                                    "which boot",
	magic + "boot a\n":                       "which boot",
	magic + "boot a\nboot b\n":               "line 3: a second boot",
	magic + "boot \n":                        "line 2",
	magic + "owner 0 0\n":                    "line 2: no owner",
	magic + "owner 1 2\nowner 1 2\n":         "line 3: a second owner",
	magic + "owner -1 0\n":                   "line 2",
	magic + "owner 99999999999999999999 1\n": "line 2",
	magic + "target 1 99999999999999999999\n":                     "line 2",
	magic + "target 1\n":                                          "line 2",
	magic + "at 1=2\n":                                            "line 2: probes without a file",
	magic + "file 1:2 3 - \"a\n":                                  "line 2",
	magic + "file 1:2 3 - `a`\n":                                  "line 2",
	magic + "file 1:2 3 - \n":                                     "line 2",
	magic + "file 1 3 - \"a\"\n":                                  "line 2",
	magic + "file 1:2 x - \"a\"\n":                                "line 2",
	magic + "file 1:4294967296 3 - \"a\"\n":                       "line 2",
	magic + "file 1:2 3 XY \"a\"\n":                               "line 2",
	magic + "file 1:2 3 " + strings.Repeat("a", 129) + " \"a\"\n": "line 2",
	magic + "file 1:2 3 - \"a\"\nat 1\n":                          "line 3",
	magic + "file 1:2 3 - \"a\"\nat 1=100\n":                      "line 3",
	magic + "file 1:2 3 - \"a\"\nat ffffffffffffffff=1\n":         "line 3",
	magic + "file 1:2 3 - \"a\"\nat -1=1\n":                       "line 3",
	magic + "file 1:2 3 - \"a\"\nat 1=2  1=2\n":                   "line 3",
	magic + "\n":        "line 2",
	magic + "mount /\n": "line 2: \"mount\" is unknown",
}

func TestParseErrors(t *testing.T) {
	for text, want := range seeds {
		if j, err := parse([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %+v, %v, want %q", text, j, err, want)
		}
	}
	if _, err := parse(make([]byte, maxSize+1)); err == nil {
		t.Error("there is no bound")
	}
}

// TestCutShort: of a journal that was cut anywhere, the whole lines are read.
func TestCutShort(t *testing.T) {
	whole := library.append(header(boot, procfs.Identity{PID: 1, Start: 2}))
	start := len(header(boot, procfs.Identity{PID: 1, Start: 2}))
	for n := start; n < len(whole); n++ {
		j, err := parse(whole[:n])
		if err != nil || len(j.Files) > 0 && len(j.Files[0].Probes) > 0 {
			t.Errorf("%q: %+v, %v", whole[:n], j, err)
		}
	}
	for n := range start {
		if _, err := parse(whole[:n]); err == nil {
			t.Errorf("%q is a journal", whole[:n])
		}
	}
}

// FuzzParse: any content is a journal or an error, and a journal that is written again is the same.
func FuzzParse(f *testing.F) {
	for text := range seeds {
		f.Add([]byte(text))
	}
	f.Add(program.append(library.append(fmt.Appendf(header(boot, procfs.Identity{PID: 1, Start: 2}), targetLine+targetLine, 4, 5, 0, 0))))
	f.Fuzz(func(t *testing.T, text []byte) {
		j, err := parse(text)
		if err != nil {
			return
		}
		again := header(j.Boot, j.Owner)
		for _, id := range j.Targets {
			again = fmt.Appendf(again, targetLine, id.PID, id.Start)
		}
		for i := range j.Files {
			again = j.Files[i].append(again)
		}
		if len(again) > maxSize || bytes.ContainsAny([]byte(j.Boot), "\n") {
			return
		}
		if j2, err := parse(again); err != nil || !cmp.Equal(j, j2) {
			t.Errorf("%q\nis written as\n%q, %v\n%s", text, again, err, cmp.Diff(j, j2))
		}
	})
}
