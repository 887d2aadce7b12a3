package synctab

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/probes/spelling"
)

// maxSize bounds the size of a table's text, in bytes: a thousand times the usual size.
const maxSize = 4 << 20

// Error is an error in the text of a table.
type Error struct {
	File      string
	Line, Col int // from 1; 0 if unknown
	Message   string
}

// Error implements error: file:line:col: message.
func (e *Error) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %s", e.File, e.Message)
	}
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, max(e.Col, 1), e.Message)
}

// Parse parses a table; name is the file's name, for messages. It reports all errors that it can
// find, each an *Error, joined into one error.
func Parse(r io.Reader, name string) (Table, error) {
	entries, err := parse(r, name)
	if err != nil {
		return Table{}, err
	}
	return newTable(entries), nil
}

func parse(r io.Reader, name string) ([]Entry, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxSize+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	if len(text) > maxSize {
		return nil, &Error{File: name, Message: fmt.Sprintf("larger than %d MiB: is this a table of synchronisation calls?", maxSize>>20)}
	}
	var document map[string]any
	if _, err := toml.Decode(string(text), &document); err != nil {
		return nil, syntaxError(err, name)
	}
	p := parser{file: name, where: locate(string(text)), seen: map[string]string{}}
	return p.document(document), errors.Join(p.errs...)
}

func syntaxError(err error, name string) error {
	var pe toml.ParseError
	if !errors.As(err, &pe) {
		return &Error{File: name, Message: err.Error()}
	}
	return &Error{File: name, Line: pe.Position.Line, Col: pe.Position.Col, Message: pe.Message}
}

// parser converts the decoded document to entries and collects errors.
type parser struct {
	file  string
	where positions
	seen  map[string]string // name → line of the latest row that has it
	errs  []error
}

func (p *parser) fail(at position, format string, args ...any) {
	p.errs = append(p.errs, &Error{p.file, at.line, at.col, fmt.Sprintf(format, args...)})
}

func (p *parser) document(document map[string]any) []Entry {
	for _, key := range slices.Sorted(maps.Keys(document)) {
		if key != "call" {
			p.fail(p.where.key(-1, key), "unknown table %q: a row begins with [[call]]", key)
		}
	}
	rows, ok := tables(document["call"])
	if !ok {
		p.fail(p.where.key(-1, "call"), "call is not an array of tables: begin each row with [[call]], in double brackets")
		return nil
	}
	entries := make([]Entry, 0, len(rows))
	for i, row := range rows {
		r := rowParser{parser: p, index: i, row: row}
		entries = append(entries, r.entry())
	}
	return entries
}

// tables converts the two forms in which an array of tables is decoded; nil is no rows. It returns
// false for any other value.
func tables(v any) ([]map[string]any, bool) {
	switch v := v.(type) {
	case nil:
		return nil, true
	case []map[string]any:
		return v, true
	case []any:
		var out []map[string]any
		for _, e := range v {
			m, ok := e.(map[string]any)
			if !ok {
				return nil, false
			}
			out = append(out, m)
		}
		return out, true
	}
	return nil, false
}

// columns are the keys of a row.
var columns = []string{"name", "operation", "kind", "object", "object_at", "library", "second", "shared", "kind_at", "success", "try", "timed", "unwinds"}

// rowParser reads one row.
type rowParser struct {
	*parser
	index int
	row   map[string]any
}

func (r *rowParser) failKey(key, format string, args ...any) {
	r.fail(r.where.key(r.index, key), format, args...)
}

func (r *rowParser) entry() Entry {
	r.checkColumns()
	e := Entry{
		Names:   r.names(),
		Object:  r.argument("object", 0),
		Second:  r.argument("second", 0),
		Shared:  r.argument("shared", 0),
		KindAt:  r.offset("kind_at"),
		Try:     r.boolean("try", false),
		Timed:   r.boolean("timed", false),
		Unwinds: r.boolean("unwinds", true),
		Source:  fmt.Sprintf("%s:%d", r.file, r.where.key(r.index, "").line),
	}
	var ok bool
	if e.Op, ok = r.operation(); !ok || e.Op == bpf.OpNone {
		return e
	}
	e.Kind = r.kind(e.Op)
	e.Success = r.success(e)
	e.ObjectAt, _ = r.text("object_at")
	e.Library, _ = r.text("library")
	if e.Object == 0 && e.ObjectAt == "" && !operations[e.Op].objectless {
		e.Object = 1
	}
	r.checkOperands(e)
	return e
}

