package probes

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tracepredict/tracepredict/internal/plural"
	"github.com/tracepredict/tracepredict/internal/testtool"
	"github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/function"
	"github.com/tracepredict/tracepredict/probes/variable"
)

const oneJob = `
struct Job { int id; int state; };
int other(int);
__attribute__((noinline)) int one(struct Job *j) { j->state = 7; return j->id; }
int main(int argc, char **argv) { struct Job j = {argc, 2}; (void)argv; return one(&j) + other(argc); }
`

// twoFiles compiles two files, whose texts are given, into a program, or into a program
// and a library.
func twoFiles(t *testing.T, one, other string, library bool) []*elf.File {
	t.Helper()
	testtool.Need(t, "gcc")
	dir := t.TempDir()
	for name, text := range map[string]string{"one.c": one, "two.c": other} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	commands := []string{"gcc -g -O1 -w -o program one.c two.c"}
	if library {
		commands = []string{"gcc -g -O1 -w -shared -fPIC -o libtwo.so two.c", "gcc -g -O1 -w -o program one.c ./libtwo.so"}
	}
	for _, c := range commands {
		cmd := exec.Command("sh", "-c", c)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", c, err, out)
		}
	}
	files := []*elf.File{open(t, filepath.Join(dir, "program"))}
	if library {
		files = append(files, open(t, filepath.Join(dir, "libtwo.so")))
	}
	return files
}

// TestTypesOfOneName checks that a field is watched in all types that have the name of its type,
// whether their files are linked or one is a library, each with its own size and type.
func TestTypesOfOneName(t *testing.T) {
	const use = "__attribute__((noinline)) void two(struct Job *j) { j->state = 7; }\nint other(int n) { struct Job j = {0}; two(&j); return n; }\n"
	one := "one write 4 int at 4"
	for name, c := range map[string]struct {
		members string
		want    string // "": the other type's field cannot be watched
		note    string // for one file
	}{
		"same":        {"int id; int state;", "two write 4 int at 4", ""},
		"moved":       {"char name[32]; int state;", "two write 4 int at 32", "2 different types in"},
		"wider":       {"char name[32]; long state;", "two write 8 int at 32", "2 different types in"},
		"narrower":    {"signed char state;", "two write 1 int at 0", "2 different types in"},
		"unsigned":    {"int id; unsigned state;", "two write 4 uint at 4", "2 different types in"},
		"a structure": {"int id; struct { int a[3]; } x; int *state;", "two write 8 pointer at 16", "2 different types in"},
	} {
		for _, library := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/library=%v", name, library), func(t *testing.T) {
				files := twoFiles(t, oneJob, "struct Job { "+c.members+" };\n"+use, library)
				p := NewPlanner(Options{Table: table(t), Watch: []string{"state of struct Job"}})
				var got []string
				var notes []string
				for _, f := range files {
					plan, err := p.Plan(f)
					if err != nil {
						t.Fatal(err)
					}
					checkPlan(t, plan)
					got, notes = append(got, fieldSites(t, plan)...), append(notes, plural.Texts(plan.Notes)...)
				}
				if err := p.Unresolved(); err != nil {
					t.Error(err)
				}
				slices.Sort(got)
				if diff := cmp.Diff([]string{one, c.want}, got); diff != "" {
					t.Error(diff)
				}
				if said := strings.Contains(strings.Join(notes, "\n"), "2 different types in"); said != (c.note != "" && !library) {
					t.Errorf("notes: %q", notes)
				}
			})
		}
	}
}

// fieldSites describes the accesses in the functions one and two.
func fieldSites(t *testing.T, p *Plan) []string {
	t.Helper()
	var out []string
	for _, s := range p.Sites {
		if s.Target != TargetField || s.Function != "one" && s.Function != "two" {
			continue
		}
		if s.Field == nil || s.Field.Name != s.Variable {
			t.Fatalf("a site of no field: %+v", s)
		}
		what := describe(s)
		what = what[:strings.IndexByte(what, ' ')]
		out = append(out, fmt.Sprintf("%s %s %d %s at %d", s.Function, what, s.BPF.Access.Width, classOf(s.Field), s.Inside))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func classOf(v *variable.Variable) string {
	switch v.Class {
	case variable.Int:
		return "int"
	case variable.Uint:
		return "uint"
	case variable.Pointer:
		return "pointer"
	}
	return fmt.Sprint(v.Class)
}

// TestTypeWithoutField checks that a field is watched where one of two types of a name has it, and
// that it is refused where none has.
func TestTypeWithoutField(t *testing.T) {
	for _, library := range []bool{false, true} {
		files := twoFiles(t, oneJob, "struct Job { int id; struct { int a[3]; } state, late; };\n__attribute__((noinline)) int two(struct Job *j) { return j->id++ + j->late.a[1]; }\nint other(int n) { struct Job j = {n}; return two(&j); }\n", library)
		for name, want := range map[string]string{
			"state of struct Job":  "",
			"late of struct Job":   "it has type struct",
			"never of struct Job":  "the type has no member never",
			"late.a of struct Job": "an array in an object cannot be watched as a field of a type",
		} {
			p := NewPlanner(Options{Table: table(t), Watch: []string{name}})
			var notes []string
			for _, f := range files {
				plan, err := p.Plan(f)
				if err != nil {
					t.Fatal(err)
				}
				notes = append(notes, plural.Texts(plan.Notes)...)
			}
			var wrong *variable.Error
			err := p.Unresolved()
			if want == "" && (err != nil || !strings.Contains(strings.Join(notes, "\n"), "and its state cannot be watched: it has type struct")) {
				t.Errorf("library %v, %s: %v, notes %q", library, name, err, notes)
			}
			if want != "" && (!errors.As(err, &wrong) || !strings.Contains(err.Error(), want)) {
				t.Errorf("library %v, %s: %v", library, name, err)
			}
		}
	}
}

// TestFunctionsOfOneName checks that a pattern matches each function of a name, of one file or of
// several.
func TestFunctionsOfOneName(t *testing.T) {
	pattern, err := function.Parse("call run")
	if err != nil {
		t.Fatal(err)
	}
	const one = "int other(int);\n__attribute__((noinline)) static int run(int *n) { return ++*n; }\nint main(int argc, char **argv) { (void)argv; return run(&argc) + other(argc); }\n"
	const two = "__attribute__((noinline)) static long run(long n, long *at) { return *at += n; }\nint other(int n) { long at = n; return (int)run(3, &at); }\n"
	for _, library := range []bool{false, true} {
		p, found := NewPlanner(Options{Table: table(t), On: []function.Pattern{pattern}}), 0
		for _, f := range twoFiles(t, one, two, library) {
			plan, err := p.Plan(f)
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range plan.Sites {
				if s.Method != nil {
					found++
				}
			}
		}
		if found != 2 {
			t.Errorf("library %v: %d functions, not 2", library, found)
		}
	}
}
