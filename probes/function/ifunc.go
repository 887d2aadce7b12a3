package function

import (
	"maps"
	"slices"
	"strings"

	"github.com/tracepredict/tracepredict/internal/plural"
	"github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/insn"
)

// An ifunc is a function by name only. Its symbol is that of a resolver, which the dynamic linker
// calls once, and which returns the address of the version for this processor (the GNU extension
// STT_GNU_IFUNC). The selected version is not known in advance. But the resolver's code must
// contain the addresses of all versions, so the versions are those constants in its code that are
// the beginnings of functions. All are observed.

// maxResolver bounds the code of a resolver that is read, in bytes; maxResolvers the number of
// resolvers that are read in a file.
const (
	maxResolver  = 1 << 12
	maxResolvers = 1 << 10
)

// addVersions adds the versions of an ifunc that patterns match.
func (x *finder) addVersions(s elf.Symbol, name string, on []int, best int) {
	versions := x.versions(s.Addr)
	if len(versions) == 0 {
		x.note("%s is chosen when %s is loaded, and it cannot be told among which functions: its calls are not seen", name, x.file.Name())
		return
	}
	for _, addr := range versions {
		x.add(addr, name, on, best)
	}
	text := plural.Sprintf("%s is chosen when %s is loaded, among %d {version|versions}: all are observed", name, x.file.Name(), len(versions))
	if others := x.sharing(name, versions); len(others) > 0 {
		text += "; they are those of " + strings.Join(others, ", ") + " too, whose calls look the same"
	}
	x.note("%s", text)
}

// maxSharing is the maximum number of other names that a note lists.
const maxSharing = 3

// sharing returns the names of other ifuncs that have one of these versions.
func (x *finder) sharing(name string, versions []uint64) []string {
	others := map[string]bool{}
	for _, addr := range versions {
		for _, other := range x.ifuncs()[addr] {
			if other != name {
				others[other] = true
			}
		}
	}
	names := slices.Sorted(maps.Keys(others))
	return names[:min(len(names), maxSharing)]
}

// ifuncs returns the public names of ifuncs, by the addresses of their versions.
func (x *finder) ifuncs() map[uint64][]string {
	if x.byVersion != nil {
		return x.byVersion
	}
	x.byVersion = map[uint64][]string{}
	for _, s := range x.file.Symbols() {
		if s.Kind != elf.IFunc || strings.HasPrefix(s.Name, "_") || !x.isCode(s.Addr) {
			continue
		}
		for _, addr := range x.versions(s.Addr) {
			x.byVersion[addr] = append(x.byVersion[addr], s.Name)
		}
	}
	return x.byVersion
}

// versions returns the beginnings of functions whose addresses the code of a resolver contains,
// sorted.
func (x *finder) versions(resolver uint64) []uint64 {
	if v, ok := x.resolved[resolver]; ok {
		return v
	}
	fn, ok := x.file.FunctionAt(resolver)
	if !ok || len(x.resolved) == maxResolvers {
		return nil
	}
	x.resolved[resolver] = nil
	code, err := x.file.Bytes(resolver, int(min(fn.Hi-resolver, maxResolver)))
	if err != nil {
		return nil
	}
	var found []uint64
	for _, addr := range constants(insn.DecodeRun(nil, x.file.Arch(), code, resolver, nil)) {
		if addr == resolver || !x.isCode(addr) {
			continue
		}
		if to, ok := x.file.FunctionAt(addr); ok && to.Lo == addr {
			found = append(found, addr)
		}
	}
	slices.Sort(found)
	found = slices.Compact(found)
	x.resolved[resolver] = found
	return found
}

// constants returns the constants that the instructions compute, if executed in sequence: by lea,
// by mov of a constant, or by ADRP and an addition.
func constants(body []insn.Inst) (out []uint64) {
	var known [32]bool
	var value [32]uint64
	for i := range body {
		in := &body[i]
		dst, src := in.Sum.Dst, in.Sum.Src
		var v uint64
		ok := false
		switch {
		case !in.Known || int(dst) >= len(known):
		case in.Sum.Const():
			v, ok = uint64(in.Sum.Imm), true
		case in.Sum.Offset() && int(src) < len(known) && known[src]:
			v, ok = value[src]+uint64(in.Sum.Imm), true
		}
		for r := range known {
			known[r] = known[r] && !in.Writes.Has(insn.Reg(r))
		}
		if ok {
			known[dst], value[dst] = true, v
			out = append(out, v)
		}
	}
	return out
}
