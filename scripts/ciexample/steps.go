package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"sigs.k8s.io/yaml"
)

const (
	findings        = 66 // the exit status of a run with findings
	deadlockInSARIF = `"ruleId": *"deadlock"`
)

// action is what this knows of a composite action of GitHub.
type action struct {
	Inputs map[string]struct{ Default string }
	Runs   struct {
		Steps []struct {
			Name, Run, Uses string
			Env             map[string]string
		}
	}
}

// job is what this knows of a job of GitLab.
type job struct {
	Variables    map[string]string
	BeforeScript []string `json:"before_script"`
	Script       []string
}

func readYAML(file string, to any) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if err := yaml.Unmarshal(text, to); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}

// run runs a script and returns its exit status. What it prints is indented, and printed.
func (p *place) run(dir string, env []string, shell ...string) (int, error) {
	cmd := exec.Command(shell[0], shell[1:]...)
	cmd.Dir = dir
	// The recipes find the tool in PATH, and do not write to files of a job that runs this.
	path := filepath.Dir(p.tool) + ":" + os.Getenv("PATH")
	cmd.Env = append(os.Environ(), append([]string{"PATH=" + path, "GITHUB_ACTIONS=", "GITHUB_STEP_SUMMARY="}, env...)...)
	out, err := cmd.CombinedOutput()
	for line := range strings.Lines(string(out)) {
		fmt.Print("  ", line)
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.Exited() {
		return exit.ExitCode(), nil
	}
	return 0, err
}

func (p *place) want(status int, dir string, env []string, shell ...string) error {
	got, err := p.run(dir, env, shell...)
	if err == nil && got != status {
		err = fmt.Errorf("exit status %d instead of %d", got, status)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", strings.Join(shell, " "), err)
	}
	return nil
}

// build configures and builds the example by CMake in a folder "build" of dir.
func (p *place) build(dir string, flags ...string) error {
	configure := append([]string{"cmake", "-S", p.path("ci", "example"), "-B", "build"}, flags...)
	if err := p.want(0, dir, nil, configure...); err != nil {
		return err
	}
	return p.want(0, dir, nil, "cmake", "--build", "build")
}

var expression = regexp.MustCompile(`\$\{\{ *([a-z._-]+) *\}\}`)

// runGitHub runs the shell steps of the action, as GitHub's runner does: each in a bash of its own that ends at the
// first error, with the variables of the step.
func runGitHub(p *place) error {
	var a action
	folder := p.path("ci", "github")
	if err := readYAML(filepath.Join(folder, "action.yml"), &a); err != nil {
		return err
	}
	dir, err := p.folder("github")
	if err != nil {
		return err
	}
	if err := p.build(dir); err != nil {
		return err
	}
	value := func(name string) string {
		if name == "github.action_path" {
			return folder
		}
		input := strings.TrimPrefix(name, "inputs.")
		if input == "run" {
			return "ctest --test-dir build --output-on-failure"
		}
		return a.Inputs[input].Default
	}
	output := filepath.Join(dir, "output")
	common := []string{"RUNNER_TEMP=" + dir, "GITHUB_OUTPUT=" + output, "GITHUB_PATH=" + filepath.Join(dir, "path")}
	ran := 0
	for _, s := range a.Runs.Steps {
		if s.Run == "" {
			continue
		}
		env := append([]string{}, common...)
		for name, text := range s.Env {
			env = append(env, name+"="+expression.ReplaceAllStringFunc(text, func(e string) string { return value(expression.FindStringSubmatch(e)[1]) }))
		}
		if added, err := os.ReadFile(filepath.Join(dir, "path")); err == nil {
			env = append(env, "PATH="+strings.TrimSpace(string(added))+":"+os.Getenv("PATH"))
		}
		want := 0
		if s.Name == "observe" {
			want = findings
		}
		if err := p.want(want, dir, env, "bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", s.Run); err != nil {
			return fmt.Errorf("step %s: %w", s.Name, err)
		}
		ran++
	}
	if ran != 2 {
		return fmt.Errorf("%d shell steps instead of 2", ran)
	}
	sarif := filepath.Join(dir, "tracepredict.sarif")
	return errors.Join(wantIn(output, "sarif="+regexp.QuoteMeta(sarif)), wantIn(sarif, deadlockInSARIF))
}

// runGitLab runs the script of the template, as GitLab's runner does: all lines in one shell that ends at the first
// error.
func runGitLab(p *place) error {
	var file map[string]job
	if err := readYAML(p.path("ci", "gitlab", "tracepredict.yml"), &file); err != nil {
		return err
	}
	dir, err := p.folder("gitlab")
	if err != nil {
		return err
	}
	if err := p.build(dir); err != nil {
		return err
	}
	j := file[".tracepredict"]
	var env []string
	for name, value := range j.Variables {
		env = append(env, name+"="+value)
	}
	script := strings.Join(append(j.BeforeScript, j.Script...), "\n")
	if err := p.want(findings, dir, env, "sh", "-e", "-c", script); err != nil {
		return err
	}
	return errors.Join(wantIn(filepath.Join(dir, "tracepredict.xml"), "<failure"), wantIn(filepath.Join(dir, "gl-code-quality.json"), `"check_name": *"tracepredict/deadlock"`))
}

// reports returns an error unless exactly one of the reports in a folder has a deadlock.
func reports(dir string, atLeast int) error {
	all, err := filepath.Glob(filepath.Join(dir, "*.sarif"))
	if err != nil {
		return err
	}
	guilty := 0
	for _, file := range all {
		if wantIn(file, deadlockInSARIF) == nil {
			guilty++
		}
	}
	if guilty != 1 || len(all) < atLeast {
		return fmt.Errorf("%d of %d reports in %s have the deadlock", guilty, len(all), dir)
	}
	return nil
}

// runCTest runs each test under the tool, by the launcher of tests.
func runCTest(p *place) error {
	dir, err := p.folder("ctest")
	if err != nil {
		return err
	}
	launcher := p.path("ci", "tracepredict-test")
	if err := p.build(dir, "-DCMAKE_TEST_LAUNCHER="+launcher, "-DCMAKE_CROSSCOMPILING_EMULATOR="+launcher); err != nil {
		return err
	}
	const someFailed = 8 // CTest's exit status
	env := []string{"TRACEPREDICT_REPORTS=" + filepath.Join(dir, "reports")}
	if err := p.want(someFailed, dir, env, "ctest", "--test-dir", "build", "--output-on-failure"); err != nil {
		return err
	}
	return errors.Join(reports(filepath.Join(dir, "reports"), 3),
		wantIn(filepath.Join(dir, "build", "Testing", "Temporary", "LastTestsFailed.log"), `^[0-9]+:Ledger\.TransfersBothWays\n$`))
}

func runMeson(p *place) error {
	dir, err := p.folder("meson")
	if err != nil {
		return err
	}
	if err := p.want(0, dir, nil, "meson", "setup", "build", p.path("ci", "example")); err != nil {
		return err
	}
	env := []string{"TRACEPREDICT_REPORTS=" + filepath.Join(dir, "reports")}
	if err := p.want(1, dir, env, "meson", "test", "-C", "build", "--wrapper", p.path("ci", "tracepredict-test"), "--print-errorlogs"); err != nil {
		return err
	}
	return reports(filepath.Join(dir, "reports"), 1)
}
