package function

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tracepredict/tracepredict/internal/testtool"
	"github.com/tracepredict/tracepredict/probes/elf"
)

const handling = `
struct conn { int n; };
struct other { int n; };
typedef struct conn conn_t;
#define KEEP __attribute__((noipa))
extern "C" {
KEEP struct conn *conn_new(int n) { struct conn *c = new struct conn; c->n = n; return c; }
KEEP void conn_copy(int n, const struct conn *from, struct conn *to) { to->n = from->n + n; }
KEEP int conn_typedef(conn_t *c) { return c->n; }
KEEP int conn_value(struct conn c) { return c.n; }
KEEP int conn_pointers(struct conn **c) { return (*c)->n; }
KEEP int other(struct other *o) { return o->n; }
}
namespace shop {
struct Till {
	KEEP Till() : n(0) {}
	KEEP void sell(int k) { n += k; }
	int n;
};
}
KEEP int look(const shop::Till &t) { return t.n; }
int main() { shop::Till t; t.sell(3); struct conn *c = conn_new(1); conn_copy(1, c, c); return look(t) + conn_typedef(c) + conn_value(*c) + conn_pointers(&c) + other((struct other *)c); }
`

// openHandling returns the binary of handling.
func openHandling(t *testing.T) *elf.File {
	testtool.Need(t, "g++")
	path := filepath.Join(t.TempDir(), "handling")
	gcc := exec.Command("g++", "-O1", "-g", "-o", path, "-x", "c++", "-")
	gcc.Stdin = strings.NewReader(handling)
	if text, err := gcc.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	file, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	return file
}

// TestHandling: functions that get or return the address of an object of a type, however the type is written.
func TestHandling(t *testing.T) {
	file := openHandling(t)
	conn := []Handled{{"conn_copy", []string{"n", "from", "to"}, 1}, {"conn_new", []string{"n"}, -1}}
	for typ, want := range map[string][]Handled{
		"struct conn": conn, "struct conn *": conn, "conn": conn, "struct nothing": nil, "int": nil,
		"conn_t":     {{"conn_typedef", []string{"c"}, 0}},
		"shop::Till": {{"look", []string{"t"}, 0}, {"shop::Till::Till", []string{"this"}, 0}, {"shop::Till::sell", []string{"this", "k"}, 0}},
	} {
		got, err := Handling(file, typ)
		if d := cmp.Diff(want, got); err != nil || d != "" {
			t.Errorf("%s: %v\n-want +got:\n%s", typ, err, d)
		}
	}
}

// TestPointed: the names of what parameters and results point to, by which a type is known.
func TestPointed(t *testing.T) {
	file := openHandling(t)
	for text, want := range map[string][]string{
		"call conn_copy(_, from)":  {"struct conn"},
		"call conn_typedef(c)":     {"conn_t", "struct conn"},
		"return conn_new -> c":     {"struct conn"},
		"call look(t)":             {"struct Till"},
		"call conn_pointers(c)":    nil,
		"call conn_copy(n)":        nil,
		"call shop::Till::sell(k)": nil,
	} {
		p, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		found, err := Find(file, []Pattern{p})
		if err != nil || len(found.Functions) != 1 {
			t.Fatalf("%s: %d functions, %v", text, len(found.Functions), err)
		}
		f := &found.Functions[0]
		got := f.ResultOf
		if len(f.Params) > 0 {
			got = f.Params[0].Of
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: %s", text, d)
		}
	}
	names := []string{"conn_t", "struct conn"}
	for text, want := range map[string]bool{"struct conn *": true, "conn_t *": true, "const struct conn &": true, "conn": true, "struct con *": false, "conn_t2": false} {
		if IsNamed(names, text) != want {
			t.Errorf("%s: want %v", text, want)
		}
	}
}
