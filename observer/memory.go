package observer

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

// This file handles accesses through pointers. Their records come by word of eight bytes, with a bit
// for each byte that is touched. Bytes that all accesses so far have touched together are one variable; an
// access that touches only some of them divides it, and touches all variables of its bytes.

const wordSize = 8

// word has the variables of a word.
type word struct {
	parts []wordPart
	// shared reports that the word may be accessed by another address, or by another process. It was found
	// out when there were so many processes and mappings.
	shared              bool
	processes, mappings int
}

// wordPart is the variable of some adjacent bytes of a word.
type wordPart struct {
	bytes uint8 // a bit for each
	v     *variable
}

// pointed handles the record of an access through a pointer.
func (vs *variables) pointed(t *thread, r *bpf.Record, info *SiteInfo) {
	if r.Flags&bpf.RecOrders != 0 {
		vs.pointedOrder(t, r, info)
		return
	}
	if vs.livesStopped {
		return // the memory may be another's by now
	}
	op := accessOps[bpf.Op(r.Op)-bpf.OpRead]
	vs.eachTouched(t, r, func(part *bpf.Record, x wordPart) {
		a := pastAccess{t, op, info.Flags, event.StackID(part.Stack), r.Time, info.Loads}
		a.flags = a.flagsOf(x.bytes)
		vs.access(t, part, x.v, op, info, a.flags)
		x.v.remember(a)
	})
}

// namedAccess is an access of a variable by its name.
type namedAccess struct {
	flags event.Flags
	bytes uint8 // of the variable, as SiteInfo.Bytes
	loads uint8 // as SiteInfo.Loads
}

// named handles an access of a variable by its name. If its bytes are known, the access is one of each part into
// which accesses through pointers have divided the variable.
func (vs *variables) named(t *thread, r *bpf.Record, v *variable, info *SiteInfo, as namedAccess) {
	op := accessOps[bpf.Op(r.Op)-bpf.OpRead]
	if as.bytes == 0 {
		vs.access(t, r, v, op, info, as.flags)
		return
	}
	v.bytes = as.bytes
	at := r.Object &^ (wordSize - 1)
	var rest []wordPart
	if t.process.words[at] != nil {
		rest = vs.wordParts(t, r, at, v.bytesIn(r.Object-at))
	} else {
		t.process.addNamedWord(at)
	}
	whole := *r
	if len(rest) > 1 {
		whole.Flags &^= bpf.RecValue // it is that of all parts
	}
	past := pastAccess{t, op, as.flags, event.StackID(r.Stack), r.Time, as.loads}
	own := past
	for _, x := range rest {
		if x.v == v {
			own.flags = past.flagsOf(x.bytes)
		}
	}
	vs.access(t, &whole, v, op, info, own.flags)
	v.remember(own)
	for _, x := range rest {
		if x.v != v {
			part := past
			part.flags = past.flagsOf(x.bytes)
			vs.access(t, &whole, x.v, op, info, part.flags)
			x.v.remember(part)
		}
	}
}

// bytesIn returns the bytes of a variable in the word in which it begins, as many bytes behind the beginning of
// that word.
func (v *variable) bytesIn(from uint64) uint8 { return uint8((1<<v.bytes - 1) << from) }

// addNamedWord records that a variable with a name begins in a word.
func (p *process) addNamedWord(at uint64) {
	if p.namedWords == nil {
		p.namedWords = map[uint64]bool{}
	}
	p.namedWords[at] = true
}

// namedParts returns the variables with names that begin in a word.
func (p *process) namedParts(at uint64) (parts []wordPart) {
	if !p.namedWords[at] {
		return nil
	}
	covered := uint8(0)
	for from := range uint64(wordSize) {
		if v := p.vars[at+from]; v != nil && v.bytes > 0 && v.bytesIn(from)&covered == 0 {
			covered |= v.bytesIn(from)
			parts = append(parts, wordPart{v.bytesIn(from), v})
		}
	}
	return parts
}

// pastAccess is an access that a thread has made.
type pastAccess struct {
	thread *thread
	op     event.Op
	flags  event.Flags
	stack  event.StackID
	time   uint64
	loads  uint8 // as SiteInfo.Loads
}

// flagsOf returns the flags that the access has as one of a variable of some bytes of a word.
func (a *pastAccess) flagsOf(part uint8) event.Flags {
	if int(a.loads) > bits.OnesCount8(part) {
		return a.flags | event.Wider
	}
	return a.flags
}

// maxPast bounds the accesses that are remembered of a variable.
const maxPast = 8

// remember remembers the last access of each kind of each thread: when the variable is divided, they are
// accesses of all of its parts.
func (v *variable) remember(a pastAccess) {
	for i := range v.past {
		if p := &v.past[i]; p.thread == a.thread && p.op == a.op {
			*p = a
			return
		}
	}
	if len(v.past) < maxPast {
		v.past = append(v.past, a)
	}
}

