package e2e

import (
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

var update = flag.Bool("update", false, "write what the scripts' cmp saw into them")

// TestScripts runs the transcripts of testdata/script. In addition to testscript's own
// commands there are:
//
//	tp STATUS ARG...              the tool, with the exit status it must have
//	tpas USER STATUS ARG...       the same as another user
//	build OUT SOURCE [FLAG...]    a program from testdata, as gcc makes it
//	patch FILE OFFSET HEX         other bytes in a file
//	truncate FILE SIZE            a file cut short
//
// and the conditions bpf, which is true where BPF programs can be loaded, and root.
func TestScripts(t *testing.T) {
	tool := toolPath(t)
	testscript.Run(t, testscript.Params{
		Dir:           filepath.Join("testdata", "script"),
		Deadline:      time.Now().Add(3 * usualBound), // of all scripts
		UpdateScripts: *update,
		Setup: func(env *testscript.Env) error {
			env.Setenv("TOOL", tool)
			return os.Chmod(env.WorkDir, 0o755)
		},
		Condition: func(cond string) (bool, error) {
			switch cond {
			case "bpf":
				return tryBPF() == nil, nil
			case "root":
				return os.Geteuid() == 0, nil
			}
			return false, errors.New("unknown condition " + cond)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"tp":       scriptTool,
			"tpas":     scriptToolAs,
			"build":    func(ts *testscript.TestScript, _ bool, args []string) { scriptBuild(t, ts, args) },
			"patch":    scriptPatch,
			"truncate": scriptTruncate,
		},
	})
}

func scriptTool(ts *testscript.TestScript, _ bool, args []string) {
	runScripted(ts, args[0], append([]string{ts.Getenv("TOOL")}, unhurried(args[1:])...))
}

func scriptToolAs(ts *testscript.TestScript, _ bool, args []string) {
	as := []string{"setpriv", "--reuid=" + args[0], "--clear-groups", ts.Getenv("TOOL")}
	runScripted(ts, args[1], append(as, args[2:]...))
}

// runScripted runs a command that must have the given exit status.
func runScripted(ts *testscript.TestScript, status string, args []string) {
	got := 0
	err := ts.Exec(args[0], args[1:]...)
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if strconv.Itoa(got) != status {
		ts.Fatalf("exit status %d, want %s", got, status)
	}
}

func scriptBuild(t *testing.T, ts *testscript.TestScript, args []string) {
	made := build(t, "gcc", args[1], args[2:]...)
	text, err := os.ReadFile(made)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), text, 0o755))
}

func scriptPatch(ts *testscript.TestScript, _ bool, args []string) {
	offset, err := strconv.ParseInt(args[1], 0, 64)
	ts.Check(err)
	var bytes []byte
	for _, word := range strings.Fields(args[2]) {
		b, err := strconv.ParseUint(word, 16, 8)
		ts.Check(err)
		bytes = append(bytes, byte(b))
	}
	f, err := os.OpenFile(ts.MkAbs(args[0]), os.O_WRONLY, 0)
	ts.Check(err)
	_, err = f.WriteAt(bytes, offset)
	ts.Check(errors.Join(err, f.Close()))
}

func scriptTruncate(ts *testscript.TestScript, _ bool, args []string) {
	size, err := strconv.ParseInt(args[1], 0, 64)
	ts.Check(err)
	ts.Check(os.Truncate(ts.MkAbs(args[0]), size))
}
