package bpf

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/internal/testtool"
)

var include = regexp.MustCompile(`(?m)^#include "(\w+\.h)"$`)

// includes returns which headers each header includes.
func includes(t *testing.T) map[string][]string {
	t.Helper()
	files, err := filepath.Glob("*.h")
	if err != nil || len(files) == 0 {
		t.Fatalf("no headers (%v)", err)
	}
	graph := map[string][]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		graph[file] = nil
		for _, m := range include.FindAllSubmatch(text, -1) {
			graph[file] = append(graph[file], string(m[1]))
		}
	}
	return graph
}

// cycle returns headers that include each other in a ring, from one back to it; nil if there is none.
func cycle(graph map[string][]string) []string {
	done := map[string]bool{}
	var path []string
	var visit func(file string) []string
	visit = func(file string) []string {
		if at := slices.Index(path, file); at >= 0 {
			return append(slices.Clone(path[at:]), file)
		}
		if done[file] {
			return nil
		}
		path = append(path, file)
		for _, next := range graph[file] {
			if found := visit(next); found != nil {
				return found
			}
		}
		path = path[:len(path)-1]
		done[file] = true
		return nil
	}
	for file := range graph {
		if found := visit(file); found != nil {
			return found
		}
	}
	return nil
}

// TestHeadersAreAcyclic checks that no header includes itself through others, and that each is part of the
// programs.
func TestHeadersAreAcyclic(t *testing.T) {
	graph := includes(t)
	if found := cycle(graph); found != nil {
		t.Errorf("headers include each other: %s", strings.Join(found, " -> "))
	}
	text, err := os.ReadFile("tracepredict.bpf.c")
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	var use func(file string)
	use = func(file string) {
		if !used[file] {
			used[file] = true
			for _, next := range graph[file] {
				use(next)
			}
		}
	}
	for _, m := range include.FindAllSubmatch(text, -1) {
		use(string(m[1]))
	}
	for file := range graph {
		if !used[file] {
			t.Errorf("no program includes %s", file)
		}
		if !strings.Contains(string(text), file) {
			t.Errorf("tracepredict.bpf.c does not say what %s is", file)
		}
	}
}

func TestCycle(t *testing.T) {
	if found := cycle(map[string][]string{"a": {"b", "c"}, "b": {"c"}, "c": nil}); found != nil {
		t.Errorf("found %v, want none", found)
	}
	if found := cycle(map[string][]string{"a": {"b"}, "b": {"c"}, "c": {"b"}}); len(found) != 3 {
		t.Errorf("found %v, want b, c and b", found)
	}
}

// TestHeadersStandAlone checks that each header includes what it needs.
func TestHeadersStandAlone(t *testing.T) {
	testtool.Need(t, "clang-19")
	for file := range includes(t) {
		for _, arch := range []string{"x86", "arm64"} {
			out, err := exec.Command("clang-19", "-target", "bpf", "-D__TARGET_ARCH_"+arch, "-Iinclude", "-O2", "-Wall", "-Werror", "-Wno-unused-function",
				"-fsyntax-only", "-include", file, "-x", "c", os.DevNull).CombinedOutput()
			if err != nil {
				t.Errorf("%s on %s: %v\n%s", file, arch, err, out)
			}
		}
	}
}
