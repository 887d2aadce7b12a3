// Command ciexample runs the recipes of ci on the project in ci/example, of which one test deadlocks in another schedule:
// the shell steps that the files themselves have, as a runner would run them. What cannot run on one machine is checked
// against its schema. scripts/ci-example builds and calls it.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
)

func main() {
	tool := flag.String("tool", "tracepredict", "the tool that recipes find in PATH")
	only := flag.String("only", "", "run only the recipe of this `NAME`")
	flag.Parse()
	if err := inFolder(*tool, *only); err != nil {
		fmt.Fprintln(os.Stderr, "ciexample:", err)
		os.Exit(1)
	}
}

// inFolder runs the recipes in a folder that is removed afterwards.
func inFolder(tool, only string) error {
	root, err := os.Getwd()
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "tracepredict-ci-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	return all(&place{root: root, work: work, tool: tool}, only)
}

// all runs the recipes and prints, for each, what came of it. It fails if one does not find what it must.
func all(p *place, only string) error {
	failed := 0
	for _, r := range recipes() {
		if only != "" && only != r.name {
			continue
		}
		fmt.Printf("\n=== %s\n", r.name)
		if err := r.do(p); err != nil {
			fmt.Printf("--- %s: failed: %v\n", r.name, err)
			failed++
			continue
		}
		fmt.Printf("--- %s: %s\n", r.name, r.shown)
	}
	if failed > 0 {
		return fmt.Errorf("%d of the recipes failed", failed)
	}
	return nil
}

// recipe is one way to use the tool in CI.
type recipe struct {
	name  string
	do    func(*place) error
	shown string // what is known once it succeeded
}

func recipes() []recipe {
	const ran = "ran here: the deadlock is found, the job fails, and its files have it"
	return []recipe{
		{"github", runGitHub, ran + "; its other steps (setup-go, upload-sarif) run on GitHub alone"},
		{"gitlab", runGitLab, ran},
		{"ctest", runCTest, ran + ", and the other tests pass"},
		{"meson", runMeson, ran},
		{"schemas", checkSchemas, "valid by the schemas of GitHub and GitLab, and by the types of Kubernetes; not run"},
		{"bazel", checkBazel, "parsed and formatted as Bazel's own tools do; not run"},
	}
}

// place is where recipes run.
type place struct{ root, work, tool string }

func (p *place) path(names ...string) string {
	return filepath.Join(append([]string{p.root}, names...)...)
}

// folder makes a folder for a recipe.
func (p *place) folder(name string) (string, error) {
	dir := filepath.Join(p.work, name)
	return dir, os.MkdirAll(dir, 0o755)
}

// wantIn returns an error if a file does not have what a regular expression matches.
func wantIn(file, pattern string) error {
	content, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if !regexp.MustCompile(pattern).Match(content) {
		return fmt.Errorf("%s has nothing like %s", file, pattern)
	}
	return nil
}
