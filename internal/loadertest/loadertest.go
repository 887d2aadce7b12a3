// Package loadertest starts the tests' own binary again: as other users, with some capabilities,
// and as processes of unusual kinds. It also skips the tests that need rights which this user
// lacks.
package loadertest

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/features"
	"github.com/moby/sys/capability"
)

// helperEnv is the environment variable that has the role of a helper and its argument.
const helperEnv = "LOADER_TEST_HELPER"

// Nobody is the user ID of a user without rights.
const Nobody = 65534

// Serve plays the role that this process was started for, with the argument that HelperCommand
// was given, and exits. In a process that is no helper it returns. The tests of a package call
// it in an init function.
func Serve(roles map[string]func(arg string) error) {
	// Otherwise processes built with the race detector take one second to exit.
	if os.Getenv("GORACE") == "" {
		os.Setenv("GORACE", "atexit_sleep_ms=0")
	}
	role, arg, _ := strings.Cut(os.Getenv(helperEnv), " ")
	if role == "" {
		return
	}
	os.Unsetenv(helperEnv)
	err := fmt.Errorf("no helper %q", role)
	if play := roles[role]; play != nil {
		err = play(arg)
	}
	if err != nil {
		fmt.Fprint(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// Ready reports to the test that the helper is ready, and waits until the test closes standard
// input.
func Ready() {
	fmt.Println("ready")
	io.Copy(io.Discard, os.Stdin)
}

// NeedRoot skips a test that runs as other users unless it runs as root.
func NeedRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root, to become other users: sudo -E go test ./loader/...")
	}
}

// NeedBPF skips a test if this user may not load BPF programs. With TRACEPREDICT_REQUIRE_BPF=1
// the test fails instead.
func NeedBPF(t *testing.T) {
	t.Helper()
	err := features.HaveProgramType(ebpf.Kprobe)
	if err == nil {
		return
	}
	if os.Getenv("TRACEPREDICT_REQUIRE_BPF") == "1" {
		t.Fatalf("TRACEPREDICT_REQUIRE_BPF=1, but BPF programs cannot be loaded: %v", err)
	}
	t.Skipf("needs CAP_BPF and CAP_PERFMON: sudo -E go test ./loader/... (%v)", err)
}

// PublicDir returns a new directory that all users can read.
func PublicDir(t *testing.T) string {
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

// PublicBinary returns the path of a copy of the test binary that all users can run.
func PublicBinary(t *testing.T) string {
	t.Helper()
	path := filepath.Join(PublicDir(t), "helper")
	CopyBinary(t, path, nil)
	return path
}

// CopyBinary copies the test binary to path. edit, if not nil, changes the contents.
func CopyBinary(t *testing.T, path string, edit func([]byte) []byte) {
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

// As is the user that a helper runs as, and its capabilities; nil stands for the test's own
// user.
type As struct {
	UID  uint32
	Caps []capability.Cap
}

// HelperCommand returns a command that plays a role of Serve. role may have an argument after a
// space.
func HelperCommand(binary, role string, who *As) *exec.Cmd {
	cmd := exec.Command(binary)
	cmd.Env = append(os.Environ(), helperEnv+"="+role)
	cmd.Dir = "/"
	if who != nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: who.UID, Gid: who.UID}}
		for _, c := range who.Caps {
			cmd.SysProcAttr.AmbientCaps = append(cmd.SysProcAttr.AmbientCaps, uintptr(c))
		}
	}
	return cmd
}

// RunHelper runs a helper and returns what it printed and the text of its error.
func RunHelper(t *testing.T, cmd *exec.Cmd) (stdout, failure string) {
	t.Helper()
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if err != nil && errs.Len() == 0 {
		t.Fatalf("helper: %v", err)
	}
	return out.String(), errs.String()
}

// StartHelper starts a helper, waits until it is ready, and returns its process ID. The helper
// runs until the end of the test.
func StartHelper(t *testing.T, cmd *exec.Cmd) int {
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
