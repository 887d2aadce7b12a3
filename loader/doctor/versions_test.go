package doctor

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/loader/need"
)

// documentedVersions returns the first versions of Linux that the tables of docs/privileges.md name, by feature: those
// that doctor checks, and others.
func documentedVersions(t *testing.T) (checked, others map[string]string) {
	t.Helper()
	page, err := os.ReadFile("../../docs/privileges.md")
	if err != nil {
		t.Fatal(err)
	}
	checked, others = map[string]string{}, map[string]string{}
	var table map[string]string
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(line, " | ")
		switch {
		case strings.HasPrefix(line, "| checked by `doctor` | first Linux |"):
			table = checked
		case strings.HasPrefix(line, "| feature | first Linux |"):
			table = others
		case !strings.HasPrefix(line, "| "):
			table = nil
		case table != nil && len(cells) == 3 && cells[1] != "---":
			for _, name := range strings.Split(strings.TrimPrefix(cells[0], "| "), ", ") {
				table[strings.Trim(name, "`")] = cells[1]
			}
		}
	}
	if len(checked) < 10 || len(others) < 10 {
		t.Fatalf("docs/privileges.md has the tables\n%v\n%v", checked, others)
	}
	return checked, others
}

// TestVersionsAreDocumented: the table of docs/privileges.md has each feature that doctor checks and that has a first
// version, with that version, and no other.
func TestVersionsAreDocumented(t *testing.T) {
	checked, others := documentedVersions(t)
	for _, f := range allFeatures(need.Read()) {
		if got := checked[f.name]; got != f.since {
			t.Errorf("%s: docs/privileges.md has %q, doctor %q", f.name, got, f.since)
		}
		delete(checked, f.name)
	}
	for name := range checked {
		t.Errorf("docs/privileges.md has %q, which doctor does not check", name)
	}
	for name, version := range others {
		if need.OlderThan(need.MinimumKernel, version) {
			t.Errorf("%s is in Linux since %s, later than %s", name, version, need.MinimumKernel)
		}
	}
}

// snake returns the kernel's name of a helper by that of its constant, FnMapLookupElem.
func snake(constant string) string {
	var name strings.Builder
	name.WriteString("bpf")
	for _, r := range strings.TrimPrefix(constant, "Fn") {
		if unicode.IsUpper(r) {
			name.WriteByte('_')
		}
		name.WriteRune(unicode.ToLower(r))
	}
	return name.String()
}

// kinds are the names of the kinds of maps and programs that may be used.
var (
	mapKinds = map[ebpf.MapType]string{
		ebpf.Hash: "BPF_MAP_TYPE_HASH", ebpf.Array: "BPF_MAP_TYPE_ARRAY", ebpf.PerCPUArray: "BPF_MAP_TYPE_PERCPU_ARRAY",
		ebpf.LRUHash: "BPF_MAP_TYPE_LRU_HASH", ebpf.RingBuf: "BPF_MAP_TYPE_RINGBUF", ebpf.ArrayOfMaps: "BPF_MAP_TYPE_ARRAY_OF_MAPS",
	}
	programKinds = map[ebpf.ProgramType]string{ebpf.PerfEvent: "BPF_PROG_TYPE_PERF_EVENT", ebpf.RawTracepoint: "BPF_PROG_TYPE_RAW_TRACEPOINT"}
)

// TestUsedIsDocumented: the table has each helper that the BPF programs call, and each kind of map and program, and no
// helper or kind that they do not use.
func TestUsedIsDocumented(t *testing.T) {
	spec, err := bpf.LoadTracepredict()
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	all := slices.Collect(maps.Values(spec.Maps))
	for _, m := range spec.Maps {
		if m.InnerMap != nil {
			all = append(all, m.InnerMap)
		}
	}
	for _, m := range all {
		if mapKinds[m.Type] == "" {
			t.Errorf("map %s is a %s, which this test does not know", m.Name, m.Type)
		}
		used[mapKinds[m.Type]] = true
	}
	for _, p := range spec.Programs {
		switch kind := programKinds[p.Type]; {
		case kind != "":
			used[kind] = true
		case p.Name == "on_step": // which tests alone load
			continue
		case p.AttachType == ebpf.AttachTraceUprobeMulti:
			used["BPF_TRACE_UPROBE_MULTI"] = true
		case p.Type != ebpf.Tracing: // those are what doctor checks: tracepoints, the iterator
			t.Errorf("program %s is a %s, which this test does not know", p.Name, p.Type)
		}
		for i := range p.Instructions {
			if ins := &p.Instructions[i]; ins.IsBuiltinCall() {
				used[snake(asm.BuiltinFunc(ins.Constant).String())] = true
			}
		}
	}
	_, others := documentedVersions(t)
	for name := range used {
		if others[name] == "" {
			t.Errorf("docs/privileges.md does not have %s", name)
		}
	}
	for name := range others {
		ours := strings.HasPrefix(name, "bpf_") || strings.HasPrefix(name, "BPF_MAP_TYPE_") || strings.HasPrefix(name, "BPF_PROG_TYPE_") || strings.HasPrefix(name, "BPF_TRACE_")
		if ours && !used[name] {
			t.Errorf("docs/privileges.md has %s, which is not used", name)
		}
	}
}
