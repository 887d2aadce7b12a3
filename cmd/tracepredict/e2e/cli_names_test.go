package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/internal/testtool"
)

// TestMembersWhereverTheirTypesAre checks that a member is watched by name in a running
// program, wherever its debug information is stored, and by its offset where there is
// none.
func TestMembersWhereverTheirTypesAre(t *testing.T) {
	needBPF(t)
	t.Parallel()
	for _, c := range []struct {
		name, watch string
		flags       string
		then        [][]string // commands to run in the program's folder
	}{
		{"split", "server.stats.hits", "-gdwarf-5 -gsplit-dwarf", nil},
		{"package", "server.stats.hits", "-gdwarf-4 -gsplit-dwarf", [][]string{{"dwp", "-e", "fields", "-o", "fields.dwp"}, {"rm", "one.dwo"}}},
		{"link", "server.stats.hits", "-g", [][]string{{"objcopy", "--only-keep-debug", "fields", "fields.debug"}, {"objcopy", "--strip-debug", "--add-gnu-debuglink=fields.debug", "fields"}}},
		{"type units", "server.stats.hits", "-g -fdebug-types-section", nil},
		{"none", "server+48:i64", "", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			program := fieldsProgram(t, strings.Fields(c.flags), c.then)
			status, r := reported(t, "exec", "--watch", c.watch, "--", program)
			name, _, _ := strings.Cut(c.watch, ":")
			want := "predicted race of " + name
			if c.flags == "" {
				want = "likely race of " + name // nothing shows what is atomic
			}
			if status != 66 || !strings.Contains(r.summary(), want) {
				t.Errorf("status %d: %s, notes %q", status, r.summary(), r.Run.Notes)
			}
		})
	}
}

// fieldsProgram compiles and links the example separately, in a folder of its own.
func fieldsProgram(t *testing.T, flags []string, then [][]string) string {
	t.Helper()
	dir := t.TempDir()
	source, err := filepath.Abs("../../../examples/fields/fields.c")
	if err != nil {
		t.Fatal(err)
	}
	commands := append([][]string{
		append([]string{"gcc", "-O2", "-pthread", "-fno-omit-frame-pointer", "-c", "-o", "one.o", source}, flags...),
		{"gcc", "-pthread", "-o", "fields", "one.o"},
	}, then...)
	for _, words := range commands {
		testtool.Need(t, words[0])
		cmd := command(t, words[0], words[1:]...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", strings.Join(words, " "), err, out)
		}
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "fields")
}
