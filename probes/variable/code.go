package variable

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/tracepredict/tracepredict/probes/code"
	bin "github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/insn"
)

// Code is the code of one file, in which the accesses of variables are looked for.
// What is found out about the file on the way serves the next variable too. It is
// not safe for concurrent use.
type Code struct {
	file     *bin.File // nil: nothing is known of it
	arch     insn.Arch
	arrivals code.Arrivals

	names      map[uint64]string // of functions that are called; nil until asked for
	objects    map[uint64]bool   // where objects of several parts begin; likewise
	entryReads map[uint64]insn.RegSet
	returns    map[uint64]bool    // by a function's beginning: it can return an address
	results    *results           // nil until asked for
	before     code.Solver[state] // of one flow after the other
}

// NewCode returns the code of f. Arrivals reports where jump tables and exceptions
// land; if it is nil, a function that has an indirect jump may be entered anywhere.
func NewCode(f *bin.File, arrivals code.Arrivals) *Code {
	c := &Code{file: f, arrivals: arrivals, entryReads: map[uint64]insn.RegSet{}, returns: map[uint64]bool{}}
	if f != nil {
		c.arch = f.Arch()
	}
	return c
}

// known is the code that the target is looked for in.
func (t *target) known() *Code {
	if t.facts == nil {
		t.facts = NewCode(t.file, nil)
		t.facts.arch = t.arch
	}
	return t.facts
}

// Accesses finds the instructions of f that access v. If v lives in another
// file, those are the ones that go through f's global offset table. It fails
// only if f's code cannot be read; what could not be understood is in the
// result.
func Accesses(f *bin.File, v Variable) (Result, error) { return NewCode(f, nil).Accesses(v) }

// Accesses finds the instructions that access v, as the function of this name does.
func (c *Code) Accesses(v Variable) (Result, error) {
	if v.Size <= 0 || v.File == nil {
		return Result{}, fmt.Errorf("find accesses of %q: not a variable that Find has given", v.Name)
	}
	return newTarget(c, v).accesses()
}

// Query asks for the accesses of a variable.
type Query struct {
	Variable Variable
	In       []bin.Range // the functions to look through, sorted; nil: wherever they are
	Escapes  bool        // where its address leaves for is asked too, which takes most of the time
}

// Answer is what is said to a Query.
type Answer struct {
	Result Result // without Escapes and AddressTaken, where these were not asked for
	Err    error
}

// Direct returns the answers to queries of several variables: each function is decoded
// only once.
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

// through looks through one function for all that is asked of it.
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
}

func (t *target) accesses() (Result, error) {
	functions, err := t.functions()
	if err != nil {
		return Result{}, fmt.Errorf("find accesses of %s: %w", t.v.Name, err)
	}
	c := newCollector(t)
	c.data()
	for _, fn := range functions {
		t.facts.through(fn, []*collector{c})
	}
	return c.result(), c.err
}

// maxFunction bounds the function that is followed, in bytes: what is known at
// each of its instructions and blocks takes a thousand times as much. Of code
// that compilers make, only tables of machine descriptions and the like come
// near.
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

// calleeName names a function of the file that is called directly, "" if it has
// no name.
func (c *Code) calleeName(addr uint64) string {
	if c.names == nil {
		c.names = map[uint64]string{}
		if c.file == nil {
			return ""
		}
		for _, s := range c.file.Symbols() {
			if old := c.names[s.Addr]; s.Addr != 0 && (old == "" || len(s.Name) < len(old)) {
				c.names[s.Addr] = s.Name
			}
		}
		for at, name := range c.file.PLTTargets() {
			c.names[at] = name
		}
	}
	return c.names[addr]
}

// returnsAddress reports whether what a function leaves in the first register
// may be an address. A function that returns nothing, or less than eight bytes,
// leaves there what it last used it for; without debug information nobody
// knows.
func (c *Code) returnsAddress(fn bin.Range) bool {
	may, ok := c.returns[fn.Lo]
	if !ok {
		if c.results == nil {
			c.results = newResults(c.file)
		}
		may = c.results.mayReturnAddress(fn.Lo)
		c.returns[fn.Lo] = may
	}
	return may
}
