package bpf

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/tracepredict/tracepredict/internal/testtool"
)

// buildRules compiles the rules of the BPF programs for an ordinary process, and returns the program.
func buildRules(t testing.TB) string {
	t.Helper()
	testtool.Need(t, "gcc")
	program := filepath.Join(t.TempDir(), "rules")
	out, err := exec.Command("gcc", "-O1", "-g", "-Wall", "-Werror", "-Wno-attributes", "-Wno-unknown-pragmas", "-Wno-unused-function",
		"-Itestdata/rules/include", "-o", program, "testdata/rules/rules.c").CombinedOutput()
	if err != nil {
		t.Fatalf("gcc: %v\n%s", err, out)
	}
	return program
}

// An operation is a line of rules.c, and what it means to the model. It returns what the program returns, where
// that matters.
type operation struct {
	line  string
	apply func(m *model) int
}

// answer is what an operation leads to.
type answer struct {
	records []Record
	tally   string
	state   string // the result, and the counters
}

// setting is how large the table of words is, as a power of two, and how many accesses of an array are recorded.
type setting struct {
	wordBits int
	enough   uint32
}

// run has the rules handle operations.
func (s setting) run(t testing.TB, program string, ops []operation) []answer {
	t.Helper()
	var in, stderr bytes.Buffer
	for _, op := range ops {
		in.WriteString(op.line + "\n")
	}
	cmd := exec.Command(program, fmt.Sprint(s.wordBits), fmt.Sprint(s.enough))
	cmd.Stdin, cmd.Stderr = &in, &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("rules: %v\n%s", err, &stderr)
	}
	answers := make([]answer, 1, len(ops)+1)
	for line := range strings.Lines(string(out)) {
		now := &answers[len(answers)-1]
		kind, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch kind {
		case "record":
			now.records = append(now.records, decode(t, rest))
		case "tally":
			now.tally = rest
		case "done":
			now.state = rest
			answers = append(answers, answer{})
		default:
			t.Fatalf("rules: %q", line)
		}
	}
	if n := len(answers) - 1; n != len(ops) {
		t.Fatalf("%d answers, want %d", n, len(ops))
	}
	return answers[:len(ops)]
}

// decode returns a record, whose bytes are two digits each, without its time.
func decode(t testing.TB, digits string) (r Record) {
	t.Helper()
	b, err := hex.DecodeString(digits)
	if err == nil {
		err = binary.Read(bytes.NewReader(b), binary.LittleEndian, &r)
	}
	if err != nil {
		t.Fatal(err)
	}
	r.Time, r.Number = 0, 0
	return r
}

// model has the model handle operations.
func (s setting) model(ops []operation) []answer {
	m := newModel(s.wordBits, s.enough)
	answers := make([]answer, len(ops))
	for i, op := range ops {
		m.now, m.out, m.tally = uint64(i+1), nil, ""
		result := op.apply(m)
		answers[i] = answer{m.out, m.tally, fmt.Sprint(result, m.own, m.full, number(m.joined), number(m.mixed))}
	}
	return answers
}

func number(b bool) int {
	if b {
		return 1
	}
	return 0
}

// differ returns at which operation the rules and the model first answer otherwise, and how; -1 if they agree.
func (s setting) differ(t testing.TB, program string, ops []operation) (at int, how string) {
	t.Helper()
	have, want := s.run(t, program, ops), s.model(ops)
	for i := range ops {
		h, w := fmt.Sprintf("%+v", have[i]), fmt.Sprintf("%+v", want[i])
		if h != w {
			return i, fmt.Sprintf("have %s\n want %s", h, w)
		}
	}
	return -1, ""
}

// compareRules has the rules and the model handle operations, and compares what they answer to each. If they
// differ, it shows the operations without which they would not.
func (s setting) compareRules(t testing.TB, program string, ops []operation) bool {
	t.Helper()
	at, how := s.differ(t, program, ops)
	if at < 0 {
		return true
	}
	ops = ops[:at+1]
	for size := len(ops) / 2; size > 0; size /= 2 {
		for i := 0; i+size < len(ops); {
			less := slices.Concat(ops[:i], ops[i+size:])
			if strings.HasPrefix(ops[i].line, "site ") {
				i++
			} else if end, h := s.differ(t, program, less); end >= 0 {
				ops, how = less[:end+1], h
			} else {
				i += size
			}
		}
	}
	var all strings.Builder
	for _, op := range ops {
		if !strings.HasPrefix(op.line, "site ") {
			all.WriteString(op.line + "\n")
		}
	}
	t.Errorf("%+v:\n%s %s", s, all.String(), how)
	return false
}

