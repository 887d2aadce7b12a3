package symbolize

import (
	"cmp"
	"debug/dwarf"
	"errors"
	"fmt"
	"io"
	"slices"
	"sort"
	"strings"

	dw "github.com/tracepredict/tracepredict/probes/dwarf"
)

// parsedUnit is a parsed compilation unit. There may be thousands, so the elements of its slices
// are small: they have no pointers, and no slices of their own.
type parsedUnit struct {
	files      []string   // file names by the line table's numbers, for call sites
	rowFiles   []string   // file names by row.file
	rows       []row      // rows of the sequences, one sequence after the other
	sequences  []sequence // sorted by lo
	calls      []call     // functions, each followed by the calls that are inlined into it
	ranges     [][2]uint64
	pieces     []piece                       // ranges of functions, sorted by lo
	names      map[dwarf.Offset]linked       // linked names that have been looked up, by call.entry
	around     map[dwarf.Offset]dwarf.Offset // by a function that is in a class in a function: the outer function
	lastLookup int                           // the value of debugInfo.lookups at the latest look-up
}

// linked is a function's linked name. plain means that name is only the name in the source, because
// the DIE has no other.
type linked struct {
	name     string
	plain    bool
	declared int          // the line of its definition; 0 if unknown
	source   string       // the source's name
	named    dwarf.Offset // the DIE that has the source's name
}

// row is a row of the line table: an address at which a line starts.
type row struct {
	addr uint64
	file int32 // in rowFiles; -1: none
	line int32
}

// sequence is a run of rows of ascending addresses, [lo, hi).
type sequence struct {
	lo, hi      uint64
	first, last int // rows[first:last]
}

// call is a function, or a call that is inlined into one.
type call struct {
	entry       dwarf.Offset
	first, last int32 // ranges[first:last]
	parent      int32 // index in calls of the caller; -1: this is a function
	end         int32 // index in calls just after the last call that is inlined into it, directly or not
	file        int32 // source file of the call, in files; -1: unknown
	line        int32
}

// piece is a range of a function's addresses.
type piece struct {
	lo, hi uint64
	call   int32
}

// maxTableRows bounds the number of rows of one table; a browser's largest has some hundred
// thousand.
const maxTableRows = 1 << 24

// readLines reads the line table.
func (p *parsedUnit) readLines(d *debugInfo, root *dwarf.Entry) (err error) {
	defer recoverError(&err)
	r, err := dw.Of(d.file).LineReader(root)
	if err != nil || r == nil {
		return wrap("line table", err)
	}
	p.rows = d.rowBuffer
	defer p.finishLines(d)
	numbers := map[*dwarf.LineFile]int32{}
	var e dwarf.LineEntry
	for first, n := 0, 0; ; n++ {
		if err := r.Next(&e); err != nil {
			p.keepFiles(r)
			if errors.Is(err, io.EOF) {
				return nil
			}
			return wrap("line table", err)
		}
		if e.EndSequence {
			p.endSequence(d, first, e.Address)
			first = len(p.rows)
			continue
		}
		if n == d.maxRows {
			p.keepFiles(r)
			return fmt.Errorf("line table: more than %d lines", d.maxRows)
		}
		p.rows = append(p.rows, row{e.Address, p.number(numbers, e.File), int32(min(max(e.Line, 0), 1<<30))})
	}
}

func wrap(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}

// number returns the index in rowFiles of a file; -1 is none. The line table's own numbers can
// change while it is read.
func (p *parsedUnit) number(numbers map[*dwarf.LineFile]int32, f *dwarf.LineFile) int32 {
	if f == nil {
		return -1
	}
	n, ok := numbers[f]
	if !ok {
		n = int32(len(p.rowFiles))
		p.rowFiles = append(p.rowFiles, f.Name)
		numbers[f] = n
	}
	return n
}

// keepFiles copies the names of the table's files, by the table's own numbers, for call sites.
func (p *parsedUnit) keepFiles(r *dwarf.LineReader) {
	for _, f := range r.Files() {
		name := ""
		if f != nil {
			name = f.Name
		}
		p.files = append(p.files, name)
	}
}

func (p *parsedUnit) endSequence(d *debugInfo, first int, end uint64) {
	rows := p.rows[first:]
	if len(rows) == 0 {
		return
	}
	if !d.spans.InText(rows[0].addr, end) {
		p.rows = p.rows[:first]
		return
	}
	byAddr := func(a, b row) int { return cmp.Compare(a.addr, b.addr) }
	if !slices.IsSortedFunc(rows, byAddr) {
		slices.SortStableFunc(rows, byAddr)
	}
	rows = distinct(rows)
	p.rows = p.rows[:first+len(rows)]
	p.sequences = append(p.sequences, sequence{rows[0].addr, end, first, len(p.rows)})
}

