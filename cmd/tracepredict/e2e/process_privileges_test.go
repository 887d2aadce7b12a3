package e2e

import (
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/tracepredict/tracepredict/internal/testtool"
)

const (
	nobodyID = 65534
	// These are CAP_BPF, CAP_PERFMON and CAP_SYS_PTRACE as /proc/PID/status shows them.
	threeCapabilities = "000000c000080000"
)

// needRoot skips the test if it may not become other users.
func needRoot(t testing.TB) {
	t.Helper()
	needBPF(t)
	testtool.Need(t, "setpriv")
	if os.Geteuid() != 0 {
		t.Skip("needs root, to be other users")
	}
}

// asNobody returns the command prefix that runs a command as a user without privileges,
// except for the given capabilities ("+bpf,+perfmon").
func asNobody(caps string) []string {
	words := []string{"setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"}
	if caps != "" {
		words = append(words, "--inh-caps=-all,"+caps, "--ambient-caps=-all,"+caps)
	}
	return words
}

// toolWithFileCapabilities returns a copy of the tool whose file has the capabilities.
func toolWithFileCapabilities(t testing.TB, caps string) string {
	t.Helper()
	testtool.Need(t, "setcap")
	path := filepath.Join(nobodysDir(t), "tracepredict")
	if out, err := command(t, "cp", toolPath(t), path).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if out, err := command(t, "setcap", caps, path).CombinedOutput(); err != nil {
		t.Skipf("this file system keeps no capabilities: %v: %s", err, out)
	}
	return path
}

// nobodysDir returns a directory that only the user nobody may enter.
func nobodysDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp(fixtureDir, "nobody-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chown(dir, nobodyID, nobodyID); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestThreeCapabilitiesSuffice(t *testing.T) {
	t.Parallel()
	needRoot(t)
	ambient := append(asNobody("+bpf,+perfmon,+sys_ptrace"), toolPath(t))
	file := append(asNobody(""), toolWithFileCapabilities(t, "cap_bpf,cap_perfmon,cap_sys_ptrace+ep"))
	program := processFixture(t, "rounds.c")
	for _, c := range []struct {
		name   string
		tool   []string
		target []string // the command prefix for the program to attach to
		// refused: the user could not trace the program without the capabilities of the tool's file.
		refused bool
	}{
		{"ambient, own program", ambient, asNobody(""), false},
		{"ambient, root's program", ambient, nil, false},
		{"from the file, own program", file, asNobody(""), false},
		{"from the file, root's program", file, nil, true},
	} {
		t.Run(c.name+", attach", func(t *testing.T) {
			p := startChild(t, childOptions{}, append(slices.Clone(c.target), program)...)
			p.waitLine("sum ")
			a := startChild(t, childOptions{}, append(slices.Clone(c.tool), "attach", "-p", fmt.Sprint(p.pid()))...)
			if c.refused {
				a.want(125)
				startChild(t, childOptions{}, append(slices.Clone(c.tool), "hang", fmt.Sprint(p.pid()))...).want(125)
				if !strings.Contains(a.err.String(), "is another user's") || !codeIntact(t, p.pid()) {
					t.Errorf("another user's process: %s", a.err.String())
				}
				return
			}
			poll(t, "the tool to observe", func() bool { return strings.Contains(a.err.String(), "observing") || a.hasEnded() })
			p.in.Close()
			a.want(0)
			p.want(0)
			if !strings.Contains(a.err.String(), "nothing lost") {
				t.Errorf("no report: %s", a.err.String())
			}
		})
		if c.target == nil {
			continue
		}
		t.Run(c.name+", exec", func(t *testing.T) {
			x := startChild(t, childOptions{}, append(slices.Clone(c.tool), "exec", "--", program)...)
			x.want(0)
			if !x.out.has("sum 32000") || !strings.Contains(x.err.String(), "nothing lost") {
				t.Errorf("it was not observed: %s%s", x.out.String(), x.err.String())
			}
		})
	}
}

// TestDoctorWithFileCapabilities: with the capabilities of its file alone, doctor can try all that it is asked about.
func TestDoctorWithFileCapabilities(t *testing.T) {
	t.Parallel()
	needRoot(t)
	needBPF(t)
	d := startChild(t, childOptions{}, append(asNobody(""), toolWithFileCapabilities(t, "cap_bpf,cap_perfmon,cap_sys_ptrace+ep"), "doctor")...)
	d.want(0)
	if out := d.out.String(); strings.Contains(out, "not permitted to try") {
		t.Error(out)
	}
}

