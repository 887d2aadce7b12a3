package textreport

import (
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/analysis/report"
	"github.com/tracepredict/tracepredict/analysis/report/reporttest"
	"github.com/tracepredict/tracepredict/observer/run"
)

// TestBlocksInText checks that a text says by which thread, and from where, the memory of a variable was allocated.
func TestBlocksInText(t *testing.T) {
	for _, c := range []struct {
		name   string
		object run.Object
		says   []string
	}{
		{"of a type", run.Object{Member: "struct order.count", Class: "struct order.count"},
			[]string{"'struct order.count' at 0x9010: at offset 16 of a block of 64 bytes, allocated by T4 in order_new at order.c:12", "(called from main at shop/shop.c:58)"}},
		{"without a name", run.Object{},
			[]string{"the variable block@order.c:12+16: at offset 16 of a block of 64 bytes, allocated by T4 in order_new at order.c:12", "writes block@order.c:12+16"}},
		{"in an array", run.Object{Member: "struct order.count", Class: "struct order.count", Block: run.Block{Element: 8}},
			[]string{"'struct order.count' at 0x9010: at offset 16, in element 2 if it is an array of 8, of a block of 64 bytes, allocated by T4"}},
	} {
		got := strings.Join(strings.Fields(text(t, reporttest.BlockReport(c.object, true), report.Options{Width: 160})), " ")
		for _, want := range c.says {
			if !strings.Contains(got, want) {
				t.Errorf("%s: no %q in %s", c.name, want, got)
			}
		}
	}
}
