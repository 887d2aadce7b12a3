package loader

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/tracepredict/tracepredict/loader/attach"
)

// linksOf stands for a Tracer: it knows which probes each process has, by the links that are not closed.
type linksOf struct {
	links  map[int]map[*attach.Link][]uint32 // the sites, by process
	made   map[*attach.Link][]uint32
	ended  map[int]bool
	refuse error // of the next link
}

func (l *linksOf) Link(to attach.LinkTarget, probes []attach.Probe, _ uint16) (*attach.Link, error) {
	if l.refuse != nil {
		return nil, l.refuse
	}
	link := &attach.Link{}
	for _, p := range probes {
		l.made[link] = append(l.made[link], p.Site)
	}
	return link, nil
}

func (l *linksOf) SetOwner(owner int, link *attach.Link) {
	if l.links[owner] == nil {
		l.links[owner] = map[*attach.Link][]uint32{}
	}
	l.links[owner][link] = l.made[link]
}

func (l *linksOf) Replace(owner int, old, next *attach.Link) bool {
	if l.ended[owner] {
		return false
	}
	delete(l.links[owner], old)
	if next != nil {
		l.SetOwner(owner, next)
	}
	return true
}

// sites returns the sites of a process, in order.
func (l *linksOf) sites(owner int) string {
	var all []uint32
	for _, sites := range l.links[owner] {
		all = append(all, sites...)
	}
	slices.Sort(all)
	return fmt.Sprint(all)
}

// testBundle returns a bundle whose keys have the sites 1 and 2, 3, and 4, which the processes 10 and 11 have.
func testBundle(t *testing.T) (*bundle[string], *linksOf, []bundled[string]) {
	t.Helper()
	l := &linksOf{links: map[int]map[*attach.Link][]uint32{}, made: map[*attach.Link][]uint32{}, ended: map[int]bool{}}
	b := &bundle[string]{name: "/lib"}
	all := []bundled[string]{{"a", attach.Probe{Site: 1}}, {"a", attach.Probe{Site: 2}}, {"b", attach.Probe{Site: 3}}, {"c", attach.Probe{Site: 4}}}
	for _, pid := range []int{10, 11} {
		if err := b.attach(l, attach.LinkTarget{Owner: pid}, all); err != nil {
			t.Fatal(err)
		}
	}
	return b, l, all
}

// remove removes the probes of keys, and returns the processes that had those of each.
func remove(b *bundle[string], l *linksOf, n *notes, keys ...string) map[string]string {
	r := &remover{tracer: l, notes: n}
	owners := map[string]string{}
	b.running = true // until all are asked for
	for _, key := range keys {
		b.remove(r, removal[string]{key, key, func(all []uint32) { owners[key] = fmt.Sprint(all) }})
	}
	b.removeAll(r)
	return owners
}

// TestBundle: what is removed is removed in all processes, those that come later do not have it, and all others have
// the rest.
func TestBundle(t *testing.T) {
	b, l, all := testBundle(t)
	if l.sites(10) != "[1 2 3 4]" || len(l.links[10]) != 1 {
		t.Fatalf("a process has %s by %d links", l.sites(10), len(l.links[10]))
	}
	if owners := remove(b, l, &notes{}, "a", "c", "a"); owners["a"] != "[10 11]" || owners["c"] != "[10 11]" {
		t.Errorf("those that had them: %v", owners)
	}
	if err := b.attach(l, attach.LinkTarget{Owner: 12}, all); err != nil {
		t.Fatal(err)
	}
	for _, pid := range []int{10, 11, 12} {
		if got := l.sites(pid); got != "[3]" {
			t.Errorf("process %d has %s", pid, got)
		}
	}
	if owners := remove(b, l, &notes{}, "b"); owners["b"] != "[10 11 12]" || len(b.links) != 0 {
		t.Errorf("those that had the last one: %v; %d links are left", owners, len(b.links))
	}
	if err := b.attach(l, attach.LinkTarget{Owner: 13}, all); err != nil || l.sites(13) != "[]" {
		t.Errorf("a process has %s when nothing is left: %v", l.sites(13), err)
	}
}

// TestBundleOfEndedProcess: the links of a process that ended are gone, and nothing is put in for it.
func TestBundleOfEndedProcess(t *testing.T) {
	b, l, _ := testBundle(t)
	l.ended[10] = true
	remove(b, l, &notes{}, "b")
	if l.sites(11) != "[1 2 4]" || len(b.links) != 1 {
		t.Errorf("the other one has %s; %d links are left", l.sites(11), len(b.links))
	}
}

// TestBundleNotReplaced: where no link can be made, the old one stays, and a note says so, unless the process has just
// ended.
func TestBundleNotReplaced(t *testing.T) {
	b, l, _ := testBundle(t)
	var n notes
	l.refuse = errors.New("no more")
	remove(b, l, &n, "b")
	if l.sites(10) != "[1 2 3 4]" || len(n.all()) != 1 {
		t.Errorf("the process has %s; notes: %v", l.sites(10), n.all())
	}
	l.refuse = fmt.Errorf("observe: %w", unix.ESRCH)
	remove(b, l, &n, "c")
	if len(n.all()) != 1 {
		t.Errorf("notes: %v", n.all())
	}
	l.refuse = nil
	remove(b, l, &n, "a")
	if l.sites(10) != "[]" {
		t.Errorf("later, the process has %s", l.sites(10))
	}
}