// distinct removes sorted rows without new information, in place. Of several rows with one address
// the last one counts, and compilers start a line again for reasons that only a debugger needs.
func distinct(rows []row) []row {
	out := rows[:1]
	for _, r := range rows[1:] {
		last := &out[len(out)-1]
		switch {
		case r.addr == last.addr:
			*last = r
		case r.file != last.file || r.line != last.line:
			out = append(out, r)
		}
	}
	return out
}

// maxScratch bounds the capacity, in rows, of the buffer into which line tables are read one after
// the other.
const maxScratch = 1 << 20

// finishLines copies the rows to memory of their exact size, and keeps the buffer for the next
// unit.
func (p *parsedUnit) finishLines(d *debugInfo) {
	d.rowBuffer = nil
	if cap(p.rows) <= maxScratch {
		d.rowBuffer = p.rows[:0]
	}
	p.rows = slices.Clone(p.rows)
	p.sortSequences()
}

func (p *parsedUnit) sortSequences() {
	slices.SortStableFunc(p.sequences, func(a, b sequence) int { return cmp.Compare(a.lo, b.lo) })
}

// lineAt returns the source location of the last row that starts at or before addr, in a sequence
// that contains addr.
func (p *parsedUnit) lineAt(addr uint64) (file string, line int, ok bool) {
	i := sort.Search(len(p.sequences), func(i int) bool { return p.sequences[i].lo > addr })
	for n := 0; i > 0 && n < maxOverlap; n++ {
		i--
		s := p.sequences[i]
		if addr >= s.hi {
			continue
		}
		rows := p.rows[s.first:s.last]
		k := sort.Search(len(rows), func(k int) bool { return rows[k].addr > addr })
		if k == 0 {
			continue
		}
		r := rows[k-1]
		if r.file >= 0 {
			file = p.rowFiles[r.file]
		}
		return file, int(r.line), true
	}
	return "", 0, false
}

// readFunctions reads the functions and inlined calls from the unit's DIEs.
func (p *parsedUnit) readFunctions(d *debugInfo, u dw.Unit) (err error) {
	defer recoverError(&err)
	defer p.finishFunctions()
	s := d.skimmer(u)
	if s == nil {
		return errors.New("functions: the unit's header makes no sense")
	}
	at := d.data.Reader()
	r := dw.NewEntries(at, int(u.End-u.Entry))
	left := maxRanges
	parents := []int32{}      // the enclosing call at each depth; -1: none
	outer := []dwarf.Offset{} // the enclosing function at each depth; 0: none
	for {
		e, ok := s.Next()
		switch {
		case s.Failed():
			return fmt.Errorf("functions: entry 0x%x is damaged", e.Offset)
		case !ok:
			return nil
		case e.Tag == 0:
			if len(parents) <= 1 {
				return nil
			}
			parents, outer = parents[:len(parents)-1], outer[:len(outer)-1]
			continue
		}
		self, scope := int32(-1), dwarf.Offset(0)
		if len(parents) > 0 {
			scope = p.enter(e, outer[len(outer)-1])
			if self, err = p.visit(d, r, at, e, parents[len(parents)-1], &left); err != nil {
				return wrap("functions", err)
			}
		}
		if e.Children && !(codeless(e, scope != 0) && s.SkipChildren(e)) {
			parents, outer = append(parents, self), append(outer, scope)
		} else if len(parents) == 0 {
			return nil
		}
	}
}

// skimmer returns a walk over a unit; nil if its header is invalid.
func (d *debugInfo) skimmer(u dw.Unit) *dw.Skimmer {
	at, read := dw.AbbreviationsOf(d.abbrev, u)
	if read == nil {
		return nil
	}
	abbreviations, known := d.abbreviations[at]
	if !known {
		abbreviations = read()
		d.abbreviations[at] = abbreviations
	}
	return dw.NewSkimmer(d.info, u, abbreviations)
}

// enter returns the function that encloses the children of a DIE. It records the function around
// that one, if there is one: the operator() of a lambda is in a class in a function.
func (p *parsedUnit) enter(e dw.Skimmed, outer dwarf.Offset) dwarf.Offset {
	if e.Tag != dwarf.TagSubprogram {
		return outer
	}
	if outer != 0 {
		if p.around == nil {
			p.around = map[dwarf.Offset]dwarf.Offset{}
		}
		p.around[e.Offset] = outer
	}
	return e.Offset
}

