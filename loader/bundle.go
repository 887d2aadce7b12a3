package loader

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/tracepredict/tracepredict/loader/attach"
)

// A bundle is a number of probes of one file, with one BPF program, that have a link together in each process. The
// kernel takes a grace period to close a link, and programs of many files and processes would have tens of thousands
// of them if each probe that may be removed had its own. Instead, the link is replaced by one of the probes that are
// left. Those of one key are removed together.
type bundle[K comparable] struct {
	name string // of what they are part of, in errors

	mu    sync.Mutex // guards links; held while the kernel puts in probes; acquired before asking, and before the Tracer's
	links []bundleLink[K]

	asking  sync.Mutex // guards the fields below
	gone    map[K]bool
	waiting []removal[K]
	running bool // a goroutine replaces links
}

// bundleSize bounds the probes of a bundle: the kernel takes long for a large one, too, and all that are left are put in
// again when one is removed.
const bundleSize = 64

// bundled is a probe of a bundle.
type bundled[K comparable] struct {
	key   K
	probe attach.Probe
}

// bundleLink is the link of a process, and its probes.
type bundleLink[K comparable] struct {
	to     attach.LinkTarget
	link   *attach.Link
	probes []bundled[K]
}

// removal is what is to be removed: the probes of a key, which are those of what. Unless it is nil, then is called with
// the processes that had them.
type removal[K comparable] struct {
	key  K
	what string
	then func(owners []uint32)
}

// linker makes and replaces links; a Tracer is one.
type linker interface {
	Link(to attach.LinkTarget, probes []attach.Probe, generation uint16) (*attach.Link, error)
	SetOwner(owner int, l *attach.Link)
	Replace(owner int, old, next *attach.Link) bool
}

// attach puts in the probes for a process, but for those that were removed.
func (b *bundle[K]) attach(t linker, to attach.LinkTarget, probes []bundled[K]) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	probes = b.left(probes)
	if len(probes) == 0 {
		return nil
	}
	l, err := b.link(t, to, probes)
	if err != nil {
		return err
	}
	t.SetOwner(to.Owner, l.link)
	b.links = append(b.links, l)
	return nil
}

func (b *bundle[K]) link(t linker, to attach.LinkTarget, probes []bundled[K]) (l bundleLink[K], err error) {
	plain := make([]attach.Probe, len(probes))
	for i, p := range probes {
		plain[i] = p.probe
	}
	link, err := t.Link(to, plain, 0)
	if err != nil {
		return l, fmt.Errorf("observe %s: %w", b.name, err)
	}
	return bundleLink[K]{to, link, probes}, nil
}

// left returns the probes that were not removed.
func (b *bundle[K]) left(probes []bundled[K]) []bundled[K] {
	b.asking.Lock()
	defer b.asking.Unlock()
	return slices.DeleteFunc(slices.Clone(probes), func(p bundled[K]) bool { return b.gone[p.key] })
}

// remove has the probes of a key removed, and returns at once. It does nothing if they are already, or are about to be.
func (b *bundle[K]) remove(r *remover, what removal[K]) {
	b.asking.Lock()
	defer b.asking.Unlock()
	if b.gone[what.key] {
		return
	}
	if b.gone == nil {
		b.gone = map[K]bool{}
	}
	b.gone[what.key] = true
	b.waiting = append(b.waiting, what)
	if !b.running {
		b.running = true
		r.running.Go(func() { b.removeAll(r) })
	}
}

// removeAll removes what waits for it, until nothing does.
func (b *bundle[K]) removeAll(r *remover) {
	for {
		b.asking.Lock()
		all := b.waiting
		b.waiting = nil
		if b.running = len(all) > 0; !b.running {
			b.asking.Unlock()
			return
		}
		b.asking.Unlock()
		old, owners, err := b.relink(r.tracer)
		if err = errors.Join(err, attach.CloseAll(old)); err != nil {
			r.notes.say(fmt.Sprintf("the probes of %s could not be removed: %v", all[0].what, err))
		}
		for _, what := range all {
			if what.then != nil {
				what.then(owners[what.key])
			}
		}
	}
}

// relink replaces each link by one of the probes that are left, and returns the links that were replaced, which the
// caller closes, and the processes that had probes of a key. Where this fails, the probes stay.
func (b *bundle[K]) relink(t linker) (old []*attach.Link, owners map[K][]uint32, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	owners = map[K][]uint32{}
	var errs []error
	var links []bundleLink[K]
	for _, l := range b.links {
		next := bundleLink[K]{to: l.to, probes: b.left(l.probes)}
		if len(next.probes) == len(l.probes) {
			links = append(links, l)
			continue
		}
		if len(next.probes) > 0 {
			if next, err = b.link(t, l.to, next.probes); err != nil {
				links = append(links, l)
				if !errors.Is(err, unix.ESRCH) { // otherwise the process has just ended
					errs = append(errs, err)
				}
				continue
			}
		}
		b.addOwners(owners, l)
		if !t.Replace(l.to.Owner, l.link, next.link) { // the process has ended, or executed another program
			if next.link != nil {
				old = append(old, next.link)
			}
			continue
		}
		old = append(old, l.link)
		if next.link != nil {
			links = append(links, next)
		}
	}
	b.links = links
	return old, owners, errors.Join(errs...)
}

// addOwners adds the process of a link to the owners of the keys that were removed.
func (b *bundle[K]) addOwners(owners map[K][]uint32, l bundleLink[K]) {
	b.asking.Lock()
	defer b.asking.Unlock()
	owner := uint32(l.to.Owner)
	for _, p := range l.probes {
		if b.gone[p.key] && !slices.Contains(owners[p.key], owner) {
			owners[p.key] = append(owners[p.key], owner)
		}
	}
}