func TestMissingCapabilityIsNamed(t *testing.T) {
	t.Parallel()
	needRoot(t)
	others := startChild(t, childOptions{}, processFixture(t, "rounds.c"))
	others.waitLine("sum ")
	attach := []string{"attach", "-p", fmt.Sprint(others.pid())}
	run := []string{"exec", "--", processFixture(t, "rounds.c")}
	for _, c := range []struct {
		caps, missing string
		commands      [][]string
	}{
		{"+perfmon,+sys_ptrace", "CAP_BPF", [][]string{run, attach}},
		{"+bpf,+sys_ptrace", "CAP_PERFMON", [][]string{run, attach}},
		{"+bpf,+perfmon", "CAP_SYS_PTRACE", [][]string{attach}}, // a user can trace its own program without it
	} {
		tool := append(asNobody(c.caps), toolPath(t))
		for _, words := range c.commands {
			x := startChild(t, childOptions{}, append(slices.Clone(tool), words...)...)
			x.want(125)
			if got := x.err.String(); !strings.Contains(got, "missing "+c.missing) || !strings.Contains(got, "sudo setcap cap_bpf,cap_perfmon,cap_sys_ptrace+ep") {
				t.Errorf("without %s, %s said: %s", c.missing, words[0], got)
			}
		}
		x := startChild(t, childOptions{}, append(tool, "doctor")...)
		x.wait()
		if got := x.out.String(); !strings.Contains(got, "for "+c.missing) {
			t.Errorf("without it, doctor does not say what to do for %s:\n%s", c.missing, got)
		}
	}
}

// statusFields returns the lines of a /proc/PID/status that show privileges.
func statusFields(text string) string {
	var kept []string
	for line := range strings.Lines(text) {
		name, _, _ := strings.Cut(line, ":")
		if slices.Contains([]string{"Uid", "Gid", "Groups", "CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "NoNewPrivs", "Seccomp"}, name) {
			kept = append(kept, strings.TrimSpace(line))
		}
	}
	return strings.Join(kept, "\n")
}

func TestProgramHasWhatItHadWithoutTheTool(t *testing.T) {
	t.Parallel()
	needRoot(t)
	show := []string{"/bin/sh", "-c", "cat /proc/self/status; echo ENVIRON; env | grep -v ^_= | sort; ulimit -n"}
	nobody := asNobody("")
	plainTool := toolPath(t)
	capped := toolWithFileCapabilities(t, "cap_bpf,cap_perfmon,cap_sys_ptrace+ep")
	for _, c := range []struct {
		name            string
		plain, observed []string
	}{
		{"root", nil, []string{plainTool, "exec", "--"}},
		{"root becomes nobody", []string{"setpriv", "--reuid=nobody", "--regid=nogroup", "--init-groups"}, []string{plainTool, "exec", "--user", "nobody", "--"}},
		{"capabilities from the file", nobody, append(slices.Clone(nobody), capped, "exec", "--")},
		// These are set for the tool only, so the program does not have them.
		{"ambient", nobody, append(asNobody("+bpf,+perfmon,+sys_ptrace"), plainTool, "exec", "--")},
		{"another ambient one", asNobody("+net_bind_service"), append(asNobody("+net_bind_service,+bpf,+perfmon,+sys_ptrace"), plainTool, "exec", "--")},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := startChild(t, childOptions{}, append(slices.Clone(c.plain), show...)...)
			want.want(0)
			got := startChild(t, childOptions{}, append(slices.Clone(c.observed), show...)...)
			got.want(0)
			wantStatus, wantEnv, _ := strings.Cut(want.out.String(), "ENVIRON")
			gotStatus, gotEnv, _ := strings.Cut(got.out.String(), "ENVIRON")
			if w, g := statusFields(wantStatus), statusFields(gotStatus); w != g {
				t.Errorf("plain:\n%s\nobserved:\n%s", w, g)
			}
			if wantEnv != gotEnv {
				t.Errorf("environment and limit, plain:%s\nobserved:%s", wantEnv, gotEnv)
			}
		})
	}
}

// wantOnlyThree checks the privileges of all threads of the tool.
func wantOnlyThree(t *testing.T, tool int, uid string) {
	t.Helper()
	for field, want := range map[string]string{
		"CapPrm": threeCapabilities, "CapEff": threeCapabilities, "CapBnd": threeCapabilities,
		"CapInh": "0000000000000000", "CapAmb": "0000000000000000", "NoNewPrivs": "1", "Uid": uid,
	} {
		states := threadStates(tool, field)
		if len(states) < 3 || slices.ContainsFunc(states, func(s string) bool { return s != want }) {
			t.Errorf("%s of the tool's threads is %q, want %q", field, states, want)
		}
	}
}