// siteLine is the operation that says what a probe observes.
func siteLine(index uint32, site Site) operation {
	b := unsafe.Slice((*byte)(unsafe.Pointer(&site)), unsafe.Sizeof(site))
	return operation{fmt.Sprintf("site %d %x", index, b), func(m *model) int { m.sites[index] = site; return 0 }}
}

func hitLine(program string, at where, cookie, sp uint64, r [4]uint64) string {
	return fmt.Sprintf("hit %s %d %d %d %d %d %d %d %d", program, at.tgid, at.tid, cookie, sp, r[0], r[1], r[2], r[3])
}

// The registers in which sites of these tests have what they name.
const (
	resultReg = iota
	objectReg
	valueReg
	extraReg
)

// pointerHit is an access through a pointer at an address.
func pointerHit(at where, index uint32, addr, sp, value, extra uint64) operation {
	return operation{hitLine("p", at, uint64(index), sp, [4]uint64{objectReg: addr, valueReg: value, extraReg: extra}), func(m *model) int {
		site := m.sites[index]
		a := access{where: at, index: index, site: site, at: addr, sp: sp, value: value}
		if site.Access.Extra != 0 {
			a.extra = extra
		}
		if Reach(site.Access.Reach) == ReachRange {
			m.ranges(a, uint64(site.Access.Span)*extra)
		} else {
			m.spans(a)
		}
		return 0
	}}
}

// sharedHit is an access of a variable that the user did not name, by a link of a generation.
func sharedHit(at where, index uint32, generation, addr, sp, value uint64) operation {
	cookie := generation*CookieGeneration + uint64(index)
	return operation{hitLine("s", at, cookie, sp, [4]uint64{objectReg: addr, valueReg: value}), func(m *model) int {
		m.unnamed(sharedAccess{at, cookie, index, m.sites[index], addr, value, sp})
		return 0
	}}
}

// namedHit is an access of a variable that the user named.
func namedHit(at where, index uint32, addr, sp, value, extra uint64) operation {
	return operation{hitLine("n", at, uint64(index), sp, [4]uint64{objectReg: addr, valueReg: value, extraReg: extra}), func(m *model) int {
		if m.sites[index].Access.Extra == 0 {
			extra = 0
		}
		m.named(sharedAccess{at, 0, index, m.sites[index], addr, value, sp}, extra)
		return 0
	}}
}

// callHit is the entry of a function that synchronises, or what it has done.
func callHit(at where, index uint32, object, sp, second uint64, result int64) operation {
	return operation{hitLine("n", at, uint64(index), sp, [4]uint64{uint64(result), object, second, 0}), func(m *model) int {
		c := call{at, index, m.sites[index], sp, object, second}
		if Action(c.site.Action) == ActionOutcome {
			m.outcome(c, result)
		} else {
			m.enters(c)
		}
		return 0
	}}
}

func returnHit(at where, sp uint64, result int64) operation {
	return operation{hitLine("r", at, 0, sp, [4]uint64{resultReg: uint64(result)}), func(m *model) int { m.returned(at, sp, result); return 0 }}
}

func freeLine(tgid uint32, addr, size uint64, by uint32) operation {
	return operation{fmt.Sprintf("free %d %d %d %d", tgid, addr, size, by), func(m *model) int { return m.freed(tgid, addr, size, by) }}
}

func exitLine(at where, live int, pointer uint64) operation {
	return operation{fmt.Sprintf("exit %d %d %d %d", at.tgid, at.tid, live, pointer), func(m *model) int { m.exits(at, live, pointer); return 0 }}
}

func execLine(at where) operation {
	return operation{fmt.Sprintf("exec %d %d", at.tgid, at.tid), func(m *model) int { m.executes(at); return 0 }}
}

