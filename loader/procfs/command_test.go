package procfs

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

func TestCommandLine(t *testing.T) {
	long := strings.Repeat("x", 2*maxCommand)
	for raw, want := range map[string]string{
		"":                                 "",
		"\x00":                             "",
		"./a\x00--gtest_filter=A.b\x00":    "./a --gtest_filter=A.b",
		"sh\x00-c\x00echo $0; it's\x00":    `sh -c 'echo $0; it'\''s'`,
		"a\x00\x00b\x00":                   "a '' b",
		"nginx: worker\x00\x00\x00":        "'nginx: worker'",
		"größe\x00":                        "größe",
		"a\x00" + long:                     "a " + long[:maxCommand-2] + " ...",
		strings.Repeat("x", 999) + "größe": strings.Repeat("x", 999) + "g ...",
	} {
		if got := commandLine([]byte(raw)); got != want {
			t.Errorf("%.40q: %q, want %q", raw, got, want)
		}
	}
	if got := CommandLine(os.Getpid()); !strings.Contains(got, "-test.") {
		t.Errorf("the command line of the test is %q", got)
	}
	if got := CommandLine(-1); got != "" {
		t.Errorf("no process has %q", got)
	}
}

// FuzzCommandLine: a shell reads the words as they were.
func FuzzCommandLine(f *testing.F) {
	f.Add("a'b")
	f.Add("$(x) `y` \\ \" \n")
	f.Fuzz(func(t *testing.T, word string) {
		if strings.ContainsRune(word, 0) || len(word) > maxCommand-3 || word == "" {
			t.Skip("no word of a command line that is kept whole")
		}
		out, err := exec.Command("/bin/sh", "-c", "printf %s "+commandLine([]byte("a\x00" + word + "\x00"))[2:]).Output()
		if err != nil || string(out) != word {
			t.Errorf("%q became %q (%v)", word, out, err)
		}
	})
}
