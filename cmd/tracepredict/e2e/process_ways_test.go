package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestDoesNoHarm checks that what a program prints is equal whether it is not observed,
// or by exec, or by attach, and that attach leaves nothing in it.
func TestDoesNoHarm(t *testing.T) {
	needBPF(t)
	t.Parallel()
	ways := processFixture(t, "ways.c")
	library := processFixture(t, "twistlib.c", "-shared", "-fPIC")
	table := []string{"--sync", writeTable(t, twistTable)}
	unwinds := build(t, "g++", "process/unwinds.cc", "-O2", "-std=c++17", "-pthread")
	for _, tt := range []struct {
		name    string
		program []string
		flags   []string
	}{
		{"fork", []string{ways, "fork"}, nil},
		{"vfork", []string{ways, "vfork"}, nil},
		{"posix_spawn", []string{ways, "spawn"}, nil},
		{"execve", []string{ways, "exec-leader"}, nil},
		{"execve by another thread", []string{ways, "exec-thread"}, nil},
		{"10,000 short threads", []string{ways, "storm"}, nil},
		{"dlopen and dlclose", []string{ways, "dlopen", library}, table},
		{"setuid", []string{ways, "setuid"}, nil},
		{"first thread ends", []string{ways, "leave"}, nil},
		{"exceptions and cancellation", []string{unwinds}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			plain := runPlain(t, tt.program)
			if !strings.Contains(plain, "finished\n") || strings.Contains(plain, "wrong") {
				t.Fatalf("plain it says:\n%s", plain)
			}
			type way struct {
				name  string
				run   func(testing.TB, []string, []string) string
				flags []string
			}
			all := []way{{"exec", runExec, tt.flags}, {"attach", runAttach, tt.flags}}
			if strings.Contains("fork vfork posix_spawn execve by another thread", tt.name) {
				follow := []string{"--follow"}
				all = append(all, way{"exec --follow", runExec, follow}, way{"attach --follow", runAttach, follow})
			}
			for _, w := range all {
				t.Run(w.name, func(t *testing.T) {
					if slices.Contains(w.flags, "--follow") {
						atMost(t, 3*time.Minute, "20 processes are taken over, one after the other")
					}
					if got := w.run(t, tt.program, w.flags); got != plain {
						t.Errorf("it says:\n%s\nplain:\n%s", got, plain)
					}
				})
			}
		})
	}
}

// outputOf returns what testdata/process/ways.c printed, without its process ID.
func outputOf(c *child) string {
	_, rest, _ := strings.Cut(c.out.String(), "\n")
	return rest
}

func runPlain(t testing.TB, program []string) string {
	t.Helper()
	c := startChild(t, childOptions{}, program...)
	c.send("go")
	c.waitLine("finished")
	c.want(0)
	return outputOf(c)
}

func runExec(t testing.TB, program, flags []string) string {
	t.Helper()
	c := startTool(t, childOptions{}, append(append(append([]string{"exec", "--analysis-time", "auto", "--findings-exit", "0"}, flags...), "--"), program...)...)
	c.send("go")
	c.waitLine("finished")
	c.want(0)
	wantNoPanic(c)
	return outputOf(c)
}

func runAttach(t testing.TB, program, flags []string) string {
	t.Helper()
	c := startChild(t, childOptions{}, program...)
	pid := lineNumber(t, c, "ready ")
	tool := startTool(t, childOptions{}, append([]string{"attach", "--analysis-time", "auto", "--findings-exit", "0", "-p", fmt.Sprint(pid)}, flags...)...)
	waitObserving(t, tool)
	c.send("go")
	c.waitLine("finished")
	tool.signal(unix.SIGINT)
	tool.want(0)
	wantNoPanic(tool)
	wantLeftAlone(t, pid)
	c.want(0)
	return outputOf(c)
}

func wantNoPanic(c *child) {
	c.t.Helper()
	if text := c.err.String(); strings.Contains(text, "panic") || strings.Contains(text, "runtime error") {
		c.t.Errorf("standard error: %s", text)
	}
}