func tableLine(table int, fresh bool) operation {
	return operation{fmt.Sprintf("table %d %d", table, map[bool]int{true: 1}[fresh]), func(m *model) int { m.useTable(table, fresh); return 0 }}
}

func secondLine() operation {
	return operation{"second", func(m *model) int { m.crowded = true; return 0 }}
}

func tallyLine(index uint32) operation {
	return operation{fmt.Sprintf("tally %d", index), func(m *model) int {
		v := m.variable(index)
		m.tally = fmt.Sprint(v.hits, v.crowd, v.owner, v.shared, v.recorded)
		return 0
	}}
}

// limitLine makes a variable one that is watched no more by probes that were hit more often than a limit.
func limitLine(index uint32, limit uint8) operation {
	return operation{fmt.Sprintf("limit %d %d", index, limit), func(m *model) int { m.variable(index).limit = uint64(limit); return 0 }}
}

// The sites of random runs, by what they are of.
type siteTable struct {
	pointers, ranges, unnamed, arrays, named, calls, outcomes []uint32
	sites                                                     []Site // the first is none
}

func (s *siteTable) add(list *[]uint32, site Site) {
	site.ObjectFrom, site.ObjectReg = uint8(FromReg), objectReg
	if Op(site.Op) >= OpRead && Op(site.Op) <= OpUpdate && site.Access.Width != 0 {
		site.Access.ValueFrom, site.Access.ValueReg = uint8(FromReg), valueReg
	}
	*list = append(*list, uint32(len(s.sites)))
	s.sites = append(s.sites, site)
}

// variableAt returns the address of a variable of random runs: among the memory that is accessed through
// pointers, each four bytes from the one before.
func variableAt(i uint32) uint64 { return memory + 4*uint64(i) }

const (
	memory    = 0x7f0000010000 // of random runs
	stackTop  = 0x7f0000020000 // thread pointer of the first of these threads
	stackSize = 0x400
	variables = 10
)

func newSiteTable() *siteTable {
	s := &siteTable{sites: make([]Site, 1)}
	for _, op := range []Op{OpRead, OpWrite, OpUpdate} {
		for _, span := range []uint32{1, 2, 4, 8, 32} {
			width := uint8(0)
			if span <= 8 {
				width = uint8(span)
			}
			s.add(&s.pointers, Site{Op: uint8(op), Access: AccessSite{Span: span, Width: width}})
			if span == 4 || span == 8 {
				s.add(&s.pointers, Site{Op: uint8(op), Flags: SiteOrders, Access: AccessSite{Span: span, Width: width, Extra: 1 + extraReg}})
				s.add(&s.pointers, Site{Op: uint8(op), Flags: SiteOrders | SiteSpin, Access: AccessSite{Span: span, Width: width, Extra: 1 + extraReg}})
			}
		}
		s.add(&s.ranges, Site{Op: uint8(op), Access: AccessSite{Span: 1, Times: 1 + extraReg, Reach: uint8(ReachRange)}})
		for v := range uint32(variables) {
			s.add(&s.unnamed, Site{Op: uint8(op), Access: AccessSite{Watched: v, Width: 4}})
		}
		s.add(&s.unnamed, Site{Op: uint8(op), Flags: SiteOrders, Access: AccessSite{Watched: variables - 1, Width: 4}})
		s.add(&s.arrays, Site{Op: uint8(op), Access: AccessSite{Watched: variables, Width: 4, Reach: uint8(ReachSharedArray), Home: memory, Span: 64}})
		for _, flags := range []uint8{0, SiteSpin, SiteSpin | SiteOrders} {
			s.add(&s.named, Site{Op: uint8(op), Flags: flags, Access: AccessSite{Width: 8}})
			s.add(&s.named, Site{Op: uint8(op), Flags: flags, Access: AccessSite{Width: 4, Extra: 1 + extraReg}})
		}
	}
	s.addCalls()
	return s
}

