package target

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/moby/sys/capability"
	"golang.org/x/sys/unix"

	elfbinary "github.com/tracepredict/tracepredict/probes/elf"

	"github.com/tracepredict/tracepredict/internal/loadertest"
	"github.com/tracepredict/tracepredict/loader/need"
	"github.com/tracepredict/tracepredict/loader/procfs"
)

func init() {
	loadertest.Serve(map[string]func(string) error{
		"pid": func(arg string) error {
			pid, _ := strconv.Atoi(arg)
			return CheckPID(pid)
		},
		"program": func(arg string) error {
			_, err := ResolveProgram(arg)
			return err
		},
		"undumpable": func(string) error {
			err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
			loadertest.Ready()
			return err
		},
		"leaderless": func(string) error { leaderless(); return nil },
		"wait":       func(string) error { loadertest.Ready(); return nil },
	})
}

// leaderless ends the first thread, which init runs on, before the others.
func leaderless() {
	go func() {
		for {
			status, err := procfs.Status(fmt.Sprintf("self/task/%d", os.Getpid()))
			if err != nil || procfs.Ended(status) {
				break
			}
			runtime.Gosched()
		}
		loadertest.Ready()
		os.Exit(0)
	}()
	syscall.Syscall(syscall.SYS_EXIT, 0, 0, 0)
}

// wantNeed checks that err is a *need.Error of a kind, and that its text contains all words.
func wantNeed(t *testing.T, err, kind error, words ...string) {
	t.Helper()
	var known *need.Error
	if !errors.As(err, &known) || kind != nil && !errors.Is(err, kind) {
		t.Fatalf("got %v (%T), want a *need.Error that is %v", err, err, kind)
	}
	t.Log(err)
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%q does not say %q", err, w)
		}
	}
}

func TestCheckPIDOfRunningProcess(t *testing.T) {
	if err := CheckPID(loadertest.StartHelper(t, loadertest.HelperCommand("/proc/self/exe", "wait", nil))); err != nil {
		t.Error(err)
	}
}

func TestCheckPIDOfNoProcess(t *testing.T) {
	cmd := exec.Command("/proc/self/exe", "-test.run=^$")
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	for _, pid := range []int{0, -1, cmd.Process.Pid, 1 << 30} {
		wantNeed(t, CheckPID(pid), ErrNoProcess, strconv.Itoa(pid), "ps -e")
	}
}

func TestCheckPIDOfItself(t *testing.T) {
	wantNeed(t, CheckPID(os.Getpid()), ErrOwnProcess, "itself")
	wantNeed(t, CheckPID(anotherThread(t, os.Getpid())), ErrOwnProcess, "itself")
}

// anotherThread returns a thread of a Go program other than its first.
func anotherThread(t *testing.T, pid int) int {
	t.Helper()
	tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range tasks {
		if tid, _ := strconv.Atoi(task.Name()); tid != pid {
			return tid
		}
	}
	t.Fatalf("process %d has one thread", pid)
	return 0
}

func TestCheckPIDOfThread(t *testing.T) {
	pid := loadertest.StartHelper(t, loadertest.HelperCommand("/proc/self/exe", "wait", nil))
	wantNeed(t, CheckPID(anotherThread(t, pid)), ErrThread, fmt.Sprintf("-p %d", pid), "thread of process")
}

func TestCheckPIDOfKernelThread(t *testing.T) {
	status, err := procfs.Status("2")
	if err != nil || status["Name"] != "kthreadd" {
		t.Skip("no thread of the kernel is seen: another PID namespace?")
	}
	wantNeed(t, CheckPID(2), ErrKernelThread, "kthreadd")
	delete(status, "Kthread") // as on older kernels
	if !procfs.IsKernelThread(2, status) {
		t.Error("process 2 is not a thread of the kernel by its flags")
	}
	delete(status, "Kthread")
	if procfs.IsKernelThread(os.Getpid(), map[string]string{}) {
		t.Error("the test is a thread of the kernel by its flags")
	}
}

