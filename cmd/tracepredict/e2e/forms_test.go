package e2e

import (
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/tracepredict/tracepredict/internal/printable"
	"github.com/tracepredict/tracepredict/probes/elf"
)

// formNames are file names that /proc/PID/maps shows otherwise, or that a reader of its lines may mistake.
var formNames = map[string]string{"line feed, space at the end": "a\nb ", "escape as text": `a\012b`, "all": "a\n\\012\\b\r"}

// loaderOf returns the dynamic loader that a program asks for.
func loaderOf(t testing.TB, program string) string {
	t.Helper()
	f, err := elf.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	return f.Interp()
}

// TestNamesOfFiles: a program and a library are observed whatever their names are.
func TestNamesOfFiles(t *testing.T) {
	needBPF(t)
	t.Parallel()
	for what, name := range formNames {
		t.Run(what, func(t *testing.T) {
			dir := t.TempDir()
			program, library := filepath.Join(dir, name), filepath.Join(dir, strings.TrimRight("lib"+name, " "))
			copyFile(t, processFixture(t, "server.c"), program)
			copyFile(t, processFixture(t, "twistlib.c", "-shared", "-fPIC"), library)
			serverObserved(t, program, library, program)
		})
	}
}

// TestStartedByTheLoader: a program that its dynamic loader was told to run is observed as if it had been executed.
func TestStartedByTheLoader(t *testing.T) {
	needBPF(t)
	t.Parallel()
	server := processFixture(t, "server.c")
	library := processFixture(t, "twistlib.c", "-shared", "-fPIC")
	loader := loaderOf(t, server)
	for what, command := range map[string][]string{
		"plain":         {loader, server},
		"with a folder": {loader, "--library-path", filepath.Dir(library), server},
	} {
		t.Run(what, func(t *testing.T) { serverObserved(t, server, library, command...) })
	}
	t.Run("another loader than the program's", func(t *testing.T) {
		own := filepath.Join(t.TempDir(), filepath.Base(loader)) // as bundles bring it
		copyFile(t, loader, own)
		serverObserved(t, server, library, own, server)
	})
}

// TestForkedBelowTheLoader: what such a program forks is its program too.
func TestForkedBelowTheLoader(t *testing.T) {
	needBPF(t)
	t.Parallel()
	program, report := processFixture(t, "forks.c"), filepath.Join(t.TempDir(), "report.json")
	c := startTool(t, childOptions{}, "exec", "--follow", "--confidence", "potential", "--fail-on", "potential", "--format", "json", "--output", report, "--", loaderOf(t, program), program)
	c.want(66)
	r := readReport(t, report)
	wantFound(t, r, twistFound)
	if r.Findings[0].Count != 2 { // one finding in each of two children
		t.Errorf("found %d times, want 2", r.Findings[0].Count)
	}
	for _, p := range r.Run.Processes[:3] { // itself and these
		if p.Program != program {
			t.Errorf("process %d runs %q, want %q", p.PID, p.Program, program)
		}
	}
}

// serverObserved observes testdata/process/server.c, with twistlib.c preloaded, by exec and by attach.
func serverObserved(t *testing.T, program, library string, command ...string) {
	environment := childOptions{Env: []string{"LD_PRELOAD=" + library}}
	flags := []string{"--watch", "visits", "--sync", writeTable(t, twistTable)}
	work := func(server *child) {
		server.ask("visit")
		server.ask("twist")
		server.ask("library")
	}
	check := func(t *testing.T, report string) {
		t.Helper()
		r := readReport(t, report)
		wantFound(t, r, twistFound, "predicted race of visits", "predicted deadlock of north.gate, south.gate")
		if name := printable.Escape(program); len(r.Run.Processes) != 1 || r.Run.Processes[0].Program != name {
			t.Errorf("the report is about %+v, want %q", r.Run.Processes, name)
		}
	}
	t.Run("exec", func(t *testing.T) {
		report := filepath.Join(t.TempDir(), "report.json")
		words := append([]string{"exec", "--confidence", "potential", "--fail-on", "potential", "--format", "json", "--output", report}, flags...)
		words = append(append(words, "--"), command...)
		tool := startTool(t, environment, words...)
		tool.waitLine("ready ")
		work(tool)
		tool.send("quit")
		tool.want(66)
		check(t, report)
	})
	t.Run("attach", func(t *testing.T) {
		server := startChild(t, environment, command...)
		pid := lineNumber(t, server, "ready ")
		tool, report := attachTo(t, pid, flags...)
		work(server)
		tool.signal(unix.SIGINT)
		tool.want(66)
		check(t, report)
		wantLeftAlone(t, pid)
		server.send("quit")
		server.want(0)
	})
}

// TestStaticPIE: a static program that is loaded anywhere is observed as one with a fixed address.
func TestStaticPIE(t *testing.T) {
	needBPF(t)
	t.Parallel()
	for _, form := range []string{"-static", "-static-pie"} {
		t.Run(form, func(t *testing.T) {
			program := processFixture(t, "server.c", form)
			report := filepath.Join(t.TempDir(), "report.json")
			tool := startTool(t, childOptions{}, "exec", "--confidence", "potential", "--fail-on", "potential", "--format", "json", "--output", report, "--watch", "visits", "--", program)
			tool.waitLine("ready ")
			tool.ask("visit")
			tool.ask("twist")
			tool.send("quit")
			tool.want(66)
			wantFound(t, readReport(t, report), twistFound, "predicted race of visits")
		})
	}
}

// TestLoaderAlone: a dynamic loader that runs no program is no error of the tool.
func TestLoaderAlone(t *testing.T) {
	needBPF(t)
	t.Parallel()
	server := processFixture(t, "server.c")
	tool := startTool(t, childOptions{}, "exec", "--", loaderOf(t, server), "--list", server)
	tool.wait()
	if !strings.Contains(tool.out.String(), "libc.so") || !strings.Contains(tool.err.String(), "the observation had not begun") {
		t.Errorf("it says:\n%s\n%s", tool.out.String(), tool.err.String())
	}
}
