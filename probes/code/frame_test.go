package code

import (
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/tracepredict/tracepredict/internal/fixedseed"
)

// TestFrameProperty compares a Frame with a map, and checks that a change leaves the Frame that was
// copied unchanged.
func TestFrameProperty(t *testing.T) {
	places := rapid.Int64Range(-40, 8)
	rapid.Check(t, func(t *rapid.T) {
		var f Frame[int]
		model := map[int64]int{}
		for range rapid.IntRange(0, 30).Draw(t, "changes") {
			was := slices.Clone(f)
			old := f
			at, n := places.Draw(t, "at"), rapid.IntRange(0, 16).Draw(t, "n")
			switch rapid.IntRange(0, 3).Draw(t, "what") {
			case 0, 1:
				f = f.Put(at, n)
				model[at] = n
			case 2:
				f = f.Overwrite(at, n)
				maps.DeleteFunc(model, func(w int64, _ int) bool { return w+8 > at && (n == 0 || w < at+int64(n)) })
			case 3:
				f = f.Filter(func(w *Word[int]) bool { return w.Value != n })
				maps.DeleteFunc(model, func(_ int64, v int) bool { return v == n })
			}
			if !slices.Equal(old, was) {
				t.Fatalf("a change of a copy made %v of %v", old, was)
			}
		}
		sameFrame(t, f, model)
		for at := int64(-41); at < 10; at++ {
			v, ok := f.Get(at)
			if want, has := model[at]; ok != has || v != want {
				t.Fatalf("%d at %d: %v", v, at, ok)
			}
		}
	})
}

// TestFrameJoinProperty compares a join with its definition, word by word.
func TestFrameJoinProperty(t *testing.T) {
	words := rapid.MapOf(rapid.Int64Range(-4, 4), rapid.IntRange(1, 3))
	rapid.Check(t, func(t *rapid.T) {
		x, y := words.Draw(t, "x"), words.Draw(t, "y")
		f, from := frameOf(x), frameOf(y)
		want := map[int64]int{}
		for at := int64(-4); at <= 4; at++ {
			if v := 10*x[at] + y[at]; v > 0 && v != 22 { // 22 stands for a value that is not known
				want[at] = v
			}
		}
		join := func(a, b *int) (v int, ok bool) {
			if a != nil {
				v += 10 * *a
			}
			if b != nil {
				v += *b
			}
			return v, v != 22
		}
		was := slices.Clone(from)
		changed := f.Join(from, join, func(a, b int) bool { return a == b })
		sameFrame(t, f, want)
		if changed != !maps.Equal(want, x) || !slices.Equal(from, was) {
			t.Fatalf("%v: changed %v", x, changed)
		}
	})
}

func frameOf(words map[int64]int) (f Frame[int]) {
	for at, v := range words {
		f = f.Put(at, v)
	}
	return f
}

func sameFrame(t failer, f Frame[int], want map[int64]int) {
	t.Helper()
	got := map[int64]int{}
	for i, w := range f {
		if got[w.At] = w.Value; i > 0 && f[i-1].At >= w.At {
			t.Fatalf("not sorted: %v", f)
		}
	}
	if !maps.Equal(got, want) {
		t.Fatalf("%v, want %v", got, want)
	}
}
