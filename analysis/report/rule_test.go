package report

import (
	"bytes"
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/observer/event"
)

// TestRule checks that all formats have the name of the rule that a misuse breaks, that
// another rule at the same source location is another finding, and that the wrong operation
// comes first although it happened last.
func TestRule(t *testing.T) {
	misuse := func(r finding.Rule) finding.Finding {
		return finding.Finding{
			Kind: finding.Misuse, Rule: r, Confidence: finding.Observed,
			Evidence: []finding.Step{{Seq: 9, Thread: 2, Op: event.Release}, {Seq: 4, Thread: 1, Op: event.Acquire}},
		}
	}
	both := Build(Run{}, []finding.Finding{misuse(finding.UnlockByOther), misuse(finding.UnlockNotHeld), misuse("")}, nil)
	if len(both.Findings) != 3 {
		t.Errorf("%d findings of three rules", len(both.Findings))
	}
	one := Build(Run{}, []finding.Finding{misuse(finding.UnlockByOther)}, nil)
	if first := one.Findings[0].Evidence[0]; first.Op != event.Release {
		t.Errorf("the evidence begins with %s", first.Op)
	}
	var text bytes.Buffer
	if err := WriteText(&text, one, TextOptions{}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(text.String(), "MISUSE observed (unlock-by-other)") {
		t.Errorf("the text does not name the rule:\n%s", text.String())
	}
	if raw := writeJSON(t, one); !bytes.Contains(raw, []byte(`"rule":"unlock-by-other"`)) {
		t.Errorf("JSON does not name the rule:\n%s", raw)
	}
}
