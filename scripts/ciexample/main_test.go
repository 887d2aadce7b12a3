package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSchemasRefuse: each check accepts the recipe as it is, and refuses it with a word that its reader does not know.
func TestSchemasRefuse(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, file, old, new string
		check                func(string) error
	}{
		{"action", "ci/github/action.yml", "using: composite", "using: composit", func(f string) error { return valid(f, "github-actions.json") }},
		{"workflow", "ci/github/workflow.yml", "runs-on:", "runs_on:", func(f string) error { return valid(f, "github-workflows.json") }},
		{"template", "ci/gitlab/tracepredict.yml", "when: always", "when: ever", func(f string) error { return valid(f, "gitlab-ci.json") }},
		{"pod", "ci/kubernetes/pod.yaml", "capabilities:", "capability:", validPod},
	} {
		t.Run(c.name, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join(root, c.file))
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(string(text), c.old) {
				t.Fatalf("%s does not have %q", c.file, c.old)
			}
			good, bad := filepath.Join(t.TempDir(), "good.yml"), filepath.Join(t.TempDir(), "bad.yml")
			for file, content := range map[string]string{good: string(text), bad: strings.Replace(string(text), c.old, c.new, 1)} {
				if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if err := c.check(good); err != nil {
				t.Errorf("as it is: %v", err)
			}
			if err := c.check(bad); err == nil {
				t.Errorf("%q instead of %q is accepted", c.new, c.old)
			}
		})
	}
}
