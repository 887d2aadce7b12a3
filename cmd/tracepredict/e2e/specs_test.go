package e2e

import (
	"strings"
	"testing"
)

// TestInstalledSpecs: for each specification that comes with tracepredict, a program that breaks it in another schedule
// alone, and the same program with a join, which keeps it.
func TestInstalledSpecs(t *testing.T) {
	needBPF(t)
	t.Parallel()
	for _, c := range []struct {
		spec, source string
		want         string // the title of the finding
	}{
		{"std/curl", "curl.c", "TYPESTATE predicted (multi)"},
		{"std/descriptor", "descriptor.c", "TYPESTATE predicted (descriptor)"},
		{"std/dirent", "dirent.c", "TYPESTATE predicted (directory)"},
		{"std/mutex", "mutex.c", "TYPESTATE predicted (condition)"},
		{"std/openssl", "openssl.c", "TYPESTATE predicted (connection)"},
		{"std/pthread", "pthread.c", "TYPESTATE predicted (semaphore)"},
		{"std/socket", "socket.c", "TYPESTATE predicted (socket)"},
		{"std/sqlite3", "sqlite3.c", "TYPESTATE predicted (connection)"},
		{"std/stdio", "stdio.c", "TYPESTATE predicted (stream)"},
		{"std/zlib", "zlib.c", "TYPESTATE predicted (deflating)"},
	} {
		t.Run(c.spec, func(t *testing.T) {
			t.Parallel()
			program := build(t, "gcc", "specs/"+c.source, "-O2", "-g", "-pthread")
			for _, arg := range []string{"", "joined"} {
				tool := startTool(t, childOptions{}, "exec", "--watch-shared=off", "--misuse=off", "--spec", c.spec, "--", program, arg)
				status, want := 66, "1. "+c.want
				if arg == "joined" {
					status, want = 0, "no findings"
				}
				tool.want(status)
				if text := tool.err.String(); !strings.Contains(text, want) || strings.Contains(text, "2. TYPESTATE") {
					t.Errorf("%s %s: want %q, report: %s", c.source, arg, want, text)
				}
			}
		})
	}
}

// TestSpecOfNoFunction: an installed specification none of whose functions the program has is an error, before it runs.
func TestSpecOfNoFunction(t *testing.T) {
	needBPF(t)
	t.Parallel()
	program := build(t, "gcc", "specs/stdio.c", "-O2", "-g", "-pthread")
	tool := startTool(t, childOptions{}, "exec", "--spec", "std/zlib", "--", program)
	tool.want(2)
	if text := tool.err.String(); !strings.Contains(text, "neither the program nor its libraries have any of the functions that std/zlib names") || strings.Contains(tool.out.String(), "done") {
		t.Errorf("report: %s", text)
	}
}
