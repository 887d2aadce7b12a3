package plural

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/tracepredict/tracepredict/internal/fixedseed"
)

func TestSprintf(t *testing.T) {
	const calls = "%d {call was|calls were} not seen"
	for _, c := range []struct {
		format string
		args   []any
		want   string
	}{
		{calls, []any{0}, "0 calls were not seen"},
		{calls, []any{1}, "1 call was not seen"},
		{calls, []any{uint64(1)}, "1 call was not seen"},
		{calls, []any{int64(-1)}, "-1 calls were not seen"},
		{calls, []any{12}, "12 calls were not seen"},
		{"%d {write|writes} and %d {read|reads}", []any{1, 2}, "1 write and 2 reads"},
		{"%d {write|writes} and %d {read|reads}", []any{2, 1}, "2 writes and 1 read"},
		{"{it is|they are} %d", []any{1}, "it is 1"},
		{"{it is|they are} %d", []any{2}, "they are 2"},
		{"%s has %d {byte|bytes}", []any{"{one|many}", 1}, "{one|many} has 1 byte"},
		{"%d of %s {is|are} lost", []any{1, "f"}, "1 of f is lost"},
		{"at %#x: %d {byte|bytes}", []any{1, 4}, "at 0x1: 4 bytes"},
		{"100%% of %d access{|es}", []any{1}, "100% of 1 access"},
		{"100%% of %d access{|es}", []any{3}, "100% of 3 accesses"},
		{"{x} %d {y", []any{1}, "{x} 1 {y"},
		{"nothing {one|many}", nil, "nothing many"},
		{"%4.1f ms, %d {hit|hits}", []any{1.0, 1}, " 1.0 ms, 1 hit"},
	} {
		if got := Sprintf(c.format, c.args...); got != c.want {
			t.Errorf("%q of %v: got %q, want %q", c.format, c.args, got, c.want)
		}
	}
}

// TestSprintfIsFmt compares with fmt.Sprintf where there is no form to choose.
func TestSprintfIsFmt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		format := strings.Join(rapid.SliceOf(rapid.SampledFrom([]string{"%d", "%s", "%%", "%", "{", "}", "a", " ", "%+v", "%6d"})).Draw(t, "format"), "")
		args := []any{1, "x|y", 3}
		if got, want := Sprintf(format, args...), fmt.Sprintf(format, args...); got != want {
			t.Fatalf("%q: got %q, want %q", format, got, want)
		}
	})
}
