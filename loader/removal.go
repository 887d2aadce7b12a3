package loader

import (
	"fmt"
	"slices"
	"sync"

	"github.com/tracepredict/tracepredict/internal/safely"
	"github.com/tracepredict/tracepredict/loader/attach"
)

// removableProbes is a group of probes that may be removed while the process runs, and their
// links.
type removableProbes struct {
	name    string // of their variable
	in      string // the function of the only probe of the variable; "" if there may be several
	removed bool   // the probes are removed, or are about to be; used by the reader's goroutine alone

	mu     sync.Mutex // guards the fields below; acquired before the Tracer's
	closed bool       // the probes are removed; no link is added any more
	links  []processLink
}

// processLink is a link and the process that it belongs to.
type processLink struct {
	owner int // process ID
	link  *attach.Link
}

// removeLinks returns the links, which the caller closes, and lets none be added any more.
func (p *removableProbes) removeLinks() []processLink {
	p.mu.Lock()
	defer p.mu.Unlock()
	links := p.links
	p.links, p.closed = nil, true
	return links
}

// remover attaches groups of probes, and removes them. It removes each on a goroutine of its own, because the kernel
// takes long and the reader must not wait.
type remover struct {
	tracer  linker
	notes   *notes
	running safely.Group
}

// attach attaches probes, and adds their link to p. It does nothing if the probes of p
// are removed already.
func (r *remover) attach(p *removableProbes, to attach.LinkTarget, probes []attach.Probe) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil
	}
	l, err := r.tracer.Link(to, probes, 0)
	if err != nil {
		return fmt.Errorf("observe %s: %w", p.name, err)
	}
	r.tracer.SetOwner(to.Owner, l)
	p.links = append(p.links, processLink{to.Owner, l})
	return nil
}

// start starts to remove the probes of p, which are those of what. Unless it is nil, then is called with the processes
// that had them.
func (r *remover) start(p *removableProbes, what string, then func(owners []uint32)) {
	r.running.Go(func() {
		owners, err := r.closeLinks(p)
		if then != nil {
			then(owners)
		}
		if err != nil {
			r.notes.say(fmt.Sprintf("the probes of %s could not be removed: %v", what, err))
		}
	})
}

// closeLinks closes the links of p, and lets none be added any more. It returns the processes to
// which the links belonged.
func (r *remover) closeLinks(p *removableProbes) (owners []uint32, err error) {
	var links []*attach.Link
	for _, l := range p.removeLinks() {
		if owner := uint32(l.owner); !slices.Contains(owners, owner) {
			owners = append(owners, owner)
		}
		if r.tracer.Replace(l.owner, l.link, nil) { // otherwise the process has ended
			links = append(links, l.link)
		}
	}
	return owners, attach.CloseAll(links)
}
