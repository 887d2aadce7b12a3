package main

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/cmd/tracepredict/manual"
	"github.com/tracepredict/tracepredict/internal/testtool"
)

// TestManualPages: each command that help lists has a manual page, with all of its flags, and man formats it without
// a warning.
func TestManualPages(t *testing.T) {
	folder := t.TempDir()
	if status := execute([]string{"man", folder}, io.Discard, io.Discard); status != 0 {
		t.Fatalf("man: status %d", status)
	}
	root := (&app{}).rootCommand()
	listed := 0
	for _, g := range manual.Of(root, nil, true).Commands {
		for _, r := range g.Rows {
			listed++
			page := readFile(t, filepath.Join(folder, "tracepredict-"+r.Word+".1"))
			for _, flags := range pageOf(t, r.Word).Flags {
				for _, f := range flags.Rows {
					if !strings.Contains(page, `\-\-`+strings.ReplaceAll(f.Name, "-", `\-`)) {
						t.Errorf("the page of %s has no --%s", r.Word, f.Name)
					}
				}
			}
		}
	}
	pages, err := filepath.Glob(filepath.Join(folder, "*.1"))
	if err != nil || len(pages) != listed+1 {
		t.Fatalf("%d pages of %d commands, %v", len(pages), listed, err)
	}
	testtool.Need(t, "groff")
	for _, page := range pages {
		out, err := exec.Command("groff", "-ww", "-man", "-Tutf8", "-z", page).CombinedOutput()
		if err != nil || len(out) > 0 {
			t.Errorf("%s: %v, %s", filepath.Base(page), err, out)
		}
	}
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestManualPagesOfNoFolder: the error says which page of which folder cannot be written.
func TestManualPagesOfNoFolder(t *testing.T) {
	var stderr strings.Builder
	folder := filepath.Join(t.TempDir(), "absent")
	if status := execute([]string{"man", folder}, io.Discard, &stderr); status != 125 || !strings.Contains(stderr.String(), "write the manual page of tracepredict: open "+folder) {
		t.Errorf("status %d, %s", status, stderr.String())
	}
}