// addCalls adds the sites of calls that synchronise.
func (s *siteTable) addCalls() {
	function := uint64(0)
	add := func(list *[]uint32, op Op, action Action, flags uint8, success Success) {
		function++
		site := Site{Op: uint8(op), Action: uint8(action), Flags: flags}
		*site.Sync() = SyncSite{SecondFrom: uint8(FromReg), SecondReg: valueReg, Success: uint8(success), Function: function / 2, ResultFrom: uint8(FromReg)}
		s.add(list, site)
	}
	for _, op := range []Op{OpAcquire, OpAcquireRead} {
		for _, success := range []Success{SuccessZero, SuccessNonzero, SuccessTrue8} {
			add(&s.calls, op, ActionSave, SiteLeaf, success)
			add(&s.calls, op, ActionSave, 0, success)
			add(&s.outcomes, op, ActionOutcome, 0, success)
		}
	}
	for _, flags := range []uint8{SiteNoStack, SiteNoStack, SiteNoStack, 0} {
		add(&s.calls, OpRelease, ActionEmit, flags, SuccessAlways)
	}
	add(&s.calls, OpBarrier, ActionBoth, 0, SuccessBarrier)
	add(&s.calls, OpWait, ActionBoth, SiteLeaf, SuccessZero)
	add(&s.calls, OpSemWait, ActionSave, 0, SuccessZero)
	add(&s.calls, OpJoin, ActionSave, 0, SuccessZero)
}

func (s *siteTable) lines() (ops []operation) {
	for i, site := range s.sites {
		ops = append(ops, siteLine(uint32(i), site))
	}
	return ops
}

// choices draws numbers below n, from random ones or from the bytes of a fuzzer.
type choices func(n int) int

func one[T any](draw choices, list []T) T { return list[draw(len(list))] }

// Two processes; two threads of the first one have the same place.
var (
	everyone = []where{{100, 100}, {100, 101}, {100, 102}, {100, 101 + slots}, {200, 200}, {200, 201}}
)

// address draws one of the few words that random runs access, or one of the stack of a thread.
func address(draw choices) uint64 {
	switch draw(8) {
	case 0:
		return stackTop - stackSize + uint64(draw(stackSize))
	case 1:
		return memory + 4096*uint64(draw(4)) + uint64(draw(16))
	}
	return memory + uint64(draw(64))
}

// few returns the table with a few of its sites of each kind: runs then come back to them.
func (s *siteTable) few(draw choices) *siteTable {
	some := func(list []uint32, n int) (few []uint32) {
		for range n {
			few = append(few, one(draw, list))
		}
		return few
	}
	return &siteTable{some(s.pointers, 6), some(s.ranges, 1), some(s.unnamed, 5), some(s.arrays, 1), some(s.named, 4), some(s.calls, 6), some(s.outcomes, 2), s.sites}
}

// focus is how often a run has operations of each kind.
type focus struct{ pointers, ranges, unnamed, arrays, named, calls, ends int }

var focuses = []focus{
	{pointers: 40, ranges: 5, unnamed: 20, arrays: 3, named: 8, calls: 16, ends: 8},
	{pointers: 80, ranges: 5, unnamed: 10, arrays: 1, named: 1, calls: 1, ends: 2},
	{pointers: 5, unnamed: 80, arrays: 5, named: 2, calls: 3, ends: 5},
	{calls: 95, ends: 5},
	{pointers: 10, unnamed: 3, named: 80, calls: 5, ends: 2},
}

// randomOperation draws an operation of a run. As in real programs, most accesses are of few words by few
// threads.
func randomOperation(draw choices, s *siteTable, f focus) operation {
	at := one(draw, everyone)
	if draw(3) > 0 {
		at = everyone[draw(2)]
	}
	sp := uint64(stackTop - stackSize + 8*draw(stackSize/8))
	value := uint64(draw(2))
	n := draw(100)
	is := func(share int) bool {
		n -= share
		return n < 0
	}
	switch {
	case is(f.pointers):
		return pointerHit(at, one(draw, s.pointers), address(draw), sp, value, uint64(draw(3)))
	case is(f.ranges):
		return pointerHit(at, one(draw, s.ranges), address(draw), sp, 0, uint64(one(draw, []int{0, 1, 7, 8, 20, 64, 2000, 5000})))
	case is(f.unnamed):
		i := one(draw, s.unnamed)
		return sharedHit(at, i, uint64(draw(2)), variableAt(s.sites[i].Access.Watched)+one(draw, []uint64{0, 0, 0, 0, 0, 1, 2, 3}), sp, value)
	case is(f.arrays):
		return sharedHit(at, one(draw, s.arrays), 0, memory+4*uint64(draw(16)), sp, value)
	case is(f.named):
		return namedHit(at, one(draw, s.named), variableAt(uint32(draw(variables))), sp, value, uint64(draw(2)))
	case is(f.calls):
		return randomCall(draw, s, at)
	}
	return randomEnd(draw, at)
}

