package variable

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/tracepredict/tracepredict/internal/safely"
	"github.com/tracepredict/tracepredict/probes/clib"
	"github.com/tracepredict/tracepredict/probes/code"
	bin "github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/insn"
)

// Code is the code of one file, which is searched for accesses of variables. Facts found about the
// file are kept for the next variable. It is not safe for concurrent use.
type Code struct {
	file     *bin.File // nil: nothing is known of the file
	arch     insn.Arch
	arrivals code.Arrivals

	names   map[uint64]string // names of the functions that are called; nil until first used
	objects map[uint64]bool   // where objects of several parts begin; nil until first used
	hooks   []uint64          // results of cloneSlots; nil until first used
	// entryReads are the results of readsAtEntry, by the address of the function.
	entryReads map[uint64]insn.RegSet
	returns    map[uint64]bool    // by a function's address: it may return an address
	results    *results           // nil until first used
	before     code.Solver[state] // reused by one flow after the other
	insts      []insn.Inst        // memory for those of the next function

	whole *Code            // the one that this is a fork of; nil: it is none
	mu    sync.Mutex       // guards returns, results and sizes while there are forks
	sizes map[uint64]int64 // results of ResultSize
}

// NewCode returns the code of f. Arrivals reports where jump tables and exceptions land. If it is
// nil, control may arrive anywhere in a function that contains an indirect jump.
func NewCode(f *bin.File, arrivals code.Arrivals) *Code {
	c := &Code{file: f, arrivals: arrivals, entryReads: map[uint64]insn.RegSet{}, returns: map[uint64]bool{}, sizes: map[uint64]int64{}}
	if f != nil {
		c.arch = f.Arch()
	}
	return c
}

// known returns the code that is searched for the target.
func (t *target) known() *Code {
	if t.facts == nil {
		t.facts = NewCode(t.file, nil)
		t.facts.arch = t.arch
	}
	return t.facts
}

// Accesses returns the instructions of the file that access v. If v is in another file, those are
// the instructions that access it through this file's global offset table. Accesses fails only if
// code cannot be read. The result lists the code that was not understood.
func (c *Code) Accesses(v Variable) (Result, error) {
	if v.Size <= 0 || v.File == nil {
		return Result{}, fmt.Errorf("find accesses of %q: not a variable that Find has given", v.Name)
	}
	return newTarget(c, v).accesses()
}

// Query is a search for the accesses of one variable.
type Query struct {
	Variable Variable
	In       []bin.Range // the functions to search, sorted; nil: all that may mention the variable
	Escapes  bool        // also find where its address escapes to, which takes most of the time
}

// Answer is the result of a Query.
type Answer struct {
	Result Result // without Escapes and AddressTaken if the Query has no Escapes
	Err    error
}

// Direct returns the answers to queries for several variables. Each function is decoded only once.
func (c *Code) Direct(queries []Query) []Answer {
	answers := make([]Answer, len(queries))
	collectors := make([]*collector, len(queries))
	asked := map[bin.Range][]*collector{}
	var functions []bin.Range
	for i, q := range queries {
		t := newTarget(c, q.Variable)
		in, err := q.In, error(nil)
		if in == nil {
			in, err = t.functions()
		}
		if err != nil {
			answers[i].Err = fmt.Errorf("find accesses of %s: %w", q.Variable.Name, err)
			continue
		}
		collectors[i] = newCollector(t)
		if collectors[i].direct = !q.Escapes; q.Escapes {
			collectors[i].data()
		}
		for _, fn := range in {
			if asked[fn] == nil {
				functions = append(functions, fn)
			}
			asked[fn] = append(asked[fn], collectors[i])
		}
	}
	slices.SortFunc(functions, func(a, b bin.Range) int { return cmp.Compare(a.Lo, b.Lo) })
	for _, fn := range functions {
		c.through(fn, asked[fn])
	}
	for i, col := range collectors {
		if col != nil {
			answers[i].Result, answers[i].Err = col.result(), col.err
		}
	}
	return answers
}

// through passes one function to all collectors that search it.
func (c *Code) through(fn bin.Range, asked []*collector) {
	r, err := c.read(fn)
	for _, col := range asked {
		switch {
		case col.err != nil:
		case err != nil:
			col.err = fmt.Errorf("find accesses of %s: %w", col.v.Name, err)
		case r == nil:
			col.out.Undecoded = append(col.out.Undecoded, fn.Lo)
		default:
			col.follow(r)
		}
	}
	if r != nil {
		c.insts = r.Insts[:0]
	}
}

