package spelling

import "testing"

func TestLastList(t *testing.T) {
	for _, c := range []struct {
		name string
		want int
	}{
		{"", -1}, {"main", -1}, {"a)b", -1}, {"(", -1}, {"f()", 1}, {"f(void (*)(int)) const", 1}, {"operator()(int)", 10}, {"f()::g(int)", 6}, {"(anonymous namespace)::f", 0},
	} {
		if got := LastList(c.name); got != c.want {
			t.Errorf("LastList(%q) = %d, want %d", c.name, got, c.want)
		}
	}
}