func TestCheckPIDOfZombie(t *testing.T) {
	cmd := exec.Command("/proc/self/exe", "-test.run=^$")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	if err := unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil); err != nil {
		t.Fatal(err)
	}
	wantNeed(t, CheckPID(cmd.Process.Pid), ErrEnded, "has ended", strconv.Itoa(os.Getpid()))
}

func TestCheckPIDWhoseFirstThreadEnded(t *testing.T) {
	pid := loadertest.StartHelper(t, loadertest.HelperCommand("/proc/self/exe", "leaderless", nil))
	if status, err := procfs.Status(strconv.Itoa(pid)); err != nil || !procfs.Ended(status) {
		t.Fatalf("the first thread has not ended: %v %v", status["State"], err)
	}
	if err := CheckPID(pid); err != nil {
		t.Errorf("other threads live: %v", err)
	}
}

func TestCheckPIDOfAnotherUser(t *testing.T) {
	loadertest.NeedRoot(t)
	bin := loadertest.PublicBinary(t)
	pid := loadertest.StartHelper(t, loadertest.HelperCommand("/proc/self/exe", "wait", nil))
	role := fmt.Sprintf("pid %d", pid)
	if _, failure := loadertest.RunHelper(t, loadertest.HelperCommand(bin, role, &loadertest.As{UID: loadertest.Nobody})); !strings.Contains(failure, "belongs to user root") || !strings.Contains(failure, "sudo ") {
		t.Errorf("as nobody: %q", failure)
	} else {
		t.Log(failure)
	}
	withCap := &loadertest.As{UID: loadertest.Nobody, Caps: []capability.Cap{capability.CAP_SYS_PTRACE}}
	if _, failure := loadertest.RunHelper(t, loadertest.HelperCommand(bin, role, withCap)); failure != "" {
		t.Errorf("as nobody with CAP_SYS_PTRACE: %q", failure)
	}
	own := loadertest.StartHelper(t, loadertest.HelperCommand(bin, "wait", &loadertest.As{UID: loadertest.Nobody}))
	if _, failure := loadertest.RunHelper(t, loadertest.HelperCommand(bin, fmt.Sprintf("pid %d", own), &loadertest.As{UID: loadertest.Nobody})); failure != "" {
		t.Errorf("a process of one's own: %q", failure)
	}
	closed := loadertest.StartHelper(t, loadertest.HelperCommand(bin, "undumpable", &loadertest.As{UID: loadertest.Nobody}))
	if _, failure := loadertest.RunHelper(t, loadertest.HelperCommand(bin, fmt.Sprintf("pid %d", closed), &loadertest.As{UID: loadertest.Nobody})); failure == "" {
		t.Error("a process that does not let itself be looked at passes")
	} else {
		t.Log(failure)
	}
}

// machineOf returns a function that changes the machine in the header of an ELF file.
func machineOf(machine uint16) func([]byte) []byte {
	return func(b []byte) []byte {
		binary.LittleEndian.PutUint16(b[18:], machine)
		return b
	}
}