func (r *rowParser) checkColumns() {
	for _, key := range slices.Sorted(maps.Keys(r.row)) {
		if !slices.Contains(columns, key) {
			r.failKey(key, "unknown key %q%s", key, suggest(key, columns))
		}
	}
}

func (r *rowParser) names() []string {
	var names []string
	switch v := r.row["name"].(type) {
	case nil:
		r.failKey("", "this row has no name: add name = \"function\"")
		return nil
	case string:
		names = []string{v}
	case []any:
		for _, e := range v {
			s, ok := e.(string)
			if !ok {
				r.failKey("name", "name has %v where a text is needed: write the function's name in quotes", e)
				return nil
			}
			names = append(names, s)
		}
	default:
		r.failKey("name", "name is %v: write the function's name in quotes, or several in brackets", v)
		return nil
	}
	if len(names) == 0 {
		r.failKey("name", "name is empty: give at least one function")
	}
	return r.checkNames(names)
}

func (r *rowParser) checkNames(names []string) []string {
	here := fmt.Sprintf("line %d", r.where.key(r.index, "name").line)
	for _, n := range names {
		switch first, seen := r.seen[n]; {
		case strings.TrimSpace(n) == "":
			r.failKey("name", "a name is empty: give the function's name")
		case strings.ContainsAny(n, "\x00\n") || len(n) > 4096:
			r.failKey("name", "%.40q is no function's name", n)
		case seen:
			r.failKey("name", "%s has a row already (%s): a name can mean one operation only", n, first)
		case strings.Contains(n, "@"):
			r.failKey("name", "%s has a symbol version: write %s, a row holds for every version", n, n[:strings.Index(n, "@")])
		case hasParameters(n):
			r.failKey("name", "%s has parameters: write %s, a row holds for every overload", n, withoutParameters(n))
		}
		r.seen[n] = here
	}
	return names
}

func hasParameters(name string) bool {
	return parameterList(name) > 0 && withoutParameters(name) != name
}

func (r *rowParser) operation() (bpf.Op, bool) {
	name, ok := r.text("operation")
	if name == "" {
		if ok {
			r.failKey("", "this row has no operation: add operation = \"acquire\" or another of %s", strings.Join(operationNames(), ", "))
		}
		return 0, false
	}
	op, ok := bpf.ParseOp(name)
	if _, allowed := operations[op]; !ok || !allowed {
		r.failKey("operation", "unknown operation %q%s", name, suggest(name, operationNames()))
		return 0, false
	}
	return op, true
}

func (r *rowParser) kind(op bpf.Op) Kind {
	allowed := operations[op].kinds
	name, ok := r.text("kind")
	if !ok {
		return KindNone
	}
	if name == "" {
		if op == bpf.OpInit || op == bpf.OpDestroy {
			r.failKey("", "this row has no kind: add kind = \"mutex\" or another of %s", kindList(allowed))
		}
		return allowed[0]
	}
	kind, ok := parseKind(name)
	if !ok {
		r.failKey("kind", "unknown kind %q%s", name, suggest(name, kindNames[1:]))
	} else if !slices.Contains(allowed, kind) {
		r.failKey("kind", "%s does not act on a %s, but on: %s", op, kind, kindList(allowed))
	}
	return kind
}

func kindList(kinds []Kind) string {
	var names []string
	for _, k := range kinds {
		names = append(names, k.String())
	}
	return strings.Join(names, ", ")
}

var successNames = []string{"always", "zero", "nonzero", "barrier", "true"}