func randomCall(draw choices, s *siteTable, at where) operation {
	object := memory + 8*uint64(draw(3))
	sp := uint64(stackTop - stackSize + 256*draw(4) + 8*draw(2))
	result := one(draw, []int64{0, 0, 0, 1, 130, -1, 256})
	switch n := draw(8); {
	case n < 4:
		return callHit(at, one(draw, s.calls), object, sp, uint64(draw(2)), 0)
	case n < 7:
		return returnHit(at, sp, result)
	}
	return callHit(at, one(draw, s.outcomes), object, sp, uint64(draw(2)), result)
}

func randomEnd(draw choices, at where) operation {
	switch n := draw(8); {
	case n < 3:
		return freeLine(at.tgid, address(draw), uint64(one(draw, []int{0, 1, 8, 64, 4096, 1 << 20})), one(draw, []uint32{0, at.tid}))
	case n < 5:
		return tallyLine(uint32(draw(variables + 1)))
	case n < 6:
		return exitLine(at, draw(3), stackTop)
	case n < 7:
		return limitLine(one(draw, []uint32{0, 1, 2, variables}), uint8(draw(4)))
	}
	switch draw(4) {
	case 0:
		return execLine(at)
	case 1:
		return tableLine(draw(WordTables), draw(2) == 0)
	}
	return secondLine()
}

func randomRun(draw choices, s *siteTable, n int) []operation {
	ops := s.lines()
	if draw(8) > 0 {
		ops = append(ops, secondLine())
	}
	few, f := s.few(draw), one(draw, focuses)
	for range n {
		ops = append(ops, randomOperation(draw, few, f))
	}
	return ops
}

// TestRules compares the rules by which accesses and calls become records with a model of them, on random
// runs. The rules are the BPF programs' own source, compiled for an ordinary process.
func TestRules(t *testing.T) {
	program, table := buildRules(t), newSiteTable()
	for i := range testtool.Cases(50, 300, 20000) {
		r := rand.New(rand.NewPCG(uint64(i), 0))
		s := setting{wordBits: []int{2, 4, 6, 14}[i%4], enough: []uint32{0, 5}[i/4%2]}
		if !s.compareRules(t, program, randomRun(r.IntN, table, 400)) {
			t.Fatalf("the run is that of seed %d", i)
		}
	}
}

// Sites of the tests below.
const (
	readWord = 1 + iota
	writeWord
	atomicWord
	readVariable
	readNeighbour
	writeVariable
	spinVariable
	acquires
	hasAcquired
	release
)

func fewSites() []operation {
	sites := []Site{
		readWord:      {Op: uint8(OpRead), Access: AccessSite{Span: 4}},
		writeWord:     {Op: uint8(OpWrite), Access: AccessSite{Span: 4}},
		atomicWord:    {Op: uint8(OpUpdate), Flags: SiteOrders, Access: AccessSite{Span: 4}},
		readVariable:  {Op: uint8(OpRead), Access: AccessSite{Width: 4}},
		readNeighbour: {Op: uint8(OpRead), Access: AccessSite{Width: 4, Watched: 8}},
		writeVariable: {Op: uint8(OpWrite), Access: AccessSite{Width: 4}},
		spinVariable:  {Op: uint8(OpRead), Flags: SiteSpin, Access: AccessSite{Width: 4}},
		acquires:      {Op: uint8(OpAcquire), Action: uint8(ActionSave)},
		hasAcquired:   {Op: uint8(OpAcquire), Action: uint8(ActionOutcome)},
		release:       {Op: uint8(OpRelease), Action: uint8(ActionEmit), Flags: SiteNoStack},
	}
	sites[acquires].Sync().Function, sites[hasAcquired].Sync().Function = 1, 1
	sites[hasAcquired].Sync().ResultFrom = uint8(FromReg)
	var ops []operation
	for i := range sites {
		sites[i].ObjectFrom, sites[i].ObjectReg = uint8(FromReg), objectReg
		ops = append(ops, siteLine(uint32(i), sites[i]))
	}
	return append(ops, secondLine())
}