func (t *target) accesses() (Result, error) {
	functions, err := t.functions()
	if err != nil {
		return Result{}, fmt.Errorf("find accesses of %s: %w", t.v.Name, err)
	}
	c := newCollector(t)
	c.data()
	if len(functions) <= group {
		for _, fn := range functions {
			t.facts.through(fn, []*collector{c})
		}
		return c.result(), c.err
	}
	for _, part := range t.parallel(functions) {
		c.add(part)
	}
	return c.result(), c.err
}

// group is the number of functions that one goroutine searches at a time.
const group = 128

// parallel searches functions on all processors. Each result is that of group functions, in their order.
func (t *target) parallel(functions []bin.Range) []*collector {
	t.known().prepare(functions[0])
	groups := slices.Collect(slices.Chunk(functions, group))
	results := make([]*collector, len(groups))
	var next atomic.Int64
	var wg safely.Group
	for range min(runtime.GOMAXPROCS(0), len(groups)) {
		wg.Go(func() {
			own := *t
			own.facts = t.facts.fork()
			for i := int(next.Add(1)) - 1; i < len(groups); i = int(next.Add(1)) - 1 {
				own.indexedAccesses = nil
				c := newCollector(&own)
				for _, fn := range groups[i] {
					own.facts.through(fn, []*collector{c})
				}
				c.found = own.indexedAccesses
				results[i] = c
			}
		})
	}
	wg.Wait()
	return results
}

// prepare computes what forks only read. fn is any function of the file.
func (c *Code) prepare(fn bin.Range) {
	c.begins(0)
	c.calleeName(0)
	c.cloneSlots()
	if c.arrivals != nil {
		c.arrivals(fn)
	}
}

// fork returns the same code for another goroutine; prepare was called before. What takes long to find out is
// found out once for all forks.
func (c *Code) fork() *Code {
	return &Code{file: c.file, arch: c.arch, arrivals: c.arrivals, names: c.names, objects: c.objects, hooks: c.hooks,
		entryReads: map[uint64]insn.RegSet{}, returns: map[uint64]bool{}, whole: c}
}

// maxFunction bounds the size of a function that is followed, in bytes: the states at its
// instructions and blocks take a thousand times as much. In code from compilers, only tables of
// machine descriptions and the like come close to it.
const maxFunction = 1 << 19

// read reads and decodes a function; nil if it is too large.
func (c *Code) read(fn bin.Range) (*routine, error) {
	if fn.Hi-fn.Lo > maxFunction {
		return nil, nil
	}
	bytes, err := c.file.Bytes(fn.Lo, int(fn.Hi-fn.Lo))
	if err != nil {
		return nil, fmt.Errorf("read function at 0x%x of %s: %w", fn.Lo, c.file.Name(), err)
	}
	return c.decode(fn, bytes), nil
}

// begins reports whether an object of more than two words is known to begin at an
// address.
func (c *Code) begins(addr uint64) bool {
	if c.objects == nil {
		c.objects = map[uint64]bool{}
		if c.file != nil {
			for _, s := range c.file.Symbols() {
				if s.Kind == bin.Object && s.Size > 16 {
					c.objects[s.Addr] = true
				}
			}
		}
	}
	return c.objects[addr]
}

// calleeName returns the name of a function that is called directly; "" if it has none, or is the
// file's own, whatever its name.
func (c *Code) calleeName(addr uint64) string {
	if c.names == nil {
		c.names = map[uint64]string{}
		if c.file == nil {
			return ""
		}
		library := clib.Of(c.file)
		for _, s := range c.file.Symbols() {
			if old := c.names[s.Addr]; s.Addr != 0 && (old == "" || len(s.Name) < len(old)) && library.Foreign(s.Name, s.Addr, nil) == "" {
				c.names[s.Addr] = s.Name
			}
		}
		for at, name := range c.file.PLTTargets() {
			c.names[at] = name
		}
	}
	return c.names[addr]
}

// returnsAddress reports whether the value that a function leaves in the result register may be an
// address. A function that returns nothing, or less than eight bytes, leaves a leftover value
// there. Without debug information the result is true.
func (c *Code) returnsAddress(fn bin.Range) bool {
	may, ok := c.returns[fn.Lo]
	switch {
	case ok:
		return may
	case c.whole != nil:
		c.whole.mu.Lock()
		defer c.whole.mu.Unlock()
		may = c.whole.returnsAddress(fn)
	default:
		may = c.resultTypes().mayReturnAddress(fn.Lo)
	}
	c.returns[fn.Lo] = may
	return may
}

func (c *Code) resultTypes() *results {
	if c.results == nil {
		c.results = newResults(c.file)
	}
	return c.results
}

// ResultSize returns the size in bytes of the result of the function that begins at an address, 0 for
// void; -1 if it is not known. Several goroutines may call it.
func (c *Code) ResultSize(entry uint64) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	size, ok := c.sizes[entry]
	if !ok {
		size = c.resultTypes().size(entry)
		c.sizes[entry] = size
	}
	return size
}