func (r *rowParser) success(e Entry) bpf.Success {
	name, ok := r.text("success")
	if !ok {
		return bpf.SuccessAlways
	}
	if name == "" {
		if e.Try && operations[e.Op].returns {
			r.failKey("", "a call that tries needs to say how it tells success: add success = \"zero\", \"nonzero\" or \"true\" (C++ bool)")
		}
		return operations[e.Op].success
	}
	i := slices.Index(successNames, name)
	switch {
	case i < 0:
		r.failKey("success", "unknown success rule %q%s", name, suggest(name, successNames))
		return bpf.SuccessAlways
	case i > 0 && !operations[e.Op].returns:
		r.failKey("success", "%s is recorded before it happens, so what the call returns cannot count: remove success", e.Op)
	}
	return [...]bpf.Success{bpf.SuccessAlways, bpf.SuccessZero, bpf.SuccessNonzero, bpf.SuccessBarrier, bpf.SuccessTrue8}[i]
}

func (r *rowParser) checkOperands(e Entry) {
	waits := operations[e.Op].returns
	switch {
	case e.ObjectAt != "" && e.Op != bpf.OpAcquire && e.Op != bpf.OpRelease:
		r.failKey("object_at", "only a lock can have no address of its own: remove object_at")
	case e.ObjectAt != "" && e.Object != 0:
		r.failKey("object_at", "the object is either an argument or none: remove object or object_at")
	case e.Object != 0 && operations[e.Op].objectless:
		r.failKey("object", "%s acts on what its thread belongs to: remove object", e.Op)
	case e.Op == bpf.OpWait && e.Second == 0:
		r.failKey("", "a wait needs its mutex: add second = 2 (the number of that argument)")
	case e.Second != 0 && e.Op != bpf.OpWait && e.Op != bpf.OpInit && e.Op != bpf.OpCreate:
		r.failKey("second", "%s has no second operand: remove second", e.Op)
	case e.KindAt != 0 && (e.Kind != KindRWLock || e.Op != bpf.OpAcquire && e.Op != bpf.OpAcquireRead):
		r.failKey("kind_at", "only what acquires an rwlock can read its kind: remove kind_at")
	case e.Second != 0 && e.Second == e.Object:
		r.failKey("second", "object and second are the same argument, %d", e.Object)
	case e.Shared != 0 && e.Op != bpf.OpInit:
		r.failKey("shared", "only an init says whether its object is shared: remove shared")
	case e.Try && !waits:
		r.failKey("try", "%s does not wait, so it cannot try: remove try", e.Op)
	case e.Timed && !waits:
		r.failKey("timed", "%s does not wait, so it has no time limit: remove timed", e.Op)
	case e.Try && e.Timed:
		r.failKey("timed", "a call either tries or waits for a while: remove try or timed")
	}
}

func (r *rowParser) text(key string) (string, bool) {
	v, ok := r.row[key]
	if !ok {
		return "", true
	}
	s, ok := v.(string)
	if !ok || s == "" {
		r.failKey(key, "%s is %s: write a name in quotes", key, format(v))
		return "", false
	}
	return s, true
}

func (r *rowParser) boolean(key string, otherwise bool) bool {
	v, ok := r.row[key]
	if !ok {
		return otherwise
	}
	b, ok := v.(bool)
	if !ok {
		r.failKey(key, "%s is %s: write true or false, without quotes", key, format(v))
	}
	return b
}

func (r *rowParser) argument(key string, otherwise int) int {
	v, ok := r.row[key]
	if !ok {
		return otherwise
	}
	n, ok := v.(int64)
	if !ok || n < 1 || n > MaxArgument {
		r.failKey(key, "%s is %s: write the number of an argument, 1 to %d (in a C++ method, this is 1)", key, format(v), MaxArgument)
		return otherwise
	}
	return int(n)
}

// offset returns the offset in an object that a key has, in bytes; 0 if the row does not have the
// key.
func (r *rowParser) offset(key string) int {
	v, ok := r.row[key]
	if !ok {
		return 0
	}
	n, ok := v.(int64)
	if !ok || n < 1 || n > maxKindAt {
		r.failKey(key, "%s is %s: write how many bytes from the object's beginning it is, 1 to %d", key, format(v), maxKindAt)
		return 0
	}
	return int(n)
}

func format(v any) string {
	if s, ok := v.(string); ok {
		return fmt.Sprintf("%.40q", s)
	}
	return fmt.Sprintf("%.40s", fmt.Sprint(v))
}