// sameBit returns a page of a process that has the bit by which the table knows that another process has words.
func sameBit(tgid, other uint32) uint64 {
	bit := func(page uint64, tgid uint32) uint64 { return (page<<20 | uint64(tgid)) * factor >> (64 - PageBits) }
	page := uint64(memory >> 12)
	for bit(page, tgid) != bit(0, other) {
		page++
	}
	return page
}

// TestEdgesOfRules has what random runs hardly lead to.
func TestEdgesOfRules(t *testing.T) {
	program := buildRules(t)
	one, two, without := where{100, 100}, where{100, 101}, where{100, 100 + slots}
	data := func(at where, site uint32, addr uint64) operation { return pointerHit(at, site, addr, stackTop, 0, 0) }
	byName := func(at where, site uint32) operation { return sharedHit(at, site, 0, memory, stackTop, 0) }
	collides := sameBit(100, 200) << 12
	var manyPages []operation
	for i := range uint64(1<<14 + 16) {
		manyPages = append(manyPages, data(one, writeWord, memory+i<<12))
	}
	last := uint64(memory + (1<<14+15)<<12)
	var manyLocks []operation
	for range 300 {
		manyLocks = append(manyLocks, callHit(one, hasAcquired, memory, stackTop, 0, 0))
	}
	for range 300 {
		manyLocks = append(manyLocks, callHit(one, release, memory, stackTop, 0, 0))
	}
	for name, c := range map[string]struct {
		ops  []operation
		want int // records of the last operation
	}{
		"an atomic access through a pointer of what another thread has read by its name": {
			[]operation{byName(one, readVariable), byName(one, readVariable), data(two, atomicWord, memory), byName(one, readVariable)}, 1,
		},
		"an access after an atomic one of another thread": {
			[]operation{data(one, writeWord, memory), data(two, writeWord, memory), data(two, writeWord, memory), data(one, atomicWord, memory+4), data(two, writeWord, memory)}, 1,
		},
		"an access after one of a thread without a place": {
			[]operation{data(one, writeWord, memory), data(two, writeWord, memory), data(two, writeWord, memory), data(without, writeWord, memory), data(two, writeWord, memory)}, 1,
		},
		"a write of a variable after one of a thread without a place": {
			[]operation{byName(one, writeVariable), byName(one, writeVariable), byName(without, writeVariable), byName(one, writeVariable)}, 1,
		},
		"a read of a variable after a write of a thread without a place": {
			[]operation{byName(without, readVariable), byName(one, readVariable), byName(without, writeVariable), byName(one, readVariable)}, 1,
		},
		"the end of more memory than the table has words": {
			[]operation{data(one, writeWord, memory), freeLine(100, memory, 1<<40, 101)}, 1,
		},
		"memory that was freed with more pages than are looked at one after the other": {
			append(manyPages, freeLine(100, memory, (1<<14+16)<<12, 100), data(two, readWord, last)), 0,
		},
		"memory that was freed after the end of another process with the same bit": {
			[]operation{data(one, writeWord, collides), data(where{200, 200}, writeWord, memory), exitLine(where{200, 200}, 0, stackTop), freeLine(100, collides, 4096, 0), data(two, readWord, collides)}, 0,
		},
		"a thread with more locks than are counted": {append(manyLocks, callHit(one, release, memory, stackTop, 0, 0)), 1},
		"a thread with the place of one that held a lock": {
			[]operation{callHit(one, hasAcquired, memory, stackTop, 0, 0), exitLine(one, 2, stackTop), callHit(one, release, memory, stackTop, 0, 0)}, 1,
		},
		"a read of another variable with the same place in a thread's cache": {
			[]operation{byName(one, readVariable), byName(one, readNeighbour)}, 1,
		},
		"the return of a call that was abandoned": {
			[]operation{callHit(one, acquires, memory, stackTop, 0, 0), callHit(one, hasAcquired, memory, stackTop, 0, 0), returnHit(one, stackTop, 0)}, 0,
		},
		"memory that is another thread's once it was freed": {
			[]operation{data(one, writeWord, memory), data(two, writeWord, memory), freeLine(100, memory, 8, 0), data(one, writeWord, memory), data(two, writeWord, memory)}, 2,
		},
		"a read of a variable after a write through a pointer that another thread may have seen": {
			[]operation{data(one, writeWord, memory+64), data(two, writeWord, memory+64), byName(two, readVariable), byName(one, readVariable), data(one, writeWord, memory+64), byName(one, readVariable)}, 1,
		},
		"a read by a probe that was hit seldom of what other probes watch no more": {
			[]operation{byName(one, writeVariable), byName(two, writeVariable), limitLine(0, 1), byName(one, readVariable)}, 1,
		},
		"a write by a probe that was hit often of what is watched no more": {
			[]operation{byName(one, writeVariable), byName(two, readVariable), limitLine(0, 1), byName(one, writeVariable)}, 0,
		},
		"a thread that waits as the one did that had its place": {
			[]operation{namedHit(one, spinVariable, memory, stackTop, 0, 0), exitLine(one, 2, stackTop), namedHit(without, spinVariable, memory, stackTop, 0, 0)}, 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			ops := append(fewSites(), c.ops...)
			s := setting{wordBits: 15}
			answers := s.model(ops)
			if got := len(answers[len(ops)-1].records); got != c.want {
				t.Errorf("the model makes %d records, want %d", got, c.want)
			}
			if at, how := s.differ(t, program, ops); at >= 0 {
				t.Errorf("operation %d, %s:\n %s", at, ops[at].line, how)
			}
		})
	}
}

