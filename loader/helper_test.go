package loader

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/moby/sys/capability"
	"golang.org/x/sys/unix"
)

// The tests start their own binary as other users, and as processes of odd
// kinds: helperEnv says as what.
const helperEnv = "LOADER_TEST_HELPER"

const nobody = 65534

func init() {
	// Processes built with the race detector linger for a second otherwise.
	if os.Getenv("GORACE") == "" {
		os.Setenv("GORACE", "atexit_sleep_ms=0")
	}
	MainIfHeld()
	role, arg, _ := strings.Cut(os.Getenv(helperEnv), " ")
	if role == "" {
		return
	}
	os.Unsetenv(helperEnv)
	var err error
	switch role {
	case "diagnose":
		err = json.NewEncoder(os.Stdout).Encode(Diagnose())
	case "load":
		_, err = NewTracer(TracerOptions{RingBytes: 1 << 16})
	case "pid":
		pid, _ := strconv.Atoi(arg)
		err = CheckPID(pid)
	case "program":
		_, err = ResolveProgram(arg)
	case "undumpable":
		err = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
		ready()
	case "leaderless":
		leaderless()
	case "wait":
		ready()
	default:
		err = fmt.Errorf("no helper %q", role)
	}
	if err != nil {
		fmt.Fprint(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// ready tells the test, and waits for it to close standard input.
func ready() {
	fmt.Println("ready")
	io.Copy(io.Discard, os.Stdin)
}

// leaderless lets the first thread, which init runs on, end before the others.
func leaderless() {
	go func() {
		for {
			status, err := readStatus(fmt.Sprintf("self/task/%d", os.Getpid()))
			if err != nil || ended(status) {
				break
			}
			runtime.Gosched()
		}
		ready()
		os.Exit(0)
	}()
	syscall.Syscall(syscall.SYS_EXIT, 0, 0, 0)
}

func needRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root, to become other users: sudo -E go test ./loader")
	}
}

func needBPF(t *testing.T) {
	t.Helper()
	if c := readCircumstances(); len(c.missing) > 0 || c.nested {
		if os.Getenv("TRACEPREDICT_REQUIRE_BPF") == "1" {
			t.Fatal("TRACEPREDICT_REQUIRE_BPF=1, but CAP_BPF or CAP_PERFMON is missing")
		}
		t.Skip("needs CAP_BPF and CAP_PERFMON: sudo -E go test ./loader")
	}
}

// publicDir is a directory that all users can reach.
func publicDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "loader")
	if err == nil {
		err = os.Chmod(dir, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// publicBinary copies the test binary to where all users can run it.
func publicBinary(t *testing.T) string {
	t.Helper()
	path := filepath.Join(publicDir(t), "helper")
	copyBinary(t, path, nil)
	return path
}

// copyBinary copies the test binary, changed by edit.
func copyBinary(t *testing.T, path string, edit func([]byte) []byte) {
	t.Helper()
	content, err := os.ReadFile("/proc/self/exe")
	if err == nil && edit != nil {
		content = edit(content)
	}
	if err == nil {
		err = os.WriteFile(path, content, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// as is who a helper runs as; nil stands for the test's own user.
type as struct {
	uid  uint32
	caps []capability.Cap
}

func helperCommand(binary, role string, who *as) *exec.Cmd {
	cmd := exec.Command(binary)
	cmd.Env = append(os.Environ(), helperEnv+"="+role)
	cmd.Dir = "/"
	if who != nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: who.uid, Gid: who.uid}}
		for _, c := range who.caps {
			cmd.SysProcAttr.AmbientCaps = append(cmd.SysProcAttr.AmbientCaps, uintptr(c))
		}
	}
	return cmd
}

// runHelper gives what the helper printed and the text of its error.
func runHelper(t *testing.T, cmd *exec.Cmd) (stdout, failure string) {
	t.Helper()
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if err != nil && errs.Len() == 0 {
		t.Fatalf("helper: %v", err)
	}
	return out.String(), errs.String()
}

// startHelper starts a helper that says it is ready and waits for the end of
// the test.
func startHelper(t *testing.T, cmd *exec.Cmd) int {
	t.Helper()
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stdin.Close()
		cmd.Wait()
	})
	if n, err := stdout.Read(make([]byte, 16)); n == 0 {
		t.Fatalf("the helper is not ready: %v", err)
	}
	return cmd.Process.Pid
}
