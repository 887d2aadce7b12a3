package loader

import (
	"testing"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/loader/stacks"
)

// TestCompareReturns: the nearest return addresses are compared, but for the one that is part of the key.
func TestCompareReturns(t *testing.T) {
	r := &bpf.StackRecord{Caller: 7, Sp: 1000}
	k := bpf.KnownStack{Words: 5, At: [8]uint16{1, 2, 3, 4, 5}}
	compareReturns(&k, r, []stacks.Return{{Addr: 1000, Value: 7}, {Addr: 1040, Value: 8}, {Addr: 1080, Value: 7}, {Addr: 1000 + 1<<16, Value: 9}})
	if k.Words != 2 || k.At[0] != 40 || k.Word[0] != 8 || k.At[1] != 80 || k.Word[1] != 7 {
		t.Errorf("%+v", k)
	}
	var many []stacks.Return
	for i := range 20 {
		many = append(many, stacks.Return{Addr: 1016 + 16*uint64(i), Value: uint64(i)})
	}
	if compareReturns(&k, r, many); int(k.Words) != len(k.At) || k.At[7] != 128 || k.Word[7] != 7 {
		t.Errorf("%+v", k)
	}
}
