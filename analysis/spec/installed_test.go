package spec

import (
	"io"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

// TestInstalled: an installed specification is found by its name, with the extension or without, by --spec and by include,
// but after files; and its functions are one group.
func TestInstalled(t *testing.T) {
	block := func(name string) string {
		return "typestate " + name + " (o : int) {\n use = call " + name + "_use(o)\n state s { use -> s }\n}\n"
	}
	own := map[string]string{
		"own.tps": "include \"std/a.tps\"\ninclude \"std/b\"\n" + block("own"), "std/b": block("beside"), "wrong.tps": "include \"std/c\"\n",
	}
	opts := Options{
		Open: func(name string) (io.ReadCloser, error) {
			if text, ok := own[name]; ok {
				return io.NopCloser(strings.NewReader(text)), nil
			}
			return nil, fs.ErrNotExist
		},
		Installed: fstest.MapFS{"std/a.tps": {Data: []byte("include \"b.tps\"\n" + block("a"))}, "std/b.tps": {Data: []byte(block("b"))}},
	}
	for _, c := range []struct {
		name string
		want []string // patterns and their groups
	}{
		{"std/a", []string{"call b_use(o) std/b", "call a_use(o) std/a"}},
		{"std/a.tps", []string{"call b_use(o) std/b", "call a_use(o) std/a"}},
		{"std/b", []string{"call beside_use(o) "}},
		{"own.tps", []string{"call b_use(o) std/b", "call a_use(o) std/a", "call beside_use(o) ", "call own_use(o) "}},
	} {
		s, problems := Load(c.name, opts)
		if s == nil {
			t.Fatalf("%s: %v", c.name, problems)
		}
		var got []string
		p := s.Plan()
		for i, on := range p.On {
			got = append(got, on+" "+p.Groups[i])
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s: -want +got:\n%s", c.name, d)
		}
	}
	for _, name := range []string{"std/c", "wrong.tps"} {
		if _, problems := Load(name, opts); !strings.Contains(problems.Error(), "tracepredict specs lists those that come with it") {
			t.Errorf("%s: %v", name, problems)
		}
	}
}
