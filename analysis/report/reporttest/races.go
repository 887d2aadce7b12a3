package reporttest

import (
	"fmt"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/finding/reason"
	"github.com/tracepredict/tracepredict/analysis/report"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

// BlockTable returns the names of the shop, where the tickets are an object in a block of memory.
func BlockTable(o run.Object) Table {
	names := ShopTable()
	names.Stacks[30] = []event.Frame{
		{Function: "operator new", Module: event.LibraryModule}, Src("allocate", "/usr/include/c++/12/bits/new_allocator.h", 137),
		Src("order_new", "/home/u/shop/order.c", 12), Src("main", "/home/u/shop/shop.c", 58),
	}
	o.Addr, o.Kind, o.First, o.FirstThread = 0x9010, event.KindVariable, 5, 2
	o.Init, o.Block = 30, run.Block{Size: 64, Offset: 16, Thread: 4, Element: o.Block.Element}
	names.Objects[Tickets] = o
	return names
}

// BlockReport returns the report of a race on the object of blockTable, whose block is known or not.
func BlockReport(object run.Object, known bool) report.Report {
	names := BlockTable(object)
	if o := names.Objects[Tickets]; !known {
		o.Init, o.Block = 0, run.Block{}
		names.Objects[Tickets] = o
	}
	return report.Build(ShopRun(), []finding.Finding{Race()}, names)
}

// RaceBetween returns a race on an object between two source locations: the function of location n is
// f<n>.
func RaceBetween(tab Table, object run.Object, a, b int, confidence finding.Confidence) finding.Finding {
	id := event.ObjectID(1000 + len(tab.Objects))
	if object.Kind == event.KindUnknown {
		object.Kind = event.KindVariable
	}
	tab.Objects[id] = object
	f := Race()
	f.Objects, f.Confidence, f.Reason, f.Count = []event.ObjectID{id}, confidence, reason.Reason{}, 1
	for k, at := range []int{a, b} {
		stack := event.StackID(1000 + at)
		tab.Stacks[stack] = StackOf(Src(fmt.Sprintf("f%d", at), "/home/u/shop/item.c", 10*at))
		f.Evidence[k].Object, f.Evidence[k].Stack, f.Evidence[k].Seq = id, stack, uint64(10*a+b+k)
	}
	return f
}

// ItemRaces are six pairs of accesses of one field, one of them predicted.
func ItemRaces() report.Report {
	tab := ShopTable()
	var fs []finding.Finding
	for i := range 6 {
		confidence := finding.Likely
		if i == 4 {
			confidence = finding.Predicted
		}
		fs = append(fs, RaceBetween(tab, run.Object{Name: "it_flags of struct item", Addr: 0x9000, Kind: event.KindField}, 2*i+1, 2*i+2, confidence))
	}
	return report.Build(ShopRun(), fs, tab)
}
