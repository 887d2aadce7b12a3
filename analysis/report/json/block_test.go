package jsonreport

import (
	"encoding/json"
	"testing"

	"github.com/tracepredict/tracepredict/analysis/report"
	"github.com/tracepredict/tracepredict/analysis/report/reporttest"
	"github.com/tracepredict/tracepredict/observer/run"
)

// TestBlocksInJSON checks that an object has its block, if that is known.
func TestBlocksInJSON(t *testing.T) {
	for _, o := range []run.Object{{Member: "struct order.count", Class: "struct order.count"}, {}, {Member: "struct order.count", Block: run.Block{Element: 8}}} {
		checkBlock(t, reporttest.BlockReport(o, true), &jsonBlock{Size: 64, Offset: 16, Thread: 4})
		checkBlock(t, reporttest.BlockReport(o, false), nil)
	}
}

// checkBlock checks what the JSON report says of the block of the first object.
func checkBlock(t *testing.T, r report.Report, want *jsonBlock) {
	t.Helper()
	var got struct {
		Findings []struct {
			Info []struct {
				Initialised []any      `json:"initialised"`
				Block       *jsonBlock `json:"block"`
			} `json:"object_info"`
		} `json:"findings"`
	}
	if err := json.Unmarshal(writeJSON(t, r), &got); err != nil {
		t.Fatal(err)
	}
	info := got.Findings[0].Info[0]
	if len(info.Initialised) > 0 || (info.Block == nil) != (want == nil) {
		t.Fatalf("%+v", info)
	}
	if b := info.Block; want != nil && (b.Size != want.Size || b.Offset != want.Offset || b.Thread != want.Thread || len(b.Allocated) != 3 || b.AllocatedID == 0 && b.Allocated[2].Function != "order_new") {
		t.Errorf("%+v", b)
	}
}
