package loader

import (
	"math"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/loader/stacks"
)

// settleStack tells the BPF programs where on the stack the return addresses of a call stack are, once it has been unwound.
// Until then they compare the nearest words that look like return addresses. Earlier calls may have left some of these
// behind, others each time, so that one call stack would get many IDs.
func (s *Session) settleStack(r *bpf.StackRecord, returns []stacks.Return) {
	key := bpf.StackKey{Caller: r.Caller, Depth: r.Depth, Site: uint64(r.Tgid)<<32 | uint64(r.Call&0xffff)<<16 | uint64(r.Site&0xffff)}
	s.tracer.SettleStack(&key, r.Stack, func(k *bpf.KnownStack) { compareReturns(k, r, returns) })
}

// compareReturns makes the nearest return addresses those that are compared.
func compareReturns(k *bpf.KnownStack, r *bpf.StackRecord, returns []stacks.Return) {
	n := 0
	for _, x := range returns {
		at := x.Addr - r.Sp
		if n == len(k.At) || at > math.MaxUint16 {
			break
		}
		if at == 0 && x.Value == r.Caller { // it is part of the key
			continue
		}
		k.At[n], k.Word[n] = uint16(at), x.Value
		n++
	}
	k.Words = uint8(n)
}
