package code

import (
	"cmp"
	"slices"
	"sort"

	"github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/insn"
)

// Graph is the control-flow graph of one function.
type Graph struct {
	Insts  []insn.Inst
	Blocks []Block
	// ExternalEntries are the blocks that control may enter other than by falling through or by a
	// branch of the function: by a jump table, by an exception, or from another part of the
	// function.
	ExternalEntries []int
	// Open means that control may arrive at every instruction, each of which is then a block and
	// an external entry.
	Open bool
}

// Block is a basic block: Insts[Lo:Hi] are executed one after the other.
type Block struct {
	Lo, Hi int
	Next   []int // successors: the block of the branch's target, then the one that control falls through into
}

// Arrivals returns the addresses in a range at which control may arrive other than by falling
// through or by a branch of the range itself. open means that control may arrive at any address of
// it.
type Arrivals func(elf.Range) (at []uint64, open bool)

// NewGraph finds the basic blocks of a function. insts are its instructions, in one run or, if the
// function has several parts, in several. The addresses in arrivals begin blocks, which are
// external entries; open makes the graph Open. If several instructions have the same address, a
// branch to it leads to the last.
func NewGraph(insts []insn.Inst, arrivals []uint64, open bool) *Graph {
	g := &Graph{Insts: insts, Open: open}
	b := builder{Graph: g, marks: make([]mark, len(insts)+1)}
	b.sort()
	b.findLeaders(arrivals)
	for i := range insts {
		if i == 0 || open || b.marks[i]&leader != 0 {
			if i > 0 && (open || b.marks[i]&externalEntry != 0) {
				g.ExternalEntries = append(g.ExternalEntries, len(g.Blocks))
			}
			g.Blocks = append(g.Blocks, Block{Lo: i})
		}
		g.Blocks[len(g.Blocks)-1].Hi = i + 1
	}
	next := make([]int, 0, 2*len(g.Blocks)) // memory for the Next of all blocks
	for i := range g.Blocks {
		from := len(next)
		next = b.follow(next, i)
		g.Blocks[i].Next = next[from:len(next):len(next)]
	}
	return g
}

// Certain returns the blocks at which control may arrive if it does at the given entries: also those into
// which the code falls through or branches, and those to which it jumps through a table. The function
// returns the targets of such a jump, by its address. What lies between, such as the data that some
// compilers put between functions, is not certain to be code.
func (g *Graph) Certain(entries []uint64, table func(jump uint64) []uint64) map[int]bool {
	b := builder{Graph: g}
	b.sort()
	begins := func(to []int, addresses []uint64) []int {
		for _, at := range addresses {
			for _, block := range b.appendBlock(nil, at) {
				if g.Insts[g.Blocks[block].Lo].Addr == at {
					to = append(to, block)
				}
			}
		}
		return to
	}
	certain, _ := Reach(begins(nil, entries), func(block int) ([]int, bool) {
		next := g.Blocks[block].Next
		if last := &g.Insts[g.Blocks[block].Hi-1]; last.Kind == insn.IndirectJump && table != nil {
			next = begins(slices.Clone(next), table(last.Addr))
		}
		return next, true
	})
	return certain
}

// builder makes a Graph.
type builder struct {
	*Graph
	marks []mark // of each instruction, and a last one that is not used
	// order has the indexes of the instructions by address; nil: the instructions are in that order.
	order []int
}

// mark is a set of flags of an instruction.
type mark uint8

const (
	leader        mark = 1 << iota // the instruction begins a block
	externalEntry                  // the instruction begins a block that control may enter from outside
)

// sort computes the order by address, which find searches.
func (b *builder) sort() {
	sorted := true
	for i := 1; i < len(b.Insts) && sorted; i++ {
		sorted = b.Insts[i-1].Addr <= b.Insts[i].Addr
	}
	if sorted {
		return
	}
	b.order = make([]int, len(b.Insts))
	for i := range b.order {
		b.order[i] = i
	}
	slices.SortStableFunc(b.order, func(i, j int) int { return cmp.Compare(b.Insts[i].Addr, b.Insts[j].Addr) })
}

// at returns the index of the instruction at a position of the order by address.
func (b *builder) at(position int) int {
	if b.order == nil {
		return position
	}
	return b.order[position]
}

// find returns the last position of an instruction at addr; false if there is none.
func (b *builder) find(addr uint64) (position int, ok bool) {
	position = sort.Search(len(b.Insts), func(i int) bool { return b.Insts[b.at(i)].Addr > addr }) - 1
	return position, position >= 0 && b.Insts[b.at(position)].Addr == addr
}

func (b *builder) findLeaders(arrivals []uint64) {
	if n := len(b.Insts); n > 0 {
		b.mark(b.Insts[n-1].End(), leader)
	}
	for i := range b.Insts {
		in := &b.Insts[i]
		if i > 0 && b.Insts[i-1].End() != in.Addr { // another run begins
			b.marks[i] |= leader
			b.mark(b.Insts[i-1].End(), leader)
		}
		if in.Kind.Branches() {
			b.mark(in.Target, leader)
			b.mark(in.End(), leader)
		} else if !in.Kind.FallsThrough() {
			b.mark(in.End(), leader)
		}
	}
	for _, at := range arrivals {
		b.mark(at, leader|externalEntry)
	}
}

func (b *builder) mark(addr uint64, m mark) {
	i, ok := b.find(addr)
	for ; ok && i >= 0 && b.Insts[b.at(i)].Addr == addr && b.marks[b.at(i)]&m != m; i-- {
		b.marks[b.at(i)] |= m
	}
}

// follow appends the successors of a block to next.
func (b *builder) follow(next []int, block int) []int {
	behind := b.Blocks[block].Hi
	last := &b.Insts[behind-1]
	if last.Kind.Branches() {
		next = b.appendBlock(next, last.Target)
	}
	switch {
	case !last.Kind.FallsThrough():
	case behind < len(b.Insts) && b.Insts[behind].Addr == last.End():
		next = append(next, block+1)
	default:
		next = b.appendBlock(next, last.End())
	}
	return next
}

// appendBlock appends the block that begins at an address, if one does.
func (b *builder) appendBlock(next []int, addr uint64) []int {
	position, ok := b.find(addr)
	if !ok {
		return next
	}
	i := b.at(position)
	return append(next, sort.Search(len(b.Blocks), func(k int) bool { return b.Blocks[k].Hi > i }))
}
