package report

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

// blockTable returns the names of the shop, where the tickets are an object in a block of memory.
func blockTable(o run.Object) table {
	names := shopTable()
	names.stacks[30] = []event.Frame{
		{Function: "operator new", Module: event.LibraryModule}, src("allocate", "/usr/include/c++/12/bits/new_allocator.h", 137),
		src("order_new", "/home/u/shop/order.c", 12), src("main", "/home/u/shop/shop.c", 58),
	}
	o.Addr, o.Kind, o.First, o.FirstThread = 0x9010, event.KindVariable, 5, 2
	o.Init, o.Block = 30, run.Block{Size: 64, Offset: 16, Thread: 4, Element: o.Block.Element}
	names.objects[tickets] = o
	return names
}

// TestBlocks checks that a report says where the memory of a variable was allocated, by which thread and from where,
// that one without a name is named by that and by no address, and that the fingerprint does not depend on it, since
// another run may not know it.
func TestBlocks(t *testing.T) {
	for _, c := range []struct {
		name     string
		object   run.Object
		sentence string
		text     []string
	}{
		{"of a type", run.Object{Member: "struct order.count", Class: "struct order.count"}, "'struct order.count' (allocated in order_new at order.c:12)",
			[]string{"'struct order.count' at 0x9010: at offset 16 of a block of 64 bytes, allocated by T4 in order_new at order.c:12", "(called from main at shop/shop.c:58)"}},
		{"without a name", run.Object{}, "the variable at offset 16 of a block of 64 bytes allocated in order_new at order.c:12 (block@order.c:12+16)",
			[]string{"the variable block@order.c:12+16: at offset 16 of a block of 64 bytes, allocated by T4 in order_new at order.c:12", "writes block@order.c:12+16"}},
		{"in an array", run.Object{Member: "struct order.count", Class: "struct order.count", Block: run.Block{Element: 8}}, "'struct order.count' (allocated in order_new at order.c:12)",
			[]string{"'struct order.count' at 0x9010: at offset 16, in element 2 if it is an array of 8, of a block of 64 bytes, allocated by T4"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			built := func(known bool) Report {
				names := blockTable(c.object)
				if o := names.objects[tickets]; !known {
					o.Init, o.Block = 0, run.Block{}
					names.objects[tickets] = o
				}
				return Build(shopRun(), []finding.Finding{race()}, names)
			}
			r, unknown := built(true), built(false)
			if m := r.Findings[0].Message; !strings.Contains(m, c.sentence) {
				t.Errorf("message %q does not contain %q", m, c.sentence)
			}
			if r.Findings[0].Fingerprint != unknown.Findings[0].Fingerprint {
				t.Error("the fingerprint depends on the allocation")
			}
			var text bytes.Buffer
			if err := WriteText(&text, r, TextOptions{Width: 160}); err != nil {
				t.Fatal(err)
			}
			for _, want := range c.text {
				if !strings.Contains(strings.Join(strings.Fields(text.String()), " "), want) {
					t.Errorf("no %q in %s", want, text.String())
				}
			}
			checkBlock(t, r, &jsonBlock{Size: 64, Offset: 16, Thread: 4})
			checkBlock(t, unknown, nil)
		})
	}
}

// checkBlock checks what the JSON report says of the block of the first object.
func checkBlock(t *testing.T, r Report, want *jsonBlock) {
	t.Helper()
	var out bytes.Buffer
	if err := WriteJSON(&out, r); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Findings []struct {
			Info []struct {
				Initialised []any      `json:"initialised"`
				Block       *jsonBlock `json:"block"`
			} `json:"object_info"`
		} `json:"findings"`
	}
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
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