// codeless reports whether no code is described below a DIE. That holds for types, which are most
// of the DIEs of C++ programs, and for functions that are only declared. Only structures and
// classes in a function may have code: GCC describes that of a lambda there.
func codeless(e dw.Skimmed, inFunction bool) bool {
	switch e.Tag {
	case dwarf.TagStructType, dwarf.TagClassType:
		return !inFunction
	case dwarf.TagUnionType, dwarf.TagEnumerationType, dwarf.TagArrayType, dwarf.TagSubroutineType:
		return true
	case dwarf.TagSubprogram:
		return e.Declared
	}
	return false
}

// visit returns the call that encloses the children of a DIE. If the DIE is a function or an
// inlined call, that is the DIE itself, which visit reads.
func (p *parsedUnit) visit(d *debugInfo, r *dw.Entries, at *dwarf.Reader, sk dw.Skimmed, parent int32, left *int) (int32, error) {
	switch sk.Tag {
	case dwarf.TagSubprogram:
		parent = -1
	case dwarf.TagInlinedSubroutine:
	default:
		return parent, nil
	}
	if *left <= 0 {
		return parent, nil
	}
	at.Seek(sk.Offset)
	e, err := r.Next()
	if err != nil || e == nil {
		return -1, err
	}
	ranges, err := d.data.Ranges(e)
	*left -= len(ranges) + 1
	if err != nil || len(ranges) == 0 || sk.Tag == dwarf.TagInlinedSubroutine && parent < 0 {
		return -1, nil
	}
	n, first := int32(len(p.calls)), int32(len(p.ranges))
	c := call{entry: e.Offset, first: first, last: first + int32(len(ranges)), parent: parent, end: n + 1, file: -1}
	if sk.Tag == dwarf.TagInlinedSubroutine {
		c.file, c.line = p.callSite(e)
	} else {
		p.addPieces(d, ranges, n)
	}
	p.ranges = append(p.ranges, ranges...)
	p.calls = append(p.calls, c)
	return n, nil
}

func (p *parsedUnit) callSite(e *dwarf.Entry) (file, line int32) {
	file = -1
	if n, ok := e.Val(dwarf.AttrCallFile).(int64); ok && n >= 0 && n < int64(len(p.files)) {
		file = int32(n)
	}
	if n, ok := e.Val(dwarf.AttrCallLine).(int64); ok && n > 0 && n < 1<<31 {
		line = int32(n)
	}
	return file, line
}

func (p *parsedUnit) addPieces(d *debugInfo, ranges [][2]uint64, n int32) {
	for _, r := range ranges {
		if d.spans.InText(r[0], r[1]) {
			p.pieces = append(p.pieces, piece{r[0], r[1], n})
		}
	}
}

// finishFunctions prepares the functions for searches.
func (p *parsedUnit) finishFunctions() {
	p.calls, p.ranges, p.pieces = slices.Clone(p.calls), slices.Clone(p.ranges), slices.Clone(p.pieces)
	for i := len(p.calls) - 1; i >= 0; i-- { // inlined calls come after their callers
		if c := &p.calls[i]; c.parent >= 0 {
			outer := &p.calls[c.parent]
			outer.end = max(outer.end, c.end)
		}
	}
	slices.SortStableFunc(p.pieces, func(a, b piece) int { return cmp.Compare(a.lo, b.lo) })
}

// size returns the approximate number of bytes that the unit takes.
func (p *parsedUnit) size() int {
	return 1024 + 64*(len(p.files)+len(p.rowFiles)) + 16*len(p.rows) + 32*(len(p.sequences)+len(p.calls)) + 16*len(p.ranges) + 24*len(p.pieces)
}

// frames returns the functions at addr, innermost first. A frame's line is that of the call inlined
// into it; the innermost frame's line is that of the line table. If no function contains addr, the
// only frame has no name.
func (p *parsedUnit) frames(d *debugInfo, addr uint64) []debugFrame {
	file, line, hasLine := p.lineAt(addr)
	chain, start := p.chain(addr)
	if len(chain) == 0 {
		if !hasLine {
			return nil
		}
		return []debugFrame{{file: file, line: line, start: addr}}
	}
	out := make([]debugFrame, 0, len(chain))
	for i := len(chain) - 1; i >= 0; i-- {
		c := &p.calls[chain[i]]
		n := p.linked(d, c.entry)
		out = append(out, debugFrame{linkage: n.name, plain: n.plain, file: file, line: line, start: start, declared: n.declared})
		file, line = "", int(c.line)
		if c.file >= 0 {
			file = p.files[c.file]
		}
	}
	return out
}