// operation holds what a row with an operation may contain.
type operation struct {
	kinds   []Kind // allowed kinds; the first is the default
	returns bool   // recorded at the return, so that success, try and timed have a meaning
	success bpf.Success
	// objectless operations act on what the thread belongs to.
	objectless bool
}

// operations are the operations that a function in the table can have; records of other operations
// come from the kernel or from accesses.
var operations = map[bpf.Op]operation{
	bpf.OpNone:               {},
	bpf.OpAcquire:            {kinds: []Kind{KindMutex, KindRWLock, KindSpin}, returns: true},
	bpf.OpAcquireRead:        {kinds: []Kind{KindRWLock}, returns: true},
	bpf.OpRelease:            {kinds: []Kind{KindMutex, KindRWLock, KindSpin}},
	bpf.OpWait:               {kinds: []Kind{KindCond}, returns: true},
	bpf.OpSignal:             {kinds: []Kind{KindCond}},
	bpf.OpBroadcast:          {kinds: []Kind{KindCond}},
	bpf.OpBarrier:            {kinds: []Kind{KindBarrier}, returns: true},
	bpf.OpSemPost:            {kinds: []Kind{KindSemaphore}},
	bpf.OpSemWait:            {kinds: []Kind{KindSemaphore}, returns: true},
	bpf.OpOnce:               {kinds: []Kind{KindOnce}, returns: true},
	bpf.OpGuardAcquire:       {kinds: []Kind{KindOnce}, returns: true, success: bpf.SuccessNonzero},
	bpf.OpGuardRelease:       {kinds: []Kind{KindOnce}},
	bpf.OpGuardAbort:         {kinds: []Kind{KindOnce}},
	bpf.OpInit:               {kinds: []Kind{KindMutex, KindRWLock, KindSpin, KindCond, KindBarrier, KindSemaphore, KindOnce}},
	bpf.OpDestroy:            {kinds: []Kind{KindMutex, KindRWLock, KindSpin, KindCond, KindBarrier, KindSemaphore, KindOnce}},
	bpf.OpCreate:             {kinds: []Kind{KindThread}},
	bpf.OpJoin:               {kinds: []Kind{KindThread}, returns: true},
	bpf.OpDetach:             {kinds: []Kind{KindThread}},
	bpf.OpConsistent:         {kinds: []Kind{KindMutex}},
	bpf.OpCancel:             {kinds: []Kind{KindThread}},
	bpf.OpQuit:               {kinds: []Kind{KindThread}},
	bpf.OpUnwind:             {kinds: []Kind{KindThread}},
	bpf.OpParallel:           {kinds: []Kind{KindThread}, returns: true, objectless: true},
	bpf.OpTeamBarrier:        {kinds: []Kind{KindThread}, returns: true, objectless: true},
	bpf.OpOrderedLoop:        {kinds: []Kind{KindThread}, objectless: true},
	bpf.OpOrderedNext:        {kinds: []Kind{KindThread}, returns: true, objectless: true},
	bpf.OpOrderedBegin:       {kinds: []Kind{KindThread}, returns: true, objectless: true},
	bpf.OpOrderedEnd:         {kinds: []Kind{KindThread}, objectless: true},
	bpf.OpCopyBegin:          {kinds: []Kind{KindThread}, returns: true, success: bpf.SuccessNonzero, objectless: true},
	bpf.OpCopyEnd:            {kinds: []Kind{KindThread}, returns: true, objectless: true},
	bpf.OpKeyCreate:          {kinds: []Kind{KindThread}, returns: true},
	bpf.OpKeyDelete:          {kinds: []Kind{KindThread}},
	bpf.OpInterpreterRelease: {kinds: []Kind{KindThread}, objectless: true},
}

func operationNames() []string {
	var names []string
	for _, op := range slices.Sorted(maps.Keys(operations)) {
		names = append(names, op.String())
	}
	return names
}

// suggest returns the end of a message about an unknown name: the most similar known one, or all
// known ones.
func suggest(name string, known []string) string {
	best, distance := "", len(name)/2+1
	for _, k := range known {
		if d := spelling.Distance(name, k, distance); d < distance {
			best, distance = k, d
		}
	}
	if best != "" {
		return fmt.Sprintf(": did you mean %q?", best)
	}
	return ": it is one of " + strings.Join(known, ", ")
}
