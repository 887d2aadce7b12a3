package libname

import (
	"strings"
	"testing"
)

// TestTable checks rows, and what is not in the table, by functions that several packages ask for.
func TestTable(t *testing.T) {
	for _, c := range []struct {
		function             string
		is                   Class
		arguments, addresses int
	}{
		{"free", Frees | Unshared | WritesNothing, 1, 1},
		{"pthread_mutex_lock", Object | Relocks | Succeeds, -1, -1},
		{"exit", Threads | EndsProgram | NoReturn | Unshared, 1, -1},
		{"no_such_function", 0, -1, -1},
	} {
		if r := functions().rows[c.function]; r.is != c.is || Arguments(c.function) != c.arguments || Addresses(c.function) != c.addresses {
			t.Errorf("%s: %+v", c.function, r)
		}
	}
	if !BeginsAs("GOMP_parallel", Orders) || BeginsAs("GOMP_parallel", Synchronises) || BeginsAs("memcpy", ^Class(0)) {
		t.Error("beginnings of names are wrong")
	}
	if got := strings.Join(With(WaitsForChild), " "); got != "wait wait3 wait4 waitid waitpid" {
		t.Error(got)
	}
	for name, want := range map[string]string{"__memcpy_chk": "memcpy", "memcpy": "memcpy", "__strdup": "__strdup"} {
		if got := Plain(name); got != want {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// TestEveryClassIsUsed checks that no class of functions.toml is without a function, and that each has its own name.
func TestEveryClassIsUsed(t *testing.T) {
	seen := map[string]bool{}
	for i, name := range classNames {
		c := Class(1) << i
		used := len(With(c)) > 0
		for _, p := range functions().prefixes {
			used = used || p.is&c != 0
		}
		if !used || seen[name] {
			t.Errorf("%s has no function, or another class has its name", name)
		}
		seen[name] = true
	}
	if LocksCallbacks != 1<<(len(classNames)-1) {
		t.Errorf("%d names for the classes up to %b", len(classNames), CreatesThreads)
	}
}

func TestFaultsInFunctions(t *testing.T) {
	for text, want := range map[string]string{
		"[functions]\nf = {is = [\"fress\"]}":   "f: fress is no class: it is one of on-object, ",
		"[functions]\nf = {adresses = 1}":       "functions.f.adresses has no meaning",
		"[functions]\nf = {arguments = 7}":      "f: 7 is no number of arguments: from 0 to 6",
		"[functions]\nf = {addresses = -1}":     "f: -1 is no number of arguments",
		"[functions]\nf = {}\nf = {}":           "functions.toml: ",
		"[prefixes]\nf_ = [\"frees\", \"fre\"]": "f_: fre is no class",
		"[functions\n":                          "functions.toml: ",
	} {
		if _, err := parseFunctions(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}
