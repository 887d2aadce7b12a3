package e2e

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// judged is what a report says of the regions of a scope and of what violates it.
var judged = regexp.MustCompile(`(?s)scope \w+: \d+ regions were judged.*?(?:note:|\n\n)|SCOPE observed.*?fingerprint \w+`)

// verdictsOf returns the text of a report that judged matches, without what the kernel form adds.
func verdictsOf(report string) string {
	return strings.Join(strings.Fields(strings.ReplaceAll(strings.Join(judged.FindAllString(report, -1), " "), "note:", "")), " ")
}

// TestScopeInKernel: the kernel form judges as the user form, and seven events with three actions are three records.
func TestScopeInKernel(t *testing.T) {
	needBPF(t)
	t.Parallel()
	for _, c := range []struct {
		source, spec string
		status       int
		counts       string
	}{
		{"figure1/figure1.c", "testdata/figure1/figure1.tps", 0, "7 events of local properties, 3 records"},
		{"../../../../examples/board/board.c", "../../../examples/board/board.tps", 66, "10 events of local properties, 8 records"},
		{"../../../../examples/board_read/board_read.c", "../../../examples/board/board.tps", 0, "12 events of local properties, 8 records"},
	} {
		t.Run(c.spec, func(t *testing.T) {
			program := build(t, "gcc", c.source, "-O1", "-g", "-pthread")
			var texts []string
			for _, where := range []string{"user", "kernel"} {
				tool := startTool(t, childOptions{}, "exec", "--stats", "--monitor="+where, "--spec", c.spec, "--", program)
				tool.want(c.status)
				texts = append(texts, tool.err.String())
			}
			if user, kernel := verdictsOf(texts[0]), verdictsOf(texts[1]); user == "" || user != kernel {
				t.Errorf("in user space:\n%s\nin the kernel:\n%s", user, kernel)
			}
			if !strings.Contains(texts[1], c.counts) {
				t.Errorf("want %q, report: %s", c.counts, texts[1])
			}
		})
	}
}

// TestScopeNotInKernel: where the kernel form cannot be, it is refused with the reason.
func TestScopeNotInKernel(t *testing.T) {
	needBPF(t)
	t.Parallel()
	program := build(t, "gcc", "figure1/figure1.c", "-O1", "-g", "-pthread")
	figure, err := os.ReadFile("testdata/figure1/figure1.tps")
	if err != nil {
		t.Fatal(err)
	}
	first := specFile(t, strings.Replace(string(figure), "call do_write by writer", "call do_write(n) by writer when n == 1", 1))
	for _, c := range []struct {
		args   []string
		reason string
	}{
		{[]string{"--follow", "--spec", "testdata/figure1/figure1.tps"}, "--monitor=kernel: --follow observes several processes"},
		{[]string{"--spec", first}, "the local property writes is over write, which has a condition"},
	} {
		tool := startTool(t, childOptions{}, append(append([]string{"exec", "--monitor=kernel"}, c.args...), "--", program)...)
		tool.want(2)
		if text := strings.Join(strings.Fields(tool.err.String()), " "); !strings.Contains(text, c.reason) {
			t.Errorf("want %q, report: %s", c.reason, text)
		}
	}
	// The user form takes the condition: in the last region the writer writes 2, and so nothing of the scope.
	tool := startTool(t, childOptions{}, "exec", "--spec", first, "--", program)
	tool.want(66)
	if text := strings.Join(strings.Fields(tool.err.String()), " "); !strings.Contains(text, "SCOPE observed (figure)") {
		t.Errorf("report: %s", text)
	}
}

// TestReleasesInKernel: the kernel form takes releases of a lock for the actions, and judges as the user form.
func TestReleasesInKernel(t *testing.T) {
	needBPF(t)
	t.Parallel()
	program := build(t, "gcc", "figure1/figure1.c", "-O1", "-g", "-pthread")
	figure, err := os.ReadFile("testdata/figure1/figure1.tps")
	if err != nil {
		t.Fatal(err)
	}
	released := specFile(t, strings.NewReplacer("acquire room", "release room", "check next always", "check always").Replace(string(figure)))
	var texts []string
	for _, where := range []string{"user", "kernel"} {
		tool := startTool(t, childOptions{}, "exec", "--stats", "--monitor="+where, "--spec", released, "--", program)
		tool.wait()
		texts = append(texts, tool.err.String())
	}
	// Which readers have ended by the last release differs from run to run, and so does the state after that.
	user, _, violated := strings.Cut(verdictsOf(texts[0]), " with ")
	if kernel, _, _ := strings.Cut(verdictsOf(texts[1]), " with "); !violated || user != kernel {
		t.Errorf("in user space:\n%s\nin the kernel:\n%s", user, kernel)
	}
	if !strings.Contains(texts[1], "7 events of local properties, 3 records") {
		t.Errorf("report: %s", texts[1])
	}
}