// sendPast sends an event of an access that was made before.
func (vs *variables) sendPast(v *variable, a pastAccess) {
	v.remember(a)
	e := vs.begin(a.thread, nil, a.op)
	e.Object, e.Kind, e.Flags, e.Time, e.Stack = v.id, v.kind, a.flags|event.Past, a.time, a.stack
	vs.stats.Events++
	e.Seq = vs.stats.Events
	vs.pastSink(e)
}

// pointedOrder handles an access, through a pointer, of memory that atomic code accesses.
func (vs *variables) pointedOrder(t *thread, r *bpf.Record, info *SiteInfo) {
	at := r.Object &^ (wordSize - 1)
	shift := r.Object - at
	whole := uint8(1<<info.Sync.Width-1) << shift
	parts := vs.wordParts(t, r, at, whole)
	if vs.sharing.sharesWord(t.process, at) && bpf.Op(r.Op) != bpf.OpWrite {
		vs.doubt(t, doubtShared)
	}
	for i := range parts {
		p := &parts[i]
		if p.bytes == whole {
			vs.synchronised(t, p.v, info.whole(bpf.Op(r.Op)), r)
			continue
		}
		from := uint64(bits.TrailingZeros8(p.bytes)) - shift
		vs.synchronised(t, p.v, info.part(bpf.Op(r.Op), from, bits.OnesCount8(p.bytes)), r)
	}
}

// whole returns the description of an access of this site, through a pointer, that orders threads.
func (s *SiteInfo) whole(op bpf.Op) *SiteInfo {
	if s.ordering == nil {
		ordering := *s
		if op != bpf.OpUpdate {
			ordering.Flags |= event.Atomic // a plain instruction that changes memory is divisible
		}
		s.ordering = &ordering
	}
	return s.ordering
}

// part is as whole, of an access of the size bytes from a byte on: they have only a part of its values.
func (s *SiteInfo) part(op bpf.Op, from uint64, size int) *SiteInfo {
	for _, known := range s.parts {
		if known.Sync.From == uint8(from) && known.Sync.Width == uint8(size) {
			return known
		}
	}
	ordering, sync := *s.whole(op), *s.Sync
	sync.Whole, sync.From, sync.Width = s.Sync.Width, uint8(from), uint8(size)
	ordering.Sync, ordering.Lock = &sync, bpf.LockNone
	s.parts = append(s.parts, &ordering)
	return &ordering
}

// takesPast reports whether what threads did before can still be put in its place.
func (vs *variables) takesPast() bool { return vs.pastSink != nil && !vs.livesStopped }

// past handles the record of an access that its thread made before, and that is recorded only now. It
// makes an event of that time, which the live analyses do not receive: its place is among the events
// before.
func (vs *variables) past(r *bpf.Record) {
	t := vs.threads.threadAt(r.Tid, r.Value)
	if t == nil || t.process.interpreterWords[r.Object&^(wordSize-1)] {
		return // it was long ago, or of a part of an interpreter's lock
	}
	vs.now = r.Time
	op := accessOps[bpf.Op(r.Op)-bpf.OpRead]
	info := vs.site(r)
	vs.eachTouched(t, r, func(part *bpf.Record, x wordPart) {
		a := pastAccess{t, op, info.Flags, event.StackID(part.Stack), r.Value, info.Loads}
		a.flags = a.flagsOf(x.bytes)
		vs.sendPast(x.v, a)
	})
}

// eachTouched calls f with each variable that an access through a pointer touches, with its bytes, and a record of
// the access of that variable alone.
func (vs *variables) eachTouched(t *thread, r *bpf.Record, f func(*bpf.Record, wordPart)) {
	part := *r
	if r.Flags&bpf.RecPast != 0 {
		part.Stack = uint32(vs.stacks.siteStack(r))
	}
	for _, p := range vs.wordParts(t, &part, r.Object, uint8(r.Bytes())) {
		part.Object = r.Object + uint64(bits.TrailingZeros8(p.bytes))
		f(&part, p)
	}
}