// chain returns the function that contains addr and the calls inlined there, outermost first, and
// the start of the function's piece.
func (p *parsedUnit) chain(addr uint64) (chain []int32, start uint64) {
	i := sort.Search(len(p.pieces), func(i int) bool { return p.pieces[i].lo > addr })
	for n := 0; i > 0 && n < maxOverlap; n++ {
		i--
		if s := p.pieces[i]; addr < s.hi {
			return p.descend(s.call, addr), s.lo
		}
	}
	return nil, 0
}

// descend returns the call with index at and, below it, the calls that are inlined at addr.
// Children come after their parents in calls, so this ends.
func (p *parsedUnit) descend(at int32, addr uint64) []int32 {
	chain := []int32{at}
	for {
		next := int32(-1)
		for k := at + 1; k < p.calls[at].end; k = p.calls[k].end {
			if c := &p.calls[k]; c.parent == at && covers(p.ranges[c.first:c.last], addr) {
				next = k
				break
			}
		}
		if next < 0 {
			return chain
		}
		chain, at = append(chain, next), next
	}
}

func covers(ranges [][2]uint64, addr uint64) bool {
	for _, r := range ranges {
		if r[0] <= addr && addr < r[1] {
			return true
		}
	}
	return false
}

// linked returns the linked name of the function of an entry.
func (p *parsedUnit) linked(d *debugInfo, entry dwarf.Offset) linked {
	n, known := p.names[entry]
	if !known {
		n = d.linkage(entry)
		if n.isLambda() {
			n = p.lambda(d, n)
		}
		if p.names == nil {
			p.names = map[dwarf.Offset]linked{}
		}
		p.names[entry] = n
	}
	return n
}

// isLambda reports whether the function is that of a lambda: for no other function is the line of
// the definition unknown.
func (n linked) isLambda() bool { return n.source == "operator()" && n.declared == 0 }

// lambda completes the function of a lambda, whose DIE has the name operator() and maybe a linked
// name. It adds the line on which the enclosing function begins, of which the lambda is part, and,
// if there is no linked name, a name made of the enclosing function's.
func (p *parsedUnit) lambda(d *debugInfo, n linked) linked {
	outer, name := n, ""
	for range maxOrigins { // a lambda may be in a lambda
		at, ok := p.around[outer.named]
		if !ok {
			return n
		}
		outer, name = d.linkage(at), "::{lambda}::operator()"+name
		if !outer.isLambda() {
			break
		}
	}
	n.declared = outer.declared
	if n.plain {
		n.name = strings.TrimSuffix(demangled(outer.name), " const") + name
	}
	return n
}

// maxOrigins bounds a chain of references between DIEs; in practice such chains are at most two
// long, and in a damaged file they can be circular.
const maxOrigins = 8

// attrMIPSLinkageName is the attribute for linked names that compilers wrote before DWARF 4.
const attrMIPSLinkageName dwarf.Attr = 0x2007

// linkage returns the linked name of a function's DIE, or of the DIE that it refers to; its plain
// name if there is no other, "" if there is none. n.declared is the line in the nearest of these
// DIEs that has one.
func (d *debugInfo) linkage(at dwarf.Offset) (n linked) {
	defer func() { _ = recover() }() // a damaged reference: return the name found so far
	n.plain = true
	r := d.data.Reader()
	for range maxOrigins {
		r.Seek(at)
		e, err := r.Next()
		if err != nil || e == nil {
			return n
		}
		if line, ok := e.Val(dwarf.AttrDeclLine).(int64); ok && n.declared == 0 && line > 0 && line < 1<<31 {
			n.declared = int(line)
		}
		if s, ok := e.Val(dwarf.AttrName).(string); ok && n.source == "" {
			n.name, n.source, n.named = s, s, at
		}
		for _, a := range []dwarf.Attr{dwarf.AttrLinkageName, attrMIPSLinkageName} {
			if s, ok := e.Val(a).(string); ok && s != "" {
				n.name, n.plain = s, false
				return n
			}
		}
		next, ok := e.Val(dwarf.AttrAbstractOrigin).(dwarf.Offset)
		if !ok {
			next, ok = e.Val(dwarf.AttrSpecification).(dwarf.Offset)
		}
		if !ok {
			return n
		}
		at = next
	}
	return n
}
