package observer

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/observer/event"
)

// The functions of the test, by site: constructors 1 and 2 are copies of one.
const (
	siteMake = 1 + iota
	siteMakeToo
	siteMakeBase
	siteUse
	siteEnd
	siteEndToo
	siteNew
	siteOpen
)

func methodSite(index uint32) *SiteInfo {
	both := []event.Pattern{{Pattern: "call *"}, {Pattern: "return *", Return: true}}
	f := map[uint32]event.Func{
		siteMake: {Name: "Q::Q", Life: event.LifeBegin, Patterns: both}, siteMakeToo: {Name: "Q::Q", Life: event.LifeBegin, Patterns: both},
		siteMakeBase: {Name: "B::B", Life: event.LifeBegin, Patterns: both}, siteUse: {Name: "Q::use", Params: []event.Param{{Name: "n"}}, Patterns: both},
		siteEnd: {Name: "Q::~Q", Life: event.LifeEnd, Patterns: both}, siteEndToo: {Name: "Q::~Q", Life: event.LifeEnd, Patterns: both},
		siteNew:  {Name: "queue_new", ReturnsAddress: true, Patterns: both[1:]},
		siteOpen: {Name: "open", Params: []event.Param{{Name: "flags"}, {Name: "db", Index: 1, Stored: true}}, Patterns: both},
	}[index]
	return &SiteInfo{Func: &f}
}

// hit is a record of a call.
type hit struct {
	site         uint32
	object, sp   uint64
	returns      bool
	value, first uint64
	unknown      int32 // of the last parameters
}

// TestInstances checks that an instance is an address between a constructor and a destructor.
// Those of base classes, and copies of one constructor, that run inside them do not count.
func TestInstances(t *testing.T) {
	const at, other = 0x10000, 0x20000
	for _, c := range []struct {
		name string
		hits []hit
		want []string
	}{
		{"a use before anything is known", []hit{{site: siteUse, object: at, first: 7}}, []string{"call Q::use 1 [7]"}},
		{"no instance", []hit{{site: siteUse}}, []string{"call Q::use 0 [0]"}},
		{"two addresses", []hit{{site: siteUse, object: at}, {site: siteUse, object: other}, {site: siteUse, object: at, first: 3}},
			[]string{"call Q::use 1 [0]", "call Q::use 2 [0]", "call Q::use 1 [3]"}},
		{"made again", []hit{{site: siteMake, object: at, sp: 100}, {site: siteUse, object: at, sp: 100}, {site: siteMake, object: at, sp: 50}},
			[]string{"call Q::Q 1", "call Q::use 1 [0]", "destroy 1", "call Q::Q 2"}},
		{"a base and a copy within", []hit{{site: siteMake, object: at, sp: 100}, {site: siteMakeToo, object: at, sp: 90}, {site: siteMakeBase, object: at, sp: 80},
			{site: siteMakeToo, object: at, sp: 90, returns: true}, {site: siteMake, object: at, sp: 100, returns: true}},
			[]string{"call Q::Q 1", "call B::B 1", "return Q::Q 1"}},
		{"ended", []hit{{site: siteUse, object: at, sp: 100}, {site: siteEnd, object: at, sp: 100}, {site: siteEndToo, object: at, sp: 90}, {site: siteUse, object: at, sp: 80},
			{site: siteEndToo, object: at, sp: 90, returns: true}, {site: siteEnd, object: at, sp: 100, returns: true}, {site: siteUse, object: at, sp: 100}},
			[]string{"call Q::use 1 [0]", "call Q::~Q 1", "call Q::use 1 [0]", "return Q::~Q 1", "destroy 1", "call Q::use 2 [0]"}},
		{"ended, and not seen to return", []hit{{site: siteEnd, object: at, sp: 100}, {site: siteUse, object: at, sp: 200}, {site: siteEnd, object: at, sp: 100}, {site: siteMake, object: at, sp: 100}},
			[]string{"call Q::~Q 1", "destroy 1", "call Q::use 2 [0]", "call Q::~Q 2", "destroy 2", "call Q::Q 3"}},
		{"what is stored", []hit{{site: siteOpen, first: 7}, {site: siteOpen, first: 7, returns: true}, {site: siteOpen, first: 7, returns: true, unknown: 1}},
			[]string{"call open 0 [7]", "return open 0 [7 0]", "return open 0 [7]"}},
		{"returned", []hit{{site: siteNew, value: at, returns: true}, {site: siteUse, object: at}, {site: siteNew, value: 12, returns: true}},
			[]string{"return queue_new 0 -> 1", "call Q::use 1 [0]", "return queue_new 0"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var o *Observer
			var got []string
			o = New(Options{Sites: methodSite, Sinks: []Sink{sinkFunc(func(e *event.Event) {
				f, _ := o.FuncInfo(e.Func)
				switch {
				case e.Op == event.Destroy:
					got = append(got, fmt.Sprint("destroy ", e.Object))
				case !e.Op.IsCall():
				case e.Object2 != 0:
					got = append(got, fmt.Sprint(e.Op, " ", f.Name, " ", e.Object, " -> ", e.Object2))
				case len(e.Args) > 0:
					got = append(got, fmt.Sprint(e.Op, " ", f.Name, " ", e.Object, " ", e.Args))
				default:
					got = append(got, fmt.Sprint(e.Op, " ", f.Name, " ", e.Object))
				}
			})}})
			for i, h := range c.hits {
				r := bpf.CallRecord{Head: bpf.Record{Time: uint64(i + 1), Tid: 1, Tgid: 1, Site: h.site, Object: h.object, Sp: h.sp, Op: uint8(bpf.OpCall)}}
				r.Args[0] = h.first
				if h.returns {
					r.Head.Op, r.Head.Value, r.Head.Flags = uint8(bpf.OpReturn), h.value, bpf.RecLeave|bpf.RecValue
					r.Head.Result = h.unknown
				}
				o.Call(&r)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
