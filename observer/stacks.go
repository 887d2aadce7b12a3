package observer

import (
	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/observer/event"
)

// stacks keeps the descriptions of call stacks: those that the session has, and those that are found without a record.
type stacks struct {
	// By ID - 1: one more than the index in recorded of the description that a record has; 0: there is none. There may be
	// millions of IDs: a call stack that the BPF programs have forgotten gets another one.
	ids      []uint32
	recorded []Stack
	numbers  map[recordedStack]uint32        // one more than their indices
	found    []Stack                         // by ID - firstFoundStack - 1: call stacks that no record has
	ofSites  map[sitePlace]event.StackID     // of accesses of the past
	siteAddr func(tgid, index uint32) uint64 // Options.SiteAddr
}

func newStacks(opts *Options) stacks {
	return stacks{numbers: map[recordedStack]uint32{}, siteAddr: opts.SiteAddr}
}

// Stack describes a call stack. The loader's session holds its return addresses.
type Stack struct {
	Site   uint32   // index of the probe site
	Call   uint32   // 1 + the number of the system call in which the kernel accessed a variable; 0: the program acted
	TGID   uint32   // the process that the addresses belong to
	Caller uint64   // return address at a function's entry; at a watchpoint, the address of the access
	Found  []uint64 // addresses, innermost first, of a thread found waiting (Blocked); nil: the session has them
}

// recordedStack is a Stack that a record has.
type recordedStack struct {
	site, call, tgid uint32
	caller           uint64
}

// The bounds of what is kept: IDs in records, their different descriptions, and call stacks that no record has.
const (
	maxStackIDs = 1 << 24
	maxStacks   = 1 << 16
)

// add stores the description of a call stack, unless there are too many.
func (ss *stacks) add(id event.StackID, s Stack) {
	if id == 0 || id > maxStackIDs {
		return
	}
	key := recordedStack{s.Site, s.Call, s.TGID, s.Caller}
	number, known := ss.numbers[key]
	if !known {
		if len(ss.recorded) == maxStacks {
			return
		}
		ss.recorded = append(ss.recorded, s)
		number = uint32(len(ss.recorded))
		ss.numbers[key] = number
	}
	ss.ids = append(ss.ids, make([]uint32, max(int(id)-len(ss.ids), 0))...)
	ss.ids[id-1] = number
}

// get returns the description of a call stack.
func (ss *stacks) get(id event.StackID) (Stack, bool) {
	switch {
	case id > firstFoundStack && uint64(id-firstFoundStack) <= uint64(len(ss.found)):
		return ss.found[id-firstFoundStack-1], true
	case id > 0 && uint64(id) <= uint64(len(ss.ids)) && ss.ids[id-1] > 0:
		return ss.recorded[ss.ids[id-1]-1], true
	}
	return Stack{}, false
}

// firstFoundStack is the first stack ID that no record uses: the BPF programs count theirs
// from 1.
const firstFoundStack = 1 << 31

// addFound stores a call stack that no record has and returns its new ID; 0 if it is empty, or
// maxStacks are stored already.
func (ss *stacks) addFound(s Stack) event.StackID {
	if len(s.Found) == 0 || len(ss.found) >= maxStacks {
		return 0
	}
	ss.found = append(ss.found, s)
	return event.StackID(firstFoundStack + len(ss.found))
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
