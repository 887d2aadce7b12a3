package report_test

import (
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/analysis/report/reporttest"
	"github.com/tracepredict/tracepredict/observer/run"
)

// TestBlocks checks that a sentence says where the memory of a variable was allocated, that one without a name is
// named by that and by no address, and that the fingerprint does not depend on it, since another run may not know it.
func TestBlocks(t *testing.T) {
	for _, c := range []struct {
		name     string
		object   run.Object
		sentence string
	}{
		{"of a type", run.Object{Member: "struct order.count", Class: "struct order.count"}, "'struct order.count' (allocated in order_new at order.c:12)"},
		{"without a name", run.Object{}, "the variable at offset 16 of a block of 64 bytes allocated in order_new at order.c:12 (block@order.c:12+16)"},
		{"in an array", run.Object{Member: "struct order.count", Class: "struct order.count", Block: run.Block{Element: 8}}, "'struct order.count' (allocated in order_new at order.c:12)"},
	} {
		r, unknown := reporttest.BlockReport(c.object, true), reporttest.BlockReport(c.object, false)
		if m := r.Findings[0].Message; !strings.Contains(m, c.sentence) {
			t.Errorf("%s: message %q does not contain %q", c.name, m, c.sentence)
		}
		if r.Findings[0].Fingerprint != unknown.Findings[0].Fingerprint {
			t.Errorf("%s: the fingerprint depends on the allocation", c.name)
		}
	}
}