// programs returns a directory with one file of each kind that a user may name.
func programs(t *testing.T) string {
	t.Helper()
	dir := loadertest.PublicDir(t)
	in := func(name string) string { return filepath.Join(dir, name) }
	loadertest.CopyBinary(t, in("good"), nil)
	loadertest.CopyBinary(t, in("i386"), func(b []byte) []byte { b[4] = 1; return machineOf(3)(b) })
	foreign := map[string]uint16{"amd64": 183, "arm64": 62}[runtime.GOARCH]
	loadertest.CopyBinary(t, in("foreign"), machineOf(foreign))
	loadertest.CopyBinary(t, in("sparc"), machineOf(2))
	loadertest.CopyBinary(t, in("cut"), func(b []byte) []byte { return b[:100] })
	loadertest.CopyBinary(t, in("object"), func(b []byte) []byte { b[16] = 1; return b })
	for name, text := range map[string]string{
		"script": "#!/bin/sh\ntrue\n", "envscript": "#! /usr/bin/env  perl -w\n", "text": "true\n", "empty": "", "bang": "#!\n", "orphan": "#!/nowhere/sh -e\n", "scriptscript": "#!" + in("script") + "\n",
		"textscript": "#!" + in("text") + "\n", "sparcscript": "#!" + in("sparc") + "\n", "loopscript": "#!" + in("loopscript") + "\n",
	} {
		if err := os.WriteFile(in(name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, err := range []error{
		os.WriteFile(in("data"), []byte("x"), 0o644), os.Mkdir(in("dir"), 0o755), unix.Mkfifo(in("fifo"), 0o755),
		os.Symlink("gone", in("dangling")), os.Symlink("good", in("link")), os.Symlink("loop", in("loop")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestResolveProgram(t *testing.T) {
	dir := programs(t)
	for _, c := range []struct {
		name  string
		code  int // exit status; 0: it can be run
		kind  error
		words []string
		env   bool // env(1) must return the same status
	}{
		{name: "good"},
		{name: "link"},
		{name: "absent", code: 127, kind: os.ErrNotExist, words: []string{"absent"}, env: true},
		{name: "dangling", code: 127, kind: os.ErrNotExist, env: true},
		{name: "loop", code: 126, kind: unix.ELOOP, env: true},
		{name: "good/below", code: 126, kind: unix.ENOTDIR, env: true},
		{name: "dir", code: 126, words: []string{"directory"}, env: true},
		{name: "data", code: 126, kind: os.ErrPermission, words: []string{"not executable", "chmod +x"}, env: true},
		{name: "fifo", code: 126, words: []string{"not a regular file"}, env: true},
		{name: "i386", code: 126, kind: elfbinary.ErrArch, words: []string{"32-bit"}},
		{name: "foreign", code: 126, kind: elfbinary.ErrArch, words: []string{"is a program for", runtime.GOARCH}},
		{name: "sparc", code: 126, kind: elfbinary.ErrArch, words: []string{"SPARC"}},
		{name: "cut", code: 126, kind: elfbinary.ErrTruncated},
		{name: "object", code: 126, kind: elfbinary.ErrType, words: []string{"object file"}},
		{name: "script"},
		{name: "envscript"},
		{name: "scriptscript"},
		{name: "orphan", code: 127, kind: os.ErrNotExist, words: []string{`run by "/nowhere/sh -e"`}, env: true},
		{name: "textscript", code: 126, kind: elfbinary.ErrNotELF, words: []string{"is not a native program"}},
		{name: "sparcscript", code: 126, kind: elfbinary.ErrArch, words: []string{"is a script", "SPARC"}},
		{name: "loopscript", code: 126, kind: elfbinary.ErrNotELF, words: []string{"is a script"}, env: true},
		{name: "text", code: 126, kind: elfbinary.ErrNotELF, words: []string{"/bin/sh"}},
		{name: "empty", code: 126, kind: elfbinary.ErrNotELF},
		{name: "bang", code: 126, kind: elfbinary.ErrNotELF},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := dir + "/" + c.name
			got, err := ResolveProgram(path)
			checkResolved(t, got, err, path, c.code)
			if c.kind != nil && !errors.Is(err, c.kind) {
				t.Errorf("%v is not %v", err, c.kind)
			}
			for _, w := range c.words {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("%q does not say %q", err, w)
				}
			}
			if c.env {
				if want := envStatus(t, os.Environ(), path); want != c.code {
					t.Errorf("env(1) gives %d, want %d", want, c.code)
				}
			}
		})
	}
}

func TestInterpreter(t *testing.T) {
	dir := programs(t)
	for name, want := range map[string]string{"good": "", "script": "/bin/sh", "envscript": "/usr/bin/env", "scriptscript": "/bin/sh", "text": "", "bang": ""} {
		if got := Interpreter(dir + "/" + name); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}

func checkResolved(t *testing.T, got string, err error, want string, code int) {
	t.Helper()
	if code == 0 {
		if err != nil || got != want {
			t.Fatalf("got %q, %v, want %q", got, err, want)
		}
		return
	}
	var exit *ExitError
	if !errors.As(err, &exit) || exit.Code != code {
		t.Fatalf("got %v (%T), want exit status %d", err, err, code)
	}
	t.Log(err)
}

// envStatus returns the exit status of env(1) for a program that it cannot run.
func envStatus(t *testing.T, environ []string, name string) int {
	t.Helper()
	cmd := exec.Command("/usr/bin/env", name)
	cmd.Env = environ
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Skip("no env(1)")
	}
	return cmd.ProcessState.ExitCode()
}

func TestResolveProgramInPath(t *testing.T) {
	loadertest.NeedRoot(t) // root ignores permissions of directories, and so does its env(1)
	dir := programs(t)
	later := loadertest.PublicDir(t)
	loadertest.CopyBinary(t, later+"/data", nil)
	loadertest.CopyBinary(t, later+"/dir", nil)
	t.Chdir(dir)
	for _, c := range []struct {
		name, path, want string
		code             int
		differs          bool // from env(1), for a reason
	}{
		{name: "good", path: "/nowhere:" + dir, want: dir + "/good"},
		{name: "good", path: "/nowhere:", want: "./good"},
		{name: "good", path: ".", want: "./good"},
		{name: "good", path: later, code: 127},
		{name: "good", path: dir + "/good:/etc/passwd", code: 127, differs: true}, // env's status is of its last attempt
		{name: "data", path: dir + ":" + later, want: later + "/data"},
		{name: "dir", path: dir + ":" + later, want: later + "/dir"},
		{name: "data", path: dir + ":/nowhere", code: 126},
		{name: "dir", path: dir, code: 126},
		{name: "script", path: dir, want: dir + "/script"},
		{name: "", path: dir, code: 127},
	} {
		t.Run(c.name+" in "+c.path, func(t *testing.T) {
			t.Setenv("PATH", c.path)
			got, err := ResolveProgram(c.name)
			checkResolved(t, got, err, c.want, c.code)
			if c.code != 0 && !c.differs {
				if want := envStatus(t, []string{"PATH=" + c.path}, c.name); want != c.code {
					t.Errorf("env(1) gives %d, want %d", want, c.code)
				}
			}
		})
	}
}

func TestResolveProgramUnreadable(t *testing.T) {
	loadertest.NeedRoot(t)
	bin := loadertest.PublicBinary(t)
	dir := loadertest.PublicDir(t)
	loadertest.CopyBinary(t, dir+"/secret", nil)
	loadertest.CopyBinary(t, dir+"/private", nil)
	for name, mode := range map[string]os.FileMode{"secret": 0o711, "private": 0o700} {
		if err := os.Chmod(dir+"/"+name, mode); err != nil {
			t.Fatal(err)
		}
	}
	for name, word := range map[string]string{"secret": "not read", "private": "may not be executed by this user"} {
		_, failure := loadertest.RunHelper(t, loadertest.HelperCommand(bin, "program "+dir+"/"+name, &loadertest.As{UID: loadertest.Nobody}))
		t.Log(failure)
		if !strings.Contains(failure, word) {
			t.Errorf("%s: %q does not say %q", name, failure, word)
		}
	}
}

func TestParseInterpreter(t *testing.T) {
	for head, want := range map[string][]string{
		"#!/bin/sh\nx":              {"/bin/sh"},
		"#! /bin/sh -e -u \nx":      {"/bin/sh", "-e -u"},
		"#!/usr/bin/env\tpython3\n": {"/usr/bin/env", "python3"},
		"#!":                        nil,
		"#! \t\n/bin/sh":            nil,
		"/bin/sh":                   nil,
		"#!/bin/\xff":               {"/bin/?"},
	} {
		got, _ := parseInterpreter([]byte(head))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q: %s", head, diff)
		}
	}
}

func FuzzParseInterpreter(f *testing.F) {
	f.Add([]byte("#!/bin/sh -e\n"))
	f.Add([]byte("#! \n"))
	f.Fuzz(func(t *testing.T, head []byte) {
		command, line := parseInterpreter(head)
		if len(command) > 2 || (command == nil) != (line == "") {
			t.Errorf("%q gives %q, line %q", head, command, line)
		}
		for _, w := range command {
			if w == "" || strings.Contains(w, "\n") {
				t.Errorf("%q gives the word %q", head, w)
			}
		}
	})
}
