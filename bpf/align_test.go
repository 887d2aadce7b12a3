package bpf

import (
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"
)

// objects has the file names of the committed objects, by architecture.
var objects = map[string]string{"amd64": "tracepredict_x86_bpfel.o", "arm64": "tracepredict_arm64_bpfel.o"}

// shared has the Go types that the programs share with Go, by their names in C.
var shared = map[string]any{
	"record": Record{}, "call_record": CallRecord{}, "stack_record": StackRecord{}, "stack_part": StackPart{}, "stack_key": StackKey{}, "known_stack": KnownStack{},
	"site": Site{}, "access_site": AccessSite{}, "sync_site": SyncSite{}, "heap_site": HeapSite{}, "function_site": FunctionSite{}, "futex_site": FutexSite{},
	"futex_key": FutexKey{}, "futex_sum": FutexSum{}, "futex_wait": FutexWait{},
	"signature": Signature{}, "task_line": TaskLine{}, "sleeper": Sleeper{}, "lost_line": LostLine{},
	"watch_key": WatchKey{}, "watch": Watch{}, "watched_line": WatchedLine{}, "kernel_code": KernelCode{}, "tally": Tally{}, "thread_cost": ThreadCost{},
	"formula": Formula{}, "formula_body": FormulaBody{}, "formula_input": FormulaInput{}, "known_thread": KnownThread{},
}

// TestAlignment compares the size and the offsets of each Go type with those of the C type in the
// committed objects, so that a difference is a failing test, not a wrong event. It checks that no
// structure declared in record.h and site.h is missing here.
func TestAlignment(t *testing.T) {
	for _, file := range []string{"record.h", "site.h"} {
		for _, m := range declaration.FindAllStringSubmatch(text(t, file), -1) {
			if shared[m[1]] == nil {
				t.Errorf("struct %s of %s is not compared", m[1], file)
			}
		}
	}
	for arch, file := range objects {
		t.Run(arch, func(t *testing.T) {
			spec, err := ebpf.LoadCollectionSpec(file)
			if err != nil {
				t.Fatal(err)
			}
			for name, v := range shared {
				var s *btf.Struct
				if err := spec.Types.TypeByName(name, &s); err != nil {
					t.Errorf("struct %s: %v", name, err)
					continue
				}
				compare(t, s, reflect.TypeOf(v))
			}
		})
	}
}

func compare(t *testing.T, s *btf.Struct, g reflect.Type) {
	if uintptr(s.Size) != g.Size() {
		t.Errorf("struct %s has %d bytes, %s %d", s.Name, s.Size, g, g.Size())
	}
	fields := map[string]reflect.StructField{}
	for i := range g.NumField() {
		if f := g.Field(i); f.Name != "_" {
			fields[f.Name] = f
		}
	}
	members := s.Members
	for i, m := range s.Members {
		if u, ok := m.Type.(*btf.Union); ok && m.Name == "" {
			members = slices.Concat(s.Members[:i], unionMember(t, u, m.Offset), s.Members[i+1:])
		}
	}
	for _, m := range members {
		name := goName(m.Name)
		f, ok := fields[name]
		if !ok {
			t.Errorf("%s has no field %s", g, name)
			continue
		}
		delete(fields, name)
		size, err := btf.Sizeof(m.Type)
		if err != nil || uintptr(m.Offset.Bytes()) != f.Offset || uintptr(size) != f.Type.Size() {
			t.Errorf("%s.%s: %d bytes at %d, in Go %d at %d (%v)", s.Name, m.Name, size, m.Offset.Bytes(), f.Type.Size(), f.Offset, err)
		}
	}
	for name := range fields {
		t.Errorf("struct %s has no %s", s.Name, name)
	}
}

// unionMember returns the member that represents a union in the Go type: the first. The other
// members lie at the same address, are no larger, and are compared as types of their own.
func unionMember(t *testing.T, u *btf.Union, at btf.Bits) []btf.Member {
	for _, m := range u.Members {
		size, err := btf.Sizeof(m.Type)
		if err != nil || m.Offset != 0 || uint32(size) > u.Size {
			t.Errorf("member %s of a union of %d bytes: %d bytes at %d (%v)", m.Name, u.Size, size, m.Offset.Bytes(), err)
		}
		if s, ok := m.Type.(*btf.Struct); ok && shared[s.Name] == nil {
			t.Errorf("member %s of a union is not compared", m.Name)
		}
	}
	first := u.Members[0]
	if size, err := btf.Sizeof(first.Type); err != nil || uint32(size) != u.Size {
		t.Errorf("%s, the first member of a union, is not the largest (%v)", first.Name, err)
	}
	return []btf.Member{{Name: first.Name, Type: first.Type, Offset: at}}
}

