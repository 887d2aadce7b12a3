package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/tracepredict/tracepredict/observer/run"
	"github.com/tracepredict/tracepredict/observer/trace"
)

func writeText(t *testing.T, o *outputFile, text string) {
	t.Helper()
	if _, err := o.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
}

func fileText(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func put(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// wantFiles checks which files a folder holds.
func wantFiles(t *testing.T, dir string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if !slices.Equal(got, want) {
		t.Errorf("the folder holds %q, want %q", got, want)
	}
}

func open(t *testing.T, name string, leftOver func([]byte) bool) *outputFile {
	t.Helper()
	o, err := openOutput("--output", name, leftOver)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { o.Close() })
	return o
}

func commit(t *testing.T, o *outputFile) {
	t.Helper()
	if err := o.commit(); err != nil {
		t.Error(err)
	}
}

// someTrace returns a trace without events.
func someTrace(t *testing.T) string {
	t.Helper()
	var text bytes.Buffer
	w, err := trace.NewWriter(&text, trace.WriterOptions{})
	if err == nil {
		err = w.Close(run.Summary{})
	}
	if err != nil {
		t.Fatal(err)
	}
	return text.String()
}

// TestPartHasTheNameUntilTheEnd checks that a new file has the name of the part alone as long as it is not complete,
// and that an old one stays until then.
func TestPartHasTheNameUntilTheEnd(t *testing.T) {
	for _, old := range []bool{false, true} {
		t.Chdir(t.TempDir())
		whileWritten := []string{"a.part"}
		if old {
			put(t, "a", "older")
			whileWritten = []string{"a", "a.part"}
		}
		o := open(t, "a", partOfTrace)
		writeText(t, o, "new")
		wantFiles(t, ".", whileWritten...)
		if got := fileText(t, "a.part"); got != "new" {
			t.Errorf("the part holds %q", got)
		}
		commit(t, o)
		wantFiles(t, ".", "a")
		if got := fileText(t, "a"); got != "new" {
			t.Errorf("the file holds %q", got)
		}
	}
}

// TestPartThatStays checks that a trace which does not come to its end is kept, and a report is not.
func TestPartThatStays(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, "a", "older")
	for _, keeps := range []bool{false, true} {
		o := open(t, "a", partOfTrace)
		o.keeps = keeps
		writeText(t, o, "new")
		left := o.Close()
		if got := fileText(t, "a"); got != "older" {
			t.Errorf("the file holds %q", got)
		}
		if keeps && (left != "a.part" || fileText(t, left) != "new") || !keeps && left != "" {
			t.Errorf("%q stays", left)
		}
	}
}

// TestPartAndLinks checks that a report replaces what a symbolic link leads to, and not the link, and that other names
// of an old report keep it.
func TestPartAndLinks(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	if err := os.Mkdir("reports", 0o755); err != nil {
		t.Fatal(err)
	}
	put(t, "reports/a", "older")
	for from, to := range map[string]string{"link": "reports/a", "dangling": "reports/b"} {
		if err := os.Symlink(to, from); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Link("reports/a", "hard"); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"link", "dangling"} {
		o := open(t, name, partOfReport)
		writeText(t, o, "new")
		commit(t, o)
		if info, err := os.Lstat(name); err != nil || info.Mode()&os.ModeSymlink == 0 {
			t.Errorf("%s is no link any more: %v", name, err)
		}
		if got := fileText(t, name); got != "new" {
			t.Errorf("%s leads to %q", name, got)
		}
	}
	wantFiles(t, "reports", "a", "b")
	wantFiles(t, dir, "dangling", "hard", "link", "reports")
	if got := fileText(t, "hard"); got != "older" {
		t.Errorf("the other name holds %q", got)
	}
}

// TestPartsOfOthers checks that of the files that have the name of a part those are replaced which a killed run of the
// same kind left, and no others.
func TestPartsOfOthers(t *testing.T) {
	report, record := "tracepredict: no findings in shop", someTrace(t)
	for _, c := range []struct {
		name, is string
		leftOver func([]byte) bool
		replaced bool
	}{
		{"a trace, by a trace", record, partOfTrace, true},
		{"a trace, by a report", record, partOfReport, false},
		{"a trace, by a conversion", record, partOfNothing, false},
		{"a report, by a report", report, partOfReport, true},
		{"a report, by a trace", report, partOfTrace, false},
		{"an empty file", "", partOfNothing, true},
		{"a download", "<html>", partOfReport, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			put(t, "a.part", c.is)
			o := open(t, "a", c.leftOver)
			writeText(t, o, "new")
			commit(t, o)
			if got := fileText(t, "a"); got != "new" {
				t.Errorf("the file holds %q", got)
			}
			if c.replaced {
				wantFiles(t, ".", "a")
				return
			}
			wantFiles(t, ".", "a", "a.part")
			if got := fileText(t, "a.part"); got != c.is {
				t.Errorf("the part holds %q", got)
			}
		})
	}
}

// TestTwoPartsAtOnce checks that two runs may write the same file: that of the last to end stays.
func TestTwoPartsAtOnce(t *testing.T) {
	for _, old := range []bool{false, true} {
		t.Chdir(t.TempDir())
		if old {
			put(t, "a", "older")
		}
		first := open(t, "a", partOfTrace)
		second := open(t, "a", partOfTrace)
		writeText(t, first, someTrace(t))
		writeText(t, second, "second")
		if got := fileText(t, "a.part"); got != someTrace(t) {
			t.Errorf("the first run's part holds %q", got)
		}
		commit(t, second)
		if got := fileText(t, "a"); got != "second" {
			t.Errorf("the file holds %q", got)
		}
		commit(t, first)
		if got := fileText(t, "a"); got != someTrace(t) {
			t.Errorf("the file holds %q", got)
		}
		wantFiles(t, ".", "a")
	}
}

