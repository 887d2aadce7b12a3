package main

import (
	"strings"
	"testing"
)

const events = `{"Action":"start","Package":"m/a"}
{"Action":"run","Package":"m/a","Test":"TestGood"}
{"Action":"output","Package":"m/a","Test":"TestGood","Output":"=== RUN   TestGood\n"}
{"Action":"output","Package":"m/a","Test":"TestGood","Output":"    a_test.go:1: chatter\n"}
{"Action":"output","Package":"m/a","Test":"TestGood","Output":"--- PASS: TestGood (0.00s)\n"}
{"Action":"pass","Package":"m/a","Test":"TestGood"}
{"Action":"output","Package":"m/a","Test":"TestTable/clang","Output":"    a_test.go:12: no clang: install it\n"}
{"Action":"output","Package":"m/a","Test":"TestTable/clang","Output":"    --- SKIP: TestTable/clang (0.00s)\n"}
{"Action":"skip","Package":"m/a","Test":"TestTable/clang"}
{"Action":"output","Package":"m/a","Output":"PASS\n"}
{"Action":"output","Package":"m/a","Output":"ok  \tm/a\t0.1s\n"}
{"Action":"pass","Package":"m/a"}
not JSON
{"Action":"output","Package":"m/b","Test":"TestBad","Output":"    b_test.go:3: wrong\n"}
{"Action":"output","Package":"m/b","Test":"TestBad","Output":"--- FAIL: TestBad (0.00s)\n"}
{"Action":"fail","Package":"m/b","Test":"TestBad"}
{"Action":"output","Package":"m/b","Test":"TestPanics","Output":"panic: oh\n"}
{"Action":"output","Package":"m/b","Output":"FAIL\tm/b\t0.1s\n"}
{"Action":"fail","Package":"m/b"}
{"Action":"skip","Package":"m/c"}
`

func TestRead(t *testing.T) {
	var out, skipped strings.Builder
	if err := newReader(&out, &skipped).read(strings.NewReader(events)); err != nil {
		t.Fatal(err)
	}
	want := "ok  \tm/a\t0.1s\nnot JSON\n    b_test.go:3: wrong\n--- FAIL: TestBad (0.00s)\nFAIL\tm/b\t0.1s\npanic: oh\n"
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", &out, want)
	}
	if want := "m/a\tTestTable/clang\tno clang: install it\n"; skipped.String() != want {
		t.Errorf("skipped: %q, want %q", &skipped, want)
	}
}

func TestSummarize(t *testing.T) {
	for text, want := range map[string]string{
		"": "No test was skipped.\n",
		"p\tTestA\tno gdb\nq\tTestB/x\tno clang\np\tTestC\tno clang\nq\tTestD\tno clang\n": "Skipped, counting subtests: 4\n   3  no clang (q, p)\n   1  no gdb (p)\n",
	} {
		if got := summarize(text); got != want {
			t.Errorf("%q: got\n%s\nwant\n%s", text, got, want)
		}
	}
}
