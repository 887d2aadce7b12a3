// Command gotest runs gotestsum, which runs go test, and keeps account of what its
// summary leaves out: the reasons for which tests skip, and the tests that failed
// once and passed when they were run again.
//
//	gotest [flags] -packages "P..." -- ARG...   runs go test ARG... P...
//	gotest -summary DIR                         says what the runs of DIR skipped, and which tests are flaky
//	gotest -slowest N DIR                       lists the N slowest tests of the runs of DIR
//
// The run's events, as go test -json prints them, are in DIR/NAME.json. DIR/skipped has
// a line for each test or subtest that skipped: package, name and reason, parted by
// tabs. DIR/flaky has a file for each flaky test: its name in the first line, then the
// output of its first failure. On a terminal, a line shows the progress.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	"golang.org/x/term"
)

func main() {
	var o options
	flag.StringVar(&o.gotestsum, "gotestsum", "gotestsum", "the program gotestsum")
	flag.StringVar(&o.dir, "dir", "build/tests", "the folder of what is kept")
	flag.StringVar(&o.name, "name", "tests", "the name of this run in that folder")
	flag.StringVar(&o.packages, "packages", "", "what to test, parted by spaces")
	flag.BoolVar(&o.rerun, "rerun", false, "run tests that failed again, twice at most, if there are at most five")
	summary := flag.String("summary", "", "say what the runs of this folder skipped, and which tests are flaky")
	slowest := flag.Int("slowest", 0, "list this many of the slowest tests of the runs of a folder")
	flag.Parse()
	status, err := 0, error(nil)
	switch {
	case *summary != "":
		err = summarize(os.Stdout, *summary)
	case *slowest > 0:
		err = listSlowest(os.Stdout, *slowest, flag.Arg(0))
	default:
		status, err = run(o, flag.Args())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "gotest:", err)
		status = 2
	}
	os.Exit(status)
}

// options say what to run, and where its account goes.
type options struct {
	gotestsum, dir, name, packages string
	rerun                          bool
}

// arguments returns the command line of gotestsum.
func (o options) arguments(events string, color bool, args []string) []string {
	words := []string{"--format=pkgname", "--format-icons=text", "--format-hide-empty-pkg", "--hide-summary=skipped", "--jsonfile=" + events, "--packages=" + o.packages}
	if o.rerun {
		words = append(words, "--rerun-fails=2", "--rerun-fails-max-failures=5")
	}
	if !color {
		words = append(words, "--no-color")
	}
	return append(append(words, "--"), args...)
}

// run runs the tests and returns the exit status of gotestsum.
func run(o options, args []string) (status int, err error) {
	if err := os.MkdirAll(o.dir, 0o755); err != nil {
		return 2, err
	}
	events := filepath.Join(o.dir, o.name+".json")
	if err := os.Remove(events); err != nil && !errors.Is(err, os.ErrNotExist) {
		return 2, err
	}
	terminal := term.IsTerminal(int(os.Stdout.Fd()))
	cmd := exec.Command(o.gotestsum, o.arguments(events, terminal, args)...)
	cmd.Stderr = os.Stderr
	status, err = start(cmd, events, terminal)
	if err != nil {
		return 2, err
	}
	a, err := readAccount(events)
	if err != nil {
		return 2, fmt.Errorf("read the events of the tests: %w", err)
	}
	return status, a.keep(o.dir)
}

// start runs gotestsum to its end; on a terminal, below a line that shows the progress.
func start(cmd *exec.Cmd, events string, terminal bool) (status int, err error) {
	if !terminal {
		cmd.Stdout = os.Stdout
		err = cmd.Run()
	} else {
		var out io.ReadCloser
		if out, err = cmd.StdoutPipe(); err != nil {
			return 2, err
		}
		if err = cmd.Start(); err == nil {
			showProgress(os.Stdout, out, events)
			err = cmd.Wait()
		}
	}
	if failed := (*exec.ExitError)(nil); errors.As(err, &failed) {
		return failed.ExitCode(), nil
	}
	return 0, err
}
