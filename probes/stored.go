package probes

import (
	"crypto/sha256"
	"fmt"

	"github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/plancache"
	"github.com/tracepredict/tracepredict/probes/variable"
)

// This file keeps plans for other runs. An entry is used only if everything that the plan depends on is
// equal: the tool, the options, the content of the file and of its separate debug file, and the atomic
// variables of the files planned before. Plans for what the user names depend on more, and are not kept.

// dependencies are what the plan of a file depends on, besides the content of files. They are encoded as
// a plan is.
type dependencies struct {
	Tool                                                plancache.Key
	Table                                               [sha256.Size]byte
	Own, Searchable, Described                          bool
	Shared, Pointers, EntrySites, Atomics, Lives, Terse bool
	Futexes, Contended                                  bool
	Sites, Variables                                    int // that there is room for
	Name, BuildID                                       string
	Earlier                                             []variable.Variable // the atomic variables of earlier files
}

// stored is a plan as it is kept. What the plan computes at its first use is computed again.
type stored struct {
	Plan    *Plan
	Settled map[uint64]bool
	Unseen  *elf.Unseen
}

// key returns the key of a file's plan; false if the plan is not kept.
func (p *Planner) key(f *elf.File) (key plancache.Key, ok bool) {
	o := &p.opts
	if o.Cache == nil || len(o.Watch)+len(o.On)+len(o.Objects)+len(o.Hardware)+len(p.fields) > 0 {
		return key, false
	}
	own, left := p.isOwn(f), room{}
	if own {
		left = p.room()
	}
	depends, err := encode(&dependencies{
		Tool: o.Tool, Table: p.tableSum(), Own: own, Searchable: p.searchable(f), Described: p.onlyDescribed(f), Sites: left.sites, Variables: left.variables,
		Shared: o.Shared, Pointers: o.Pointers, EntrySites: o.EntrySites, Atomics: o.Atomics, Lives: o.Lives, Terse: o.Terse, Futexes: o.Futexes, Contended: o.Contended,
		Name: f.Name(), BuildID: f.BuildID(), Earlier: p.atomic,
	}, p.filesWith(f))
	if err != nil {
		return key, false
	}
	return contentKey(f, depends)
}

// contentKey returns the key of what depends on the content of a file and of its separate debug file, and on more.
func contentKey(f *elf.File, more []byte) (key plancache.Key, ok bool) {
	h := sha256.New()
	h.Write(more)
	debug, err := f.DebugFile()
	if err != nil { // the reason why may change
		return key, false
	}
	for _, part := range []*elf.File{f, debug} {
		if part == nil {
			continue
		}
		sum, err := part.Sum()
		if err != nil {
			return key, false
		}
		h.Write(sum[:])
	}
	h.Sum(key[:0])
	return key, true
}

// keeping is where the result of Plan.Unseen is kept: it takes long for much code, is not part of the plans of such
// files, and does not depend on options.
type keeping struct {
	cache *plancache.Cache // nil: it is not kept
	tool  plancache.Key
}

func (k *keeping) key(f *elf.File) (key plancache.Key, ok bool) {
	if k.cache == nil {
		return key, false
	}
	return contentKey(f, append([]byte("unseen"), k.tool[:]...))
}

// load returns what was kept of a file; nil if nothing was.
func (k *keeping) load(f *elf.File) *elf.Unseen {
	var u elf.Unseen
	key, ok := k.key(f)
	if !ok {
		return nil
	}
	if data := k.cache.Load(key); data == nil || decode(data, &u, nil) != nil {
		return nil
	}
	return &u
}

// store keeps the result for a file. That it cannot be kept is no error of the run.
func (k *keeping) store(f *elf.File, u *elf.Unseen) {
	key, ok := k.key(f)
	if !ok || f.LookedFurther() {
		return
	}
	if data, err := encode(u, nil); err == nil {
		_ = k.cache.Store(key, data)
	}
}

// filesWith returns the files that the plan of f may mention. Their order is part of an encoded plan.
func (p *Planner) filesWith(f *elf.File) []*elf.File {
	files := []*elf.File{f}
	for i := range p.atomic {
		if last := p.atomic[i].File; files[len(files)-1] != last {
			files = append(files, last)
		}
	}
	return files
}

// load returns the plan that was kept with a key; nil if there is none.
func (p *Planner) load(f *elf.File, key plancache.Key) *Plan {
	data := p.opts.Cache.Load(key)
	if data == nil {
		return nil
	}
	var s stored
	if decode(data, &s, p.filesWith(f)) != nil || s.Plan == nil || s.Plan.File != f {
		return nil
	}
	plan := s.Plan
	plan.settled, plan.unseen, plan.Cached = s.Settled, s.Unseen, true
	p.files = append(p.files, f)
	p.atomic = append(p.atomic, plan.Atomics...)
	plan.indexNames()
	return plan
}

// store keeps a plan. That a plan cannot be kept is no error of the run: it is made again.
func (p *Planner) store(plan *Plan, key plancache.Key) {
	if plan.File.LookedFurther() {
		return // what is there is not part of the key
	}
	// The atomic variables of the file itself, which are among the planner's now, are no earlier ones.
	before := Planner{atomic: p.atomic[:len(p.atomic)-len(plan.Atomics)]}
	data, err := encode(&stored{Plan: plan, Settled: plan.settled, Unseen: plan.unseen}, before.filesWith(plan.File))
	if err == nil {
		_ = p.opts.Cache.Store(key, data)
	}
}

// notEncodable is an error about a type whose values cannot be kept.
func notEncodable(what any) error { return fmt.Errorf("a value of type %v cannot be kept", what) }
