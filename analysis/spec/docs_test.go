package spec

import (
	"os"
	"regexp"
	"testing"
)

// TestDocumentation reads the examples of the user's guide.
func TestDocumentation(t *testing.T) {
	text, err := os.ReadFile("../../docs/specification.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```tps\n(.*?)```").FindAllSubmatch(text, -1)
	if len(blocks) < 4 {
		t.Fatalf("%d examples", len(blocks))
	}
	for _, b := range blocks {
		s, problems := Parse("specification.md", string(b[1]))
		for _, p := range problems {
			t.Error(p.Detail())
		}
		if s == nil {
			continue
		}
		for _, p := range s.Properties {
			if _, problems := s.Monitor(p, MonitorOptions{}); problems.HasErrors() {
				t.Error(problems)
			}
		}
	}
}
