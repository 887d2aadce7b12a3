package spelling

import (
	"testing"

	"pgregory.net/rapid"
)

func TestInstance(t *testing.T) {
	const vector = "std::vector<int,std::allocator<int>>"
	for _, c := range []struct {
		want, have string
		match      bool
	}{
		{"conn", "conn", true}, {"conn", "con", false}, {"Queue", "Queue<int>", false},
		{"std::vector<int>", vector, true}, {"std::vector<int,std::allocator<int>>", vector, true}, {"std::vector<*>", vector, true},
		{"std::vector<long>", vector, false}, {"std::vector<int,int>", vector, false}, {"std::vector<int,*,*>", vector, false},
		{"std::list<int>", vector, false}, {"std::vector<int>::x", vector, false}, {"std::vector<int>::x", vector + "::x", true},
		{"Queue<std::vector<int>>", "Queue<" + vector + ">", true}, {"Queue<std::vector<*>,4>", "Queue<" + vector + ",4>", true},
		{"Queue<std::vector<*>,4>", "Queue<" + vector + ",5>", false},
		{"F<void(int,long)>", "F<void(int,long),A>", true}, {"F<void(int)>", "F<void(int,long),A>", false},
		{"Queue<conn*>", "Queue<conn*>", true}, {"Queue<conn*>", "Queue<conn>", false},
		{"f<", "f<", true}, {"f<", "f<int>", false}, {"operator<", "operator<", true}, {"", "", true},
	} {
		if got := Instance(c.want, c.have); got != c.match {
			t.Errorf("Instance(%q, %q) = %v", c.want, c.have, got)
		}
		if c.match && !InstanceSuffix(c.want, "outer<a::b>::"+c.have) {
			t.Errorf("%q is no end of outer<a::b>::%q", c.want, c.have)
		}
	}
	if InstanceSuffix("b>", "outer<a::b>") || InstanceSuffix("onn", "ns::conn") {
		t.Error("a part of a component is no component")
	}
}

// TestInstanceOfItself checks that every name stands for itself, whatever its brackets.
func TestInstanceOfItself(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringMatching(`[ab<>(),:*]{0,12}`).Draw(t, "name")
		if !Instance(name, name) || !InstanceSuffix(name, name) {
			t.Fatal(name)
		}
	})
}