// TestUnion checks that the parts of a Site that its methods return have the address of its Access.
func TestUnion(t *testing.T) {
	var s Site
	for name, at := range map[string]unsafe.Pointer{"sync": unsafe.Pointer(s.Sync()), "heap": unsafe.Pointer(s.Heap()), "function": unsafe.Pointer(s.Function()), "futex": unsafe.Pointer(s.Futex())} {
		if at != unsafe.Pointer(&s.Access) {
			t.Errorf("%s lies elsewhere", name)
		}
	}
}

// TestExtra checks that a Record returns its Extra under each name that it has in record.h.
func TestExtra(t *testing.T) {
	spec, err := LoadTracepredict()
	if err != nil {
		t.Fatal(err)
	}
	var s *btf.Struct
	if err := spec.Types.TypeByName("record", &s); err != nil {
		t.Fatal(err)
	}
	names := 0
	for _, m := range s.Members {
		u, ok := m.Type.(*btf.Union)
		if !ok {
			continue
		}
		for _, alias := range u.Members[1:] {
			names++
			method := reflect.ValueOf(&Record{Extra: 7}).MethodByName(goName(alias.Name))
			if !method.IsValid() || method.Call(nil)[0].Uint() != 7 {
				t.Errorf("a Record does not return its %s", alias.Name)
			}
		}
	}
	if have := reflect.TypeFor[*Record]().NumMethod(); names == 0 || have != names {
		t.Errorf("a Record has %d methods, and its union %d names", have, names)
	}
}

// goName converts object_disp to ObjectDisp.
func goName(c string) string {
	var b strings.Builder
	for _, part := range strings.Split(c, "_") {
		b.WriteString(strings.ToUpper(part[:1]) + part[1:])
	}
	return b.String()
}

// TestKindComesFirst checks that each record begins with its kind.
func TestKindComesFirst(t *testing.T) {
	for _, v := range []any{Record{}, CallRecord{}.Head, StackRecord{}, StackPart{}} {
		f, ok := reflect.TypeOf(v).FieldByName("Kind")
		if !ok || f.Offset != 0 || f.Type.Size() != 1 {
			t.Errorf("%T does not begin with a byte Kind", v)
		}
	}
	if reflect.TypeFor[CallRecord]().Field(1).Name != "Head" {
		t.Error("a CallRecord does not begin with a Record")
	}
}

var (
	comment     = regexp.MustCompile(`(?s)/\*.*?\*/`)
	declaration = regexp.MustCompile(`struct (\w+) \{`)
)

// text returns the text of a header without its comments.
func text(t *testing.T, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return comment.ReplaceAllString(string(b), "")
}

// TestLimits compares Go's constants for the sizes of maps and the bounds of loops with those of
// the programs.
func TestLimits(t *testing.T) {
	spec, err := LoadTracepredict()
	if err != nil {
		t.Fatal(err)
	}
	if n := spec.Maps["sites"].MaxEntries; n != MaxSites {
		t.Errorf("the map holds %d sites, want %d", n, MaxSites)
	}
	if n := spec.Maps["unseen_hits"].MaxEntries; n != MaxUnseen {
		t.Errorf("the map holds %d instructions, want %d", n, MaxUnseen)
	}
	if n := spec.Maps["words"]; n.MaxEntries != WordTables || uintptr(n.InnerMap.ValueSize) != unsafe.Sizeof(Word{}) {
		t.Errorf("there are %d tables of words of %d bytes, want %d of %d", n.MaxEntries, n.InnerMap.ValueSize, WordTables, unsafe.Sizeof(Word{}))
	}
	if n := len(StackPart{}.Data); n != StackPartBytes {
		t.Errorf("a part of a stack holds %d bytes, want %d", n, StackPartBytes)
	}
	const maxRegs = 33 // MAX_REGS of record.h
	if n := len(StackRecord{}.Regs); n != maxRegs {
		t.Errorf("a stack record holds %d registers, want %d", n, maxRegs)
	}
}

func TestNames(t *testing.T) {
	for op := OpNone; op < numOps; op++ {
		if got, ok := ParseOp(op.String()); !ok || got != op {
			t.Errorf("operation %d: %s is %d (%v)", op, op, got, ok)
		}
	}
	if _, ok := ParseOp("unknown"); ok || numOps.String() != "unknown" {
		t.Error("there is an operation of no name")
	}
}
