package attach

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/internal/safely"
	"github.com/tracepredict/tracepredict/loader/need"
)

// ErrNotLoaded means that the kernel does not accept a BPF program.
var ErrNotLoaded = errors.New("load a BPF program")

// programs are the BPF programs of a Tracer. Each is loaded when it is needed for the first time: the kernel takes
// longer to verify all of them than many a program runs.
type programs struct {
	spec  *ebpf.CollectionSpec
	maps  map[string]*ebpf.Map // those that the programs use
	types *btf.Cache           // of the kernel: reading them takes as long as verifying a small program
	early safely.Group         // goroutines of ahead

	mu     sync.Mutex // guards the fields below; acquired after Tracer.mu
	loaded map[loadedAs]*loaded
}

// loaded is a program that was loaded, or is being loaded.
type loaded struct {
	once sync.Once
	prog *ebpf.Program
	err  error
}

// newPrograms creates the maps of the BPF programs, assigns them to objs, and loads no program.
func newPrograms(spec *ebpf.CollectionSpec, objs *objects) (*programs, error) {
	p := &programs{spec: spec, types: btf.NewCache(), loaded: map[loadedAs]*loaded{}}
	coll, err := ebpf.NewCollectionWithOptions(p.part(""), ebpf.CollectionOptions{Cache: p.types})
	if err != nil {
		return nil, need.ExplainLoad(err)
	}
	p.maps = maps.Clone(coll.Maps)
	if err := coll.Assign(objs); err != nil {
		coll.Close()
		return nil, fmt.Errorf("find the maps of the BPF object: %w", err)
	}
	return p, nil
}

// objects are the maps and the variables of the BPF programs.
type objects struct {
	bpf.TracepredictMaps
	bpf.TracepredictVariables
}

// part returns a description of the BPF object that has one program alone, and the maps that it uses; with "" it has no
// program, and all maps.
func (p *programs) part(name string) *ebpf.CollectionSpec {
	part := *p.spec
	part.Programs = map[string]*ebpf.ProgramSpec{}
	if name == "" {
		return &part
	}
	prog := p.spec.Programs[name]
	part.Programs[name], part.Maps = prog, map[string]*ebpf.MapSpec{}
	part.Variables = nil // they have their values in the maps
	for i := range prog.Instructions {
		if ins := &prog.Instructions[i]; ins.IsLoadFromMap() && ins.Reference() != "" { // otherwise it is a monitor's own map
			part.Maps[ins.Reference()] = p.spec.Maps[ins.Reference()]
		}
	}
	return &part
}

// used returns the maps that a part of the BPF object has.
func (p *programs) used(part *ebpf.CollectionSpec) map[string]*ebpf.Map {
	used := map[string]*ebpf.Map{}
	for name := range part.Maps {
		used[name] = p.maps[name]
	}
	return used
}

// way is how a program of probes is attached.
type way int

const (
	manyProbes way = iota // by uprobe_multi links
	oneProbe              // by perf events
)

// loadedAs is a program as it is loaded.
type loadedAs struct {
	name string
	way  way
}

// get returns a program, which it loads if that is necessary.
func (p *programs) get(name string) (*ebpf.Program, error) { return p.as(loadedAs{name, manyProbes}) }

// single returns a program of probes for the probe of a perf event, which it loads if that is necessary.
func (p *programs) single(name string) (*ebpf.Program, error) { return p.as(loadedAs{name, oneProbe}) }

func (p *programs) as(key loadedAs) (*ebpf.Program, error) {
	p.mu.Lock()
	l := p.loaded[key]
	if l == nil {
		l = &loaded{}
		p.loaded[key] = l
	}
	p.mu.Unlock()
	l.once.Do(func() { l.prog, l.err = p.load(key) })
	return l.prog, l.err
}

// load loads a program.
func (p *programs) load(key loadedAs) (*ebpf.Program, error) {
	name := key.name
	part := p.part(name)
	if key.way == oneProbe {
		single := part.Programs[name].Copy()
		single.AttachType = ebpf.AttachNone
		part.Programs[name] = single
	}
	coll, err := ebpf.NewCollectionWithOptions(part, ebpf.CollectionOptions{MapReplacements: p.used(part), Cache: p.types})
	if err != nil {
		return nil, errors.Join(ErrNotLoaded, need.ExplainLoad(err))
	}
	defer coll.Close()
	return coll.DetachProgram(name), nil
}

// ahead begins to load programs, one after the other, that will be needed. Who needs one first waits for it, and gets
// its error.
func (p *programs) ahead(names ...string) {
	p.early.Go(func() {
		for _, name := range names {
			_, _ = p.get(name)
		}
	})
}

// loadAll loads all programs.
func (p *programs) loadAll() error {
	for _, name := range slices.Sorted(maps.Keys(p.spec.Programs)) {
		if _, err := p.get(name); err != nil {
			return err
		}
	}
	return nil
}

// close unloads the programs, and frees the maps.
func (p *programs) close() error {
	p.early.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	var errs []error
	for _, l := range p.loaded {
		if l.prog != nil {
			errs = append(errs, l.prog.Close())
		}
	}
	for _, m := range p.maps {
		errs = append(errs, m.Close())
	}
	return errors.Join(errs...)
}
