package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

const events = `{"Action":"start","Package":"m/a"}
{"Action":"run","Package":"m/a","Test":"TestGood"}
{"Action":"output","Package":"m/a","Test":"TestGood","Output":"=== RUN   TestGood\n"}
{"Action":"output","Package":"m/a","Test":"TestGood","Output":"    a_test.go:1: chatter\n"}
{"Action":"output","Package":"m/a","Test":"TestGood","Output":"--- PASS: TestGood (0.00s)\n"}
{"Action":"pass","Package":"m/a","Test":"TestGood","Elapsed":0.5}
{"Action":"output","Package":"m/a","Test":"TestTable/clang","Output":"    a_test.go:12: no clang: install it\n"}
{"Action":"output","Package":"m/a","Test":"TestTable/clang","Output":"    --- SKIP: TestTable/clang (0.00s)\n"}
{"Action":"skip","Package":"m/a","Test":"TestTable/clang"}
{"Action":"pass","Package":"m/a"}
not JSON
{"Action":"run","Package":"m/b","Test":"TestBad"}
{"Action":"output","Package":"m/b","Test":"TestBad","Output":"    b_test.go:3: wrong\n"}
{"Action":"output","Package":"m/b","Test":"TestBad","Output":"--- FAIL: TestBad (0.00s)\n"}
{"Action":"fail","Package":"m/b","Test":"TestBad","Elapsed":2}
{"Action":"run","Package":"m/b","Test":"TestTable"}
{"Action":"run","Package":"m/b","Test":"TestTable/now and then"}
{"Action":"output","Package":"m/b","Test":"TestTable/now and then","Output":"    b_test.go:9: first\n"}
{"Action":"fail","Package":"m/b","Test":"TestTable/now and then","Elapsed":1}
{"Action":"fail","Package":"m/b","Test":"TestTable","Elapsed":1}
{"Action":"fail","Package":"m/b"}
{"Action":"run","Package":"m/b","Test":"TestBad"}
{"Action":"fail","Package":"m/b","Test":"TestBad","Elapsed":2}
{"Action":"run","Package":"m/b","Test":"TestTable"}
{"Action":"run","Package":"m/b","Test":"TestTable/now and then"}
{"Action":"output","Package":"m/b","Test":"TestTable/now and then","Output":"    b_test.go:9: second\n"}
{"Action":"fail","Package":"m/b","Test":"TestTable/now and then","Elapsed":1}
{"Action":"fail","Package":"m/b","Test":"TestTable","Elapsed":1}
{"Action":"run","Package":"m/b","Test":"TestTable"}
{"Action":"run","Package":"m/b","Test":"TestTable/now and then"}
{"Action":"pass","Package":"m/b","Test":"TestTable/now and then","Elapsed":1}
{"Action":"pass","Package":"m/b","Test":"TestTable","Elapsed":1}
{"Action":"skip","Package":"m/c"}
`

func kept(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "unit.json")
	if err := os.WriteFile(file, []byte(events), 0o644); err != nil {
		t.Fatal(err)
	}
	a, err := readAccount(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.keep(dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

// A test that failed in the end is not flaky, one that passed at the third time is.
func TestAccount(t *testing.T) {
	dir := kept(t)
	skipped, err := os.ReadFile(filepath.Join(dir, "skipped"))
	if want := "m/a\tTestTable/clang\tno clang: install it\n"; err != nil || string(skipped) != want {
		t.Errorf("skipped: %q, %v, want %q", skipped, err, want)
	}
	files, _ := filepath.Glob(filepath.Join(dir, "flaky", "*"))
	if want := []string{filepath.Join(dir, "flaky", "m_b.TestTable_now_and_then")}; !slices.Equal(files, want) {
		t.Fatalf("flaky: %q, want %q", files, want)
	}
	text, err := os.ReadFile(files[0])
	if want := "m/b.TestTable/now and then\n    b_test.go:9: first\n"; err != nil || string(text) != want {
		t.Errorf("it says %q, %v, want %q", text, err, want)
	}
}

func TestSummary(t *testing.T) {
	dir := kept(t)
	var out strings.Builder
	if err := summarize(&out, dir); err != nil {
		t.Fatal(err)
	}
	want := "Skipped, counting subtests: 1\n   1  no clang: install it (m/a)\n\n" +
		"+-- FLAKY: m/b.TestTable/now and then: it failed, and passed when it was run again. Its first failure:\n" +
		"|       b_test.go:9: first\n" +
		"+-- Its cause is to be mended before the next change.\n"
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", &out, want)
	}
	out.Reset()
	if err := summarize(&out, t.TempDir()); err != nil || out.String() != "No test was skipped.\n" {
		t.Errorf("of nothing it says %q, %v", &out, err)
	}
}

func TestBoxIsBounded(t *testing.T) {
	text := box("m/a.TestLong\n"+strings.Repeat("line\n", mostLines+5), "flaky/x")
	if !strings.Contains(text, "|   … 5 more lines in flaky/x\n") || strings.Count(text, "|   line\n") != mostLines {
		t.Errorf("it says %s", text)
	}
}

func TestSlowest(t *testing.T) {
	var out strings.Builder
	if err := listSlowest(&out, 2, kept(t)); err != nil {
		t.Fatal(err)
	}
	if want := "     2.0 s  m/b.TestBad\n     1.0 s  m/b.TestTable\n"; out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", &out, want)
	}
}

func TestSkips(t *testing.T) {
	for text, want := range map[string]string{
		"": "No test was skipped.\n",
		"p\tTestA\tno gdb\nq\tTestB/x\tno clang\np\tTestC\tno clang\nq\tTestD\tno clang\n": "Skipped, counting subtests: 4\n   3  no clang (q, p)\n   1  no gdb (p)\n",
	} {
		if got := skips(text); got != want {
			t.Errorf("%q: got\n%s\nwant\n%s", text, got, want)
		}
	}
}

func TestProgress(t *testing.T) {
	p := &progress{begun: time.Unix(100, 0)}
	now := time.Unix(112, 0)
	half := len(`{"Action":"run","Package":"m/a","Test":"Te`)
	text := `{"Action":"run","Package":"m/a","Test":"TestOne"}` + "\n" + `{"Action":"run","Package":"m/a","Test":"TestOne/sub"}` + "\n"
	p.add([]byte(text[:half]))
	if got, want := p.line(now), "  12 s: 0 tests"; got != want {
		t.Errorf("it says %q, want %q", got, want)
	}
	p.add([]byte(text[half:]))
	if got, want := p.line(now), "  12 s: 0 tests, now m/a.TestOne"; got != want {
		t.Errorf("it says %q, want %q", got, want)
	}
	p.add([]byte(`{"Action":"fail","Package":"m/a","Test":"TestOne"}` + "\n"))
	if got, want := p.line(now), "  12 s: 1 tests, 1 failed"; got != want {
		t.Errorf("it says %q, want %q", got, want)
	}
}

// The arguments of gotestsum: reruns only where they are asked for.
func TestArguments(t *testing.T) {
	o := options{packages: "./a ./b"}
	got := strings.Join(o.arguments("x.json", false, []string{"-short"}), " ")
	if strings.Contains(got, "rerun") || !strings.HasSuffix(got, "--packages=./a ./b --no-color -- -short") {
		t.Errorf("got %s", got)
	}
	o.rerun = true
	got = strings.Join(o.arguments("x.json", true, nil), " ")
	if !strings.Contains(got, "--rerun-fails=2 --rerun-fails-max-failures=5") || strings.Contains(got, "no-color") {
		t.Errorf("got %s", got)
	}
}
