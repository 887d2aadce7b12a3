package observer

import (
	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/observer/event"
)

// stacks keeps the descriptions of call stacks: those that the session has, and those that are found without a record.
type stacks struct {
	known    map[event.StackID]Stack
	found    uint32                          // number of call stacks stored that no record has
	ofSites  map[sitePlace]event.StackID     // of accesses of the past
	siteAddr func(tgid, index uint32) uint64 // Options.SiteAddr
}

func newStacks(opts *Options) stacks {
	return stacks{known: map[event.StackID]Stack{}, siteAddr: opts.SiteAddr}
}

// Stack describes a call stack. The loader's session holds its return addresses.
type Stack struct {
	Site   uint32   // index of the probe site
	Call   uint32   // 1 + the number of the system call in which the kernel accessed a variable; 0: the program acted
	TGID   uint32   // the process that the addresses belong to
	Caller uint64   // return address at a function's entry; at a watchpoint, the address of the access
	Found  []uint64 // addresses, innermost first, of a thread found waiting (Blocked); nil: the session has them
}

// maxStacks bounds the stacks that are kept. The BPF programs have a table of half as
// many; an event beyond that has a stack ID of its own, and loader.Lost counts it.
const maxStacks = 1 << 16

// add stores the description of a call stack, unless there are maxStacks.
func (ss *stacks) add(id event.StackID, s Stack) {
	if len(ss.known) < maxStacks {
		ss.known[id] = s
	}
}

// firstFoundStack is the first stack ID that no record uses: the BPF programs count theirs
// from 1.
const firstFoundStack = 1 << 31

// addFound stores a call stack that no record has and returns its new ID; 0 if it is empty, or
// maxStacks are stored already.
func (ss *stacks) addFound(s Stack) event.StackID {
	if len(s.Found) == 0 || len(ss.known) >= maxStacks {
		return 0
	}
	ss.found++
	id := event.StackID(firstFoundStack + ss.found)
	ss.known[id] = s
	return id
}

// sitePlace is a site in a process.
type sitePlace struct{ tgid, site uint32 }

// siteStack returns a call stack of the site of a record alone: what was called before is not known.
func (ss *stacks) siteStack(r *bpf.Record) event.StackID {
	at := sitePlace{r.Tgid, r.Site}
	id, ok := ss.ofSites[at]
	if ok || ss.siteAddr == nil {
		return id
	}
	if addr := ss.siteAddr(r.Tgid, r.Site); addr != 0 {
		id = ss.addFound(Stack{Site: r.Site, TGID: r.Tgid, Found: []uint64{addr}})
	}
	if ss.ofSites == nil {
		ss.ofSites = map[sitePlace]event.StackID{}
	}
	ss.ofSites[at] = id
	return id
}