// FuzzRules compares the rules with the model on runs of which a fuzzer makes the choices.
func FuzzRules(f *testing.F) {
	program, table := buildRules(f), newSiteTable()
	f.Add([]byte("\x01\x02\x03"))
	f.Fuzz(func(t *testing.T, input []byte) {
		rest := input
		draw := func(n int) int {
			if len(rest) == 0 {
				return 0
			}
			next := rest[0]
			rest = rest[1:]
			return int(next) * n / 256
		}
		ops := table.lines()
		few, f := table.few(draw), one(draw, focuses)
		for len(rest) > 0 && len(ops) < 1000 {
			ops = append(ops, randomOperation(draw, few, f))
		}
		setting{wordBits: 4}.compareRules(t, program, ops)
	})
}

// TestRoomForWords tests that nearly all words of memory that real programs use at a time have room in a table of twice
// as many words: arrays, structures of many sizes, and the heaps of threads, which are 64 MiB apart.
func TestRoomForWords(t *testing.T) {
	const bits, n = 16, 1 << 15
	stride := func(size int) func(int) uint64 {
		return func(i int) uint64 { return 0x7f3a12340000 + uint64(i*size) }
	}
	shapes := map[string]func(i int) uint64{
		"heaps of 16 threads":  func(i int) uint64 { return 0x7f0000000000 + uint64(i%16<<26+i/16*8) },
		"heaps of 512 threads": func(i int) uint64 { return 0x7f0000000000 + uint64(i%512<<26+i/512*8) },
		"stacks":               func(i int) uint64 { return 0x7f0000000000 + uint64(i%256*(8<<20+4096)+i/256*8) },
		"columns":              func(i int) uint64 { return 0x7f0000000000 + uint64(i/8*8192+i%8*8) },
	}
	for _, size := range []int{8, 16, 24, 32, 40, 48, 64, 96, 128, 4096, 65536, 1 << 20} {
		shapes[fmt.Sprintf("each %d bytes", size)] = stride(size)
	}
	for name, at := range shapes {
		m := newModel(bits, 0)
		for i := range n {
			m.word(4242, at(i), true)
		}
		if m.full > n/100 {
			t.Errorf("%s: %d of %d words had no room in a table of %d", name, m.full, n, 1<<bits)
		}
	}
}