func TestToolKeepsThreeCapabilities(t *testing.T) {
	t.Parallel()
	needRoot(t)
	program := processFixture(t, "rounds.c")
	for _, c := range []struct {
		name string
		args []string
		uid  string
	}{
		{"root's program", nil, "0\t0\t0\t0"},
		{"nobody's program", []string{"--user", "nobody"}, "65534\t65534\t65534\t65534"},
	} {
		t.Run("exec, "+c.name, func(t *testing.T) {
			x := startTool(t, childOptions{}, append(append([]string{"exec"}, c.args...), "--", program)...)
			x.waitLine("sum ")
			wantOnlyThree(t, x.observer(), c.uid)
			for _, prm := range threadStates(x.pid(), "CapPrm") {
				if prm != "0000000000000020" { // CAP_KILL
					t.Errorf("a thread of the parent has the capabilities %s", prm)
				}
			}
			x.want(0)
		})
	}
	// Files are opened as the user of the process; the user ID, which determines who
	// may signal the tool, stays.
	t.Run("attach", func(t *testing.T) {
		p := startChild(t, childOptions{}, append(asNobody(""), program)...)
		p.waitLine("sum ")
		a := startTool(t, childOptions{}, "attach", "-p", fmt.Sprint(p.pid()))
		poll(t, "the tool to observe", func() bool { return strings.Contains(a.err.String(), "observing") || a.hasEnded() })
		wantOnlyThree(t, a.pid(), "0\t0\t0\t65534")
		p.in.Close()
		a.want(0)
	})
}

func TestSignalsReachAnotherUsersProgram(t *testing.T) {
	t.Parallel()
	needRoot(t)
	// Under nohup SIGHUP is ignored, which the program would inherit; a signal that
	// this process catches is not inherited as ignored. signal.Ignored cannot show
	// this, because an observation by an earlier test has caught the signal.
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, unix.SIGHUP)
	defer signal.Stop(caught)
	for _, s := range []unix.Signal{unix.SIGTERM, unix.SIGHUP} {
		x := startTool(t, childOptions{}, "exec", "--user", "nobody", "--", processFixture(t, "rounds.c"))
		x.waitLine("sum ")
		x.signal(s)
		poll(t, "its end by the signal, its input still open", x.hasEnded)
		x.want(128 + int(s))
	}
}

// TestPrivateProgram checks that a program that only its user may read, in a directory
// that only this user may enter, is observed, and that otherwise the error names the
// user whose rights the tool has.
func TestPrivateProgram(t *testing.T) {
	t.Parallel()
	needRoot(t)
	program := filepath.Join(nobodysDir(t), "busy")
	text, err := os.ReadFile(processFixture(t, "rounds.c"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(program, text, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(program, nobodyID, nobodyID); err != nil {
		t.Fatal(err)
	}
	x := startTool(t, childOptions{}, "exec", "--user", "nobody", "--watch", "sum", "--", program)
	x.want(0)

	p := startChild(t, childOptions{}, append(asNobody(""), program)...)
	p.waitLine("sum ")
	a := startTool(t, childOptions{}, "attach", "--watch", "sum", "-p", fmt.Sprint(p.pid()))
	poll(t, "the tool to observe", func() bool { return strings.Contains(a.err.String(), "observing") || a.hasEnded() })
	p.in.Close()
	a.want(0)

	x = startTool(t, childOptions{}, "exec", "--", program)
	x.want(125)
	if got := x.err.String(); !strings.Contains(got, program+" cannot be read with the rights of user root") || !strings.Contains(got, "--user") {
		t.Errorf("it said: %s", got)
	}
}

// TestProgramOnOverlay observes a program on an overlay file system, as in a container,
// where maps and stat show different inode and device numbers.
func TestProgramOnOverlay(t *testing.T) {
	t.Parallel()
	needRoot(t)
	needUnshare(t, "--mount")
	dir := nobodysDir(t)
	program := processFixture(t, "rounds.c")
	script := `set -e
mount -t tmpfs none "$0"; mkdir "$0/lower" "$0/upper" "$0/work" "$0/merged"
cp "$1" "$0/lower/busy"
mount -t overlay -o lowerdir="$0/lower",upperdir="$0/upper",workdir="$0/work" none "$0/merged" || { echo no overlay; exit 3; }
`
	inside := startChild(t, childOptions{}, "unshare", "-m", "sh", "-c", script+`exec "$2" exec -- "$0/merged/busy"`, dir, program, toolPath(t))
	status := inside.wait()
	if inside.out.has("no overlay") {
		t.Skip("no overlay file system here")
	}
	if status != 0 || !inside.out.has("sum 32000") || strings.Contains(inside.err.String(), "not observed") {
		t.Errorf("exec ended with %d: %s", status, inside.err.String())
	}
	outside := startChild(t, childOptions{}, "unshare", "-m", "sh", "-c", script+`exec "$0/merged/busy"`, dir, program)
	outside.waitLine("sum ")
	a := startTool(t, childOptions{}, "attach", "-p", fmt.Sprint(outside.pid()))
	poll(t, "the tool to observe", func() bool { return strings.Contains(a.err.String(), "observing") || a.hasEnded() })
	outside.in.Close()
	a.want(0)
}