// TestWrittenInPlace checks that a file is written in place where privileges that have been dropped meanwhile, or the
// owner that it has, forbid another to take its place.
func TestWrittenInPlace(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can become another user: run it with sudo")
	}
	for _, c := range []struct {
		name        string
		folder      os.FileMode
		folderOwner int
		owner       int // -1: there is no file before
		inPlace     bool
	}{
		{"a folder of another user", 0o755, 0, 65534, true},
		{"a new file in a folder of another user", 0o755, 0, -1, true},
		{"a folder of the user", 0o755, 65534, 65534, false},
		{"a file of another user", 0o777, 65534, 0, true},
		{"a file of another user in a sticky folder", 0o777 | os.ModeSticky, 0, 0, true},
		{"a new file of the user in a sticky folder", 0o777 | os.ModeSticky, 0, 65534, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			for d := dir; d != os.TempDir() && d != "/"; d = filepath.Dir(d) {
				_ = os.Chmod(d, 0o755)
			}
			if err := os.Chown(dir, c.folderOwner, -1); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(dir, c.folder); err != nil {
				t.Fatal(err)
			}
			name, want := filepath.Join(dir, "a"), []string{"a"}
			if c.owner >= 0 {
				put(t, name, "older")
				if err := os.Chown(name, c.owner, c.owner); err != nil {
					t.Fatal(err)
				}
			}
			o := open(t, name, partOfReport)
			as(t, 65534, func() {
				writeText(t, o, "new")
				if !c.inPlace {
					want = []string{"a", "a.part"}
				}
				wantFiles(t, dir, want...)
				commit(t, o)
			})
			if got := fileText(t, name); got != "new" {
				t.Errorf("the file holds %q", got)
			}
			wantFiles(t, dir, "a")
			if info, err := os.Stat(name); err != nil || c.owner >= 0 && ownerOf(info) != c.owner {
				t.Errorf("the owner has changed: %v", err)
			}
		})
	}
}

// as calls f with a user's rights to files, as a thread that ends with it.
func as(t *testing.T, user int, f func()) {
	t.Helper()
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // for ever: the thread ends with the goroutine
		err := errors.Join(unix.Setfsgid(user), unix.Setfsuid(user))
		if err == nil {
			f()
		}
		done <- err
	}()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

// TestOutputOnAFullDisk checks that on a full disk the older report stays and the error says so; of a trace, what could
// be written stays too, beside it.
func TestOutputOnAFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mount("none", dir, "tmpfs", 0, "size=64k"); err != nil {
		t.Skip("cannot mount a small disk: ", err)
	}
	defer func() {
		if err := unix.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	}()
	name := filepath.Join(dir, "a")
	put(t, name, "older")
	for _, keeps := range []bool{false, true} {
		o := open(t, name, partOfTrace)
		o.keeps = keeps
		writeText(t, o, "new")
		_, err := o.Write(make([]byte, 1<<17))
		if err == nil || !strings.Contains(err.Error(), "a.part: no space left on device") || !keeps && !strings.Contains(err.Error(), "a is as it was") {
			t.Errorf("the error is %v", err)
		}
		err = o.commit()
		if keeps != (err != nil && strings.Contains(err.Error(), "written before that is in "+name+partSuffix)) {
			t.Errorf("the last error is %v", err)
		}
		want := []string{"a"}
		if keeps {
			want = []string{"a", "a.part"}
		}
		wantFiles(t, dir, want...)
		if got := fileText(t, name); got != "older" {
			t.Errorf("the file holds %q", got)
		}
	}
}

// TestOutputInAFolderThatGoes checks that a report which nobody could find is an error.
func TestOutputInAFolderThatGoes(t *testing.T) {
	for _, when := range []string{"before", "after"} {
		dir := filepath.Join(t.TempDir(), "reports")
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		o := open(t, filepath.Join(dir, "a"), partOfReport)
		var err error
		for _, now := range []string{"before", "after"} {
			if now == when {
				if err := os.RemoveAll(dir); err != nil {
					t.Fatal(err)
				}
			}
			if now == "before" {
				_, err = o.Write([]byte("new"))
			} else if err == nil {
				err = o.commit()
			}
		}
		if err == nil || strings.Contains(err.Error(), "is in") {
			t.Errorf("the folder goes %s the report is written: %v", when, err)
		}
	}
}

// TestOpenTraceFile checks that a FIFO or a device is refused at once, and that the error about a file that is not there
// names the part that a killed run left.
func TestOpenTraceFile(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := unix.Mkfifo("pipe", 0o600); err != nil {
		t.Fatal(err)
	}
	put(t, "killed.part", someTrace(t))
	put(t, "empty", "")
	put(t, "empty.part", someTrace(t))
	put(t, "a", someTrace(t))
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := w.WriteString(someTrace(t)); err != nil {
		t.Fatal(err)
	}
	w.Close()
	for name, want := range map[string]string{
		"pipe": "pipe is a pipe (FIFO)", "/dev/zero": "is a device", "killed": "killed.part is there", "empty": "empty.part is there",
		"missing": "no such file or directory", "a": "", fmt.Sprint("/dev/fd/", r.Fd()): "",
	} {
		_, closeTrace, err := openTrace(name, false, false)
		if err == nil {
			closeTrace()
		}
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
