package trace

import (
	"cmp"
	"io"
	"math"
	"slices"

	"github.com/klauspost/compress/zstd"

	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

// evicted reads again the names of a Reader that it has evicted: it knows in which blocks they are. A nil *evicted does
// nothing. It implements run.Again.
type evicted struct {
	file   io.ReaderAt
	name   string
	dec    *zstd.Decoder
	room   uint64 // that of KeepNames; 0: there is no bound
	blocks []namedBlock
	stacks []event.StackID // of the current block
	cached [cachedBlocks]cachedNames
	next   int  // index in cached of the oldest
	large  bool // the names of some block need more than room: those of one are cached only
}

// namedBlock says which names a block of the trace has.
type namedBlock struct {
	offset                  int64
	objects, threads, funcs int             // those of the blocks before it
	stacks                  []event.StackID // sorted
}

// cachedBlocks is the number of blocks of which the names that were read again are kept.
const cachedBlocks = 3

type cachedNames struct {
	block int // 1 + its index; 0: there is none
	names *run.Names
}

// Reread says that the trace, which the Reader reads from its beginning, can be read again from a file, so that Shrink
// can evict names.
func (r *Reader) Reread(file io.ReaderAt) { r.evicted = &evicted{file: file, name: r.name, dec: r.dec} }

// KeepNames bounds the memory of the names that are read and can be read again, in bytes: beyond it, they are evicted
// after each block.
func (r *Reader) KeepNames(bytes uint64) {
	if r.evicted != nil {
		r.evicted.room = bytes
	}
}

// full reports whether the names of a Reader are beyond what KeepNames says.
func (x *evicted) full(size int) bool { return x != nil && x.room > 0 && uint64(size) > x.room }

// Shrink evicts the names read so far, if they can be read again when they are needed.
func (r *Reader) Shrink() {
	if r.evicted == nil {
		return
	}
	clear(r.evicted.cached[:])
	r.names.Evict(r.evicted)
	r.strings, r.formsByEncoding, r.size = map[string]string{}, map[string]*event.Form{}, 0
}

// Recall reads again, at once and in the order of the trace, the names in needed that were evicted. Without it, each
// may be read again by itself.
func (r *Reader) Recall(needed *event.Names) {
	if r.evicted == nil || !r.names.Evicted() {
		return
	}
	r.evicted.sortStacks()
	recalled := uint64(0)
	for i := range r.evicted.blocks {
		b := &r.evicted.blocks[i]
		if some := r.evicted.read(b); some != nil {
			r.names.Recall(some, needed)
		}
		for _, id := range b.stacks {
			if _, is := needed.Stacks()[id]; is {
				recalled += recallBytes
			}
		}
		if r.evicted.room > 0 && recalled > 2*r.evicted.room {
			return // what is left is read when it is needed
		}
	}
}

// recallBytes is about the memory that the frames of a stack need.
const recallBytes = 1 << 10

// begin begins a block.
func (x *evicted) begin(r *Reader) {
	if x == nil {
		return
	}
	x.sortStacks()
	x.blocks = append(x.blocks, namedBlock{offset: r.start, objects: r.names.Objects(), threads: r.names.Threads(), funcs: r.names.Funcs()})
}

// addStack adds a stack of the current block.
func (x *evicted) addStack(id event.StackID) {
	if x != nil {
		x.stacks = append(x.stacks, id)
	}
}

// sortStacks ends the stacks of the current block.
func (x *evicted) sortStacks() {
	if len(x.stacks) > 0 {
		slices.Sort(x.stacks)
		x.blocks[len(x.blocks)-1].stacks = slices.Clone(x.stacks)
		x.stacks = x.stacks[:0]
	}
}

// WithObject implements run.Again.
func (x *evicted) WithObject(id event.ObjectID) *run.Names {
	return x.block(x.before(func(b *namedBlock) bool { return b.objects < int(id) }))
}

// WithThread implements run.Again.
func (x *evicted) WithThread(id event.ThreadID) *run.Names {
	return x.block(x.before(func(b *namedBlock) bool { return b.threads < int(id) }))
}

// before returns the index of the last block for which a condition is true, which is not for any after the first for
// which it is not.
func (x *evicted) before(is func(*namedBlock) bool) int {
	at, _ := slices.BinarySearchFunc(x.blocks, false, func(b namedBlock, _ bool) int {
		if is(&b) {
			return -1
		}
		return 1
	})
	return at - 1
}

// WithFrames implements run.Again. Of several blocks, the first has the frames.
func (x *evicted) WithFrames(id event.StackID) *run.Names {
	x.sortStacks()
	for _, c := range x.cached {
		if c.block > 0 && c.names.Frames(id) != nil {
			return c.names
		}
	}
	for i := range x.blocks {
		if _, has := slices.BinarySearch(x.blocks[i].stacks, id); has {
			return x.block(i)
		}
	}
	return nil
}

// block returns the names of a block, by its index; nil if there is none, or it cannot be read any more.
func (x *evicted) block(i int) *run.Names {
	if i < 0 {
		return nil
	}
	for _, c := range x.cached {
		if c.block == i+1 {
			return c.names
		}
	}
	c := &x.cached[x.next]
	if x.next = (x.next + 1) % cachedBlocks; x.large {
		x.next = 0
		clear(x.cached[:])
	}
	*c = cachedNames{i + 1, cmp.Or(x.read(&x.blocks[i]), &run.Names{})}
	return c.names
}

// read reads the names of a block; nil if that fails.
func (x *evicted) read(b *namedBlock) *run.Names {
	r := newReader(io.NewSectionReader(x.file, b.offset, math.MaxInt64-b.offset), x.name, x.dec)
	r.names.BeginAfter(b.objects, b.threads, b.funcs)
	r.offset = b.offset
	h, payload, err := r.load()
	if err != nil {
		return nil
	}
	if r.raw, err = r.decompress(payload, h.raw); err != nil || r.sections() != nil {
		return nil
	}
	x.large = x.large || x.full(r.size)
	return &r.names
}
