package live

import (
	"fmt"
	"path"

	"github.com/tracepredict/tracepredict/loader"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/probes"
	"github.com/tracepredict/tracepredict/probes/between"
	"github.com/tracepredict/tracepredict/probes/elf"
)

// siteOf is a site of a module, by its index in the plan.
type siteOf struct {
	module *loader.Module
	index  int
}

// noSite is what examiner.unrecorded returns for an instruction all of whose accesses no site observes.
const noSite = loader.NotToTheEnd + 1

// unrecorded returns why the accesses of an instruction, of size bytes each, were not all recorded while a span was
// executed; loader.RecordedAll if they were.
func (x *examiner) unrecorded(f *elf.File, pc uint64, size int, s event.Span) loader.Unrecorded {
	why := loader.Unrecorded(noSite)
	for _, at := range x.sitesAt(f, pc) {
		if site := &at.module.Plan.Sites[at.index]; !x.wholly(site, size) {
			return noSite
		}
		if why = x.link.Session.Unrecorded(x.pid, at.module, at.index, s.Since, s.Until); why != loader.RecordedAll {
			return why
		}
	}
	return why
}

// sitesAt returns the sites that observe what an instruction accesses, or what the function of the C library
// accesses that it calls.
func (x *examiner) sitesAt(f *elf.File, pc uint64) []siteOf {
	all, known := x.accesses[f]
	if !known {
		all = map[uint64][]siteOf{}
		x.accesses[f] = all
		for _, m := range x.link.Session.Modules() {
			if m.Bin == f && m.Plan != nil {
				addSites(all, m)
			}
		}
	}
	return all[pc]
}

// addSites adds the sites of a module that observe accesses.
func addSites(all map[uint64][]siteOf, m *loader.Module) {
	for i := range m.Plan.Sites {
		if s := &m.Plan.Sites[i]; s.ObservesAccess() {
			all[s.At] = append(all[s.At], siteOf{m, i})
		}
	}
}

// wholly reports whether a site observes all that an instruction accesses, size bytes, or all that the function
// accesses which it calls.
func (x *examiner) wholly(s *probes.Site, size int) bool {
	switch {
	case s.Callee != "":
		return x.link.lost.CutRanges == 0
	case s.Conditional && s.Program != probes.ProgramPointer:
		return false
	case s.Program == probes.ProgramNamed:
		return size <= int(s.BPF.Access.Width) // else it accesses what is beside the variable too
	}
	return true
}

// whyUnrecorded returns words that say why what a reason speaks of was not recorded, to be put behind it.
func (x *examiner) whyUnrecorded(why between.Why, s event.Span) string {
	at := why.Read
	switch why.Kind {
	case between.Calls:
		for _, seg := range x.link.process.Segments(x.pid) {
			if f := seg.Module.Bin; len(f.Lookup(why.Name)) > 0 && f.FunctionName(f.Lookup(why.Name)[0].Addr) != "" {
				return fmt.Sprintf(", a function of %s whose accesses are not all recorded", path.Base(seg.Module.Path))
			}
		}
		return ", whose accesses are not all recorded"
	case between.Writes:
		at = why.At
	}
	f, bias, ok := x.Code(at)
	if at == 0 || !ok {
		return ""
	}
	switch x.unrecorded(f, at-bias, 0, s) {
	case loader.RecordedAll:
		return ""
	case loader.InSamples:
		if name := f.FunctionName(entryOf(f, at-bias)); name != "" {
			return ", and accesses in " + name + " were observed in samples"
		}
		return ", where accesses were observed in samples"
	case loader.NotYet:
		return ", where no probe was in yet"
	case loader.NotToTheEnd:
		return ", where a variable was not watched to the end"
	}
	return ", which is not recorded"
}

// entryOf returns where the function begins that has an instruction; 0 if that is not known.
func entryOf(f *elf.File, pc uint64) uint64 {
	fn, _ := f.FunctionAt(pc)
	return fn.Lo
}
