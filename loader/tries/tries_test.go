package tries

import (
	"io"
	"os"
	"testing"
)

func TestDescendants(t *testing.T) {
	self := os.Getpid()
	parents := map[int]int{self: 1, self + 1: self, self + 2: self + 1, self + 3: 1, self + 4: self + 5, self + 5: self + 4}
	for pid, want := range map[int]bool{self: false, 1: false, self + 1: true, self + 2: true, self + 3: false, self + 4: false, self + 9: false} {
		if got := isDescendant(pid, parents); got != want {
			t.Errorf("%d, of %d: %v, want %v", pid, self, got, want)
		}
	}
}

// TestOrder: what a file in memory holds is read from its beginning.
func TestOrder(t *testing.T) {
	f, err := memory([]byte("hold T2"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if text, err := io.ReadAll(f); err != nil || string(text) != "hold T2" {
		t.Errorf("%q, %v", text, err)
	}
}

// TestInput: /dev/null and a file can be had again, the file from where it was read; a pipe cannot.
func TestInput(t *testing.T) {
	stdin := os.Stdin
	defer func() { os.Stdin = stdin }()
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	file, err := os.Open("tries_test.go")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := file.Seek(8, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	for _, c := range []struct {
		from *os.File
		want int64
		ok   bool
	}{{null, fromNull, true}, {file, 8, true}, {r, 0, false}} {
		os.Stdin = c.from
		if _, got, err := input(""); got != c.want || (err == nil) != c.ok {
			t.Errorf("%s: %d, %v", c.from.Name(), got, err)
		}
	}
}

func TestNoTry(t *testing.T) {
	if try, err := Inherited(); try != nil || err != nil {
		t.Errorf("%v, %v", try, err)
	}
}