// wordParts returns the variables of bytes of the word at an address, and makes and divides them as needed. The
// result is valid until the next call.
func (vs *variables) wordParts(t *thread, r *bpf.Record, at uint64, bytes uint8) []wordPart {
	p := t.process
	w := p.words[at]
	if w == nil {
		if p.words == nil {
			p.words = map[uint64]*word{}
		}
		w = &word{parts: p.namedParts(at)}
		p.words[at] = w
	}
	if len(w.parts) == 1 && w.parts[0].bytes == bytes && p.vars[at+uint64(bits.TrailingZeros8(bytes))] == w.parts[0].v {
		return w.parts
	}
	w.parts = slices.DeleteFunc(w.parts, func(x wordPart) bool {
		return p.vars[at+uint64(bits.TrailingZeros8(x.bytes))] != x.v // its memory has ended
	})
	vs.divide(t, r, w, at, bytes)
	vs.touchedParts = vs.touchedParts[:0]
	for _, x := range w.parts {
		if x.bytes&bytes != 0 {
			vs.touchedParts = append(vs.touchedParts, x)
		}
	}
	return vs.touchedParts
}

// divide makes each variable of a word lie within some bytes or outside of them, and adds variables for those
// of the bytes that have none. A variable that is divided remains that of its first bytes. The others get the
// accesses that are remembered of it.
func (vs *variables) divide(t *thread, r *bpf.Record, w *word, at uint64, bytes uint8) {
	covered := uint8(0)
	for i := range w.parts {
		x := &w.parts[i]
		covered |= x.bytes
		if x.bytes&bytes == 0 || x.bytes&^bytes == 0 {
			continue
		}
		first := lowest(x.bytes, bytes)
		for rest := x.bytes &^ first; rest != 0; {
			next := lowest(rest, bytes)
			v := vs.newPointed(t, r, at, next)
			v.divided = true
			vs.inheritPast(v, next, x.v.past)
			w.parts = append(w.parts, wordPart{next, v})
			x = &w.parts[i]
			rest &^= next
		}
		x.bytes = first
		x.v.last.known = false
		vs.narrow(x.v, first)
	}
	for rest := bytes &^ covered; rest != 0; {
		next := lowest(rest, bytes)
		w.parts = append(w.parts, wordPart{next, vs.newPointed(t, r, at, next)})
		rest &^= next
	}
	slices.SortFunc(w.parts, func(a, b wordPart) int {
		return cmp.Compare(bits.TrailingZeros8(a.bytes), bits.TrailingZeros8(b.bytes))
	})
}

// inheritPast sends the accesses that are remembered of a variable as ones of v, which has some of its bytes. Loads that
// have become wider than the variable come first: see narrow.
func (vs *variables) inheritPast(v *variable, bytes uint8, past []pastAccess) {
	if vs.pastSink == nil {
		return
	}
	for _, wider := range []bool{true, false} {
		for _, a := range past {
			if a.flags = a.flagsOf(bytes); a.flags&event.Wider != 0 == wider {
				vs.sendPast(v, a)
			}
		}
	}
}

// narrow handles that a variable has kept some of its bytes only. Its loads until now are of more than these. One of
// them is sent again as a past one that is Wider: trace.Settle marks all earlier ones.
func (vs *variables) narrow(v *variable, bytes uint8) {
	if vs.pastSink == nil {
		return
	}
	for _, a := range v.past {
		if flags := a.flagsOf(bytes); flags != a.flags {
			a.flags = flags
			vs.sendPast(v, a)
		}
	}
}

// lowest returns the first adjacent bytes of a set that are all in another, or all outside of it.
func lowest(set, other uint8) (run uint8) {
	first := set & -set
	for b := first; b&set != 0 && b&other != 0 == (first&other != 0); b <<= 1 {
		run |= b
	}
	return run
}

// newPointed makes the variable of some bytes of the word at an address, unless there is one by another name.
func (vs *variables) newPointed(t *thread, r *bpf.Record, at uint64, bytes uint8) *variable {
	addr := at + uint64(bits.TrailingZeros8(bytes))
	if v := t.process.vars[addr]; v != nil {
		return v
	}
	obj := run.Object{Addr: addr, TGID: t.process.id, Kind: event.KindVariable, First: event.StackID(r.Stack), FirstThread: t.id, FirstAt: int64(r.Result) + int64(addr-at)}
	if at, b := t.process.blockAt(addr); b != nil && b.stack != 0 {
		obj.Init, obj.Block = b.stack, run.Block{Size: b.size, Offset: addr - at, Thread: b.thread}
	}
	v := &variable{id: vs.names.addObject(obj), kind: obj.Kind, accessed: true}
	t.process.vars[addr] = v
	t.process.addLive(addr)
	return v
}

// stopsLives records that the ends of memory are not recorded from now on, because the probes cost
// too much.
func (vs *variables) stopsLives(r *bpf.Record) {
	if r.Result != 0 && !vs.livesStopped {
		vs.livesStopped, vs.livesUntil = true, vs.stats.Events
	}
}

// LivesUntil returns the number of the last event before the ends of memory were not recorded any
// more; ok is false if they are recorded to the end.
func (o *Observer) LivesUntil() (seq uint64, ok bool) {
	return o.variables.livesUntil, o.variables.livesStopped
}
