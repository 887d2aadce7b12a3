package bpf

import (
	"os"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/cilium/ebpf/btf"
)

func types(t *testing.T) *btf.Spec {
	t.Helper()
	spec, err := LoadTracepredict()
	if err != nil {
		t.Fatal(err)
	}
	return spec.Types
}

// TestAlignment compares the size and the offsets of each Go type with what the
// committed object says of the C type: a drift is a failing test, not a strange
// event.
func TestAlignment(t *testing.T) {
	spec := types(t)
	for name, v := range map[string]any{"record": Record{}, "stack_record": StackRecord{}, "stack_part": StackPart{}, "site": Site{}, "task_line": TaskLine{}, "sleeper": Sleeper{}, "watch_key": WatchKey{}, "watch": Watch{}, "watched_line": WatchedLine{}, "kernel_code": KernelCode{}, "tally": Tally{}} {
		var s *btf.Struct
		if err := spec.TypeByName(name, &s); err != nil {
			t.Errorf("struct %s: %v", name, err)
			continue
		}
		compare(t, s, reflect.TypeOf(v))
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
	for _, m := range s.Members {
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

// goName turns object_disp into ObjectDisp.
func goName(c string) string {
	var b strings.Builder
	for _, part := range strings.Split(c, "_") {
		b.WriteString(strings.ToUpper(part[:1]) + part[1:])
	}
	return b.String()
}

// TestSizesTellTypesApart: nothing else tells what a record is.
func TestSizesTellTypesApart(t *testing.T) {
	sizes := map[uintptr]reflect.Type{}
	for _, v := range []any{Record{}, CallRecord{}, StackRecord{}, StackPart{}} {
		g := reflect.TypeOf(v)
		if other, ok := sizes[g.Size()]; ok {
			t.Errorf("%s is as large as %s", g, other)
		}
		sizes[g.Size()] = g
	}
}

var (
	comment     = regexp.MustCompile(`(?s)/\*.*?\*/`)
	enumeration = regexp.MustCompile(`(?s)enum[^{};]*\{([^}]*)\}`)
)

// constants are the values of record.h's enumerations. They are read from the
// text: the object's BTF holds no enumeration that no variable has for a type.
func constants(t *testing.T) map[string]uint64 {
	t.Helper()
	text, err := os.ReadFile("record.h")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]uint64{}
	for _, block := range enumeration.FindAllStringSubmatch(comment.ReplaceAllString(string(text), ""), -1) {
		next := uint64(0)
		for _, item := range strings.Split(block[1], ",") {
			name, value, given := strings.Cut(strings.TrimSpace(item), "=")
			if name == "" {
				continue
			}
			if given {
				if next, err = strconv.ParseUint(strings.TrimSpace(value), 0, 64); err != nil {
					t.Fatal(err)
				}
			}
			out[strings.TrimSpace(name)] = next
			next++
		}
	}
	return out
}

// TestConstants: what ops.go says is what the programs say.
func TestConstants(t *testing.T) {
	want := constants(t)
	have := map[string]uint64{
		"REC_LEAVE": RecLeave, "REC_FAILED": RecFailed, "REC_VALUE": RecValue, "REC_PROCESS": RecProcess, "REC_SHARED": RecShared, "REC_KERNEL": RecKernel, "REC_SKIPPED": RecSkipped,
		"TOUCH_SOURCE": TouchSource, "TOUCH_DEST": TouchDest, "TOUCH_PART": TouchPart, "TOUCH_CALL": TouchCall, "TOUCH_COUNT": TouchCount,
		"SITE_NO_PLACE": SiteNoPlace, "SITE_LEAF": SiteLeaf, "SITE_CHECK": SiteCheck, "SCALE_BITS": ScaleBits, "SCALE_BITS32": ScaleBits32, "TIMES_EACH": TimesEach, "SITE_TABLE": SiteTable, "SITE_SPIN": SiteSpin, "SITE_ORDERS": SiteOrders, "SITE_INDIRECT": SiteIndirect, "SITE_ELEMENT": SiteElement, "SITE_ARRAY": SiteArray,
		"ACTION_EMIT": uint64(ActionEmit), "ACTION_SAVE": uint64(ActionSave), "ACTION_BOTH": uint64(ActionBoth), "ACTION_RETURN": uint64(ActionReturn), "ACTION_PLACE": uint64(ActionPlace), "ACTION_OUTCOME": uint64(ActionOutcome), "ACTION_TAIL": uint64(ActionTail),
		"FROM_NOWHERE": uint64(FromNowhere), "FROM_REG": uint64(FromReg), "FROM_FIXED": uint64(FromFixed), "FROM_IMM": uint64(FromImm),
		"FROM_MEMORY": uint64(FromMemory), "FROM_STACK": uint64(FromStack),
		"SUCCESS_ALWAYS": uint64(SuccessAlways), "SUCCESS_ZERO": uint64(SuccessZero), "SUCCESS_NONZERO": uint64(SuccessNonzero),
		"CHANNEL_UNSEEN": uint64(ChannelUnseen), "CHANNEL_PIPE": uint64(ChannelPipe), "CHANNEL_FIFO": uint64(ChannelFIFO), "CHANNEL_SOCKET": uint64(ChannelSocket),
		"CHANNEL_EVENTFD": uint64(ChannelEventfd), "CHANNEL_TIMERFD": uint64(ChannelTimerfd), "CHANNEL_FUTEX": uint64(ChannelFutex), "CHANNEL_TIGHT": uint64(ChannelTight),
		"SUCCESS_BARRIER": uint64(SuccessBarrier), "SUCCESS_TRUE8": uint64(SuccessTrue8),
	}
	for op := OpNone; op < numOps; op++ {
		have["OP_"+strings.ToUpper(strings.ReplaceAll(op.String(), "-", "_"))] = uint64(op)
	}
	for name, v := range have {
		if w, ok := want[name]; !ok || w != v {
			t.Errorf("%s is %d in Go, %d in record.h (there: %v)", name, v, w, ok)
		}
	}
	for name := range want {
		for _, family := range []string{"OP_", "REC_", "SITE_", "ACTION_", "FROM_", "SUCCESS_", "TOUCH_", "SCALE_", "TIMES_", "CHANNEL_"} {
			if _, ok := have[name]; !ok && strings.HasPrefix(name, family) {
				t.Errorf("Go does not know %s", name)
			}
		}
	}
}

// TestLimits: what Go takes for the size of a map or a loop is what it is.
func TestLimits(t *testing.T) {
	spec, err := LoadTracepredict()
	if err != nil {
		t.Fatal(err)
	}
	if n := spec.Maps["sites"].MaxEntries; n != MaxSites {
		t.Errorf("the map holds %d sites, want %d", n, MaxSites)
	}
	if n := spec.Maps["place_hits"].MaxEntries; n != MaxPlaces {
		t.Errorf("the map holds %d places, want %d", n, MaxPlaces)
	}
	if n := len(StackPart{}.Data); n != StackPartBytes {
		t.Errorf("a part of a stack holds %d bytes, want %d", n, StackPartBytes)
	}
	if n := len(StackRecord{}.Regs); n != MaxRegs {
		t.Errorf("a stack record holds %d registers, want %d", n, MaxRegs)
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
