package variable

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	bin "github.com/tracepredict/tracepredict/probes/elf"
)

// TestDirectIsAccesses checks that the results for many variables at once, with each function
// decoded once, are those for each variable alone.
func TestDirectIsAccesses(t *testing.T) {
	const n = 12
	text := "#include <string.h>\n"
	body := ""
	for i := range n {
		text += fmt.Sprintf("static volatile long v%d; int a%d[%d];\n", i, i, i+2)
		body += fmt.Sprintf("v%d += k; __atomic_fetch_add(&a%d[1], k, 5); memset(a%d, k, sizeof a%d); switch (k) { case %d: v%d = 2; break; case %d: a%d[k %% 2] = 1; }\n", i, i, i, i, i, (i+1)%n, i+3, i)
	}
	text += "int f(int k) {" + body + "return v1; }\nint main(int c, char **v) { int *p = &a3[c]; if (c > 2) p = &a4[1]; *p = c; return f(c) + *(&a5[0] + c); }\n"
	f := build(t, "gcc", []string{"-O2", "-g"}, []string{"v.c"}, map[string]string{"v.c": text})
	var queries []Query
	for i := range n {
		queries = append(queries, Query{Variable: mustFind(t, f, fmt.Sprintf("v%d", i))}, Query{Variable: mustFind(t, f, fmt.Sprintf("a%d[1]", i))})
	}
	found := 0
	for i, got := range NewCode(f, nil).Direct(queries) {
		want, err := Accesses(f, queries[i].Variable)
		if err != nil || got.Err != nil {
			t.Fatal(err, got.Err)
		}
		want.Escapes, want.AddressTaken, got.Result.AddressTaken, got.Result.Escapes = nil, nil, nil, nil
		if d := cmp.Diff(want, got.Result); d != "" {
			t.Errorf("%s: %s", queries[i].Variable.Name, d)
		}
		found += len(want.Accesses)
	}
	if found < 4*n {
		t.Errorf("only %d accesses", found)
	}
}

// TestDirectIn checks that only the functions of the query are searched.
func TestDirectIn(t *testing.T) {
	f := build(t, "gcc", []string{"-O1", "-g"}, []string{"v.c"}, map[string]string{"v.c": "int v; void one(void) { v++; }\nvoid two(void) { v--; }\nint main(void) { one(); two(); return v; }\n"})
	one, _ := f.FunctionAt(f.Lookup("one")[0].Addr)
	got := NewCode(f, nil).Direct([]Query{{Variable: mustFind(t, f, "v"), In: []bin.Range{one}}})
	if as := got[0].Result.Accesses; got[0].Err != nil || len(as) == 0 || as[0].Func != one || as[len(as)-1].Func != one {
		t.Errorf("%+v", got)
	}
}
