package cheapsite

import (
	"fmt"
	"strings"

	"github.com/tracepredict/tracepredict/probes/code"
	"github.com/tracepredict/tracepredict/probes/insn"
)

// maxSlide bounds the number of instructions that a probe may pass. Basic blocks are rarely longer,
// and the further a probe moves, the later its record.
const maxSlide = 32

// slide is the search for a cheaper site along the straight line of code from At.
type slide struct {
	im    *Image
	w     *Want
	ext   *code.Extent
	reads insn.RegSet // registers that must not be written, without sp
	sp    bool        // whether the probe reads the stack
	delta int64       // sp at At minus sp at the current instruction, in bytes
	arch  insn.Arch
}

// Place finds the site for a probe. It fails if the instruction at w.At cannot be read or decoded.
// A site that the kernel refuses is no error; its Class is Refused.
func (im *Image) Place(w Want) (Site, error) {
	at, err := im.Decode(w.At)
	if err != nil {
		return Site{}, fmt.Errorf("place a probe at 0x%x: %w", w.At, err)
	}
	s := im.slide(&w)
	site, why := s.place(&at)
	site.Why = s.explain(&site, why)
	site.Loops = w.Sense != After && s.loops()
	return site, nil
}

// reason is why a probe sits where it does, which only some callers want in words.
type reason struct {
	kind reasonKind
	text string // fixed words
	at   uint64 // the address of an instruction
}

type reasonKind uint8

const (
	reasonNone      reasonKind = iota
	reasonText                 // text alone
	reasonAt                   // text, then how far the instruction is from At
	reasonObstacle             // text is why the probe may not pass the instruction
	reasonUndecoded            // the instruction does not decode
	reasonFar                  // no site is near
	reasonName                 // the instruction is the site
)

// explain returns a reason in words; "" if they are left out.
func (s *slide) explain(site *Site, why reason) string {
	if s.im.Terse && site.Class != Refused && !(site.Before && s.w.Flags) {
		return ""
	}
	switch why.kind {
	case reasonText:
		return "stays: " + why.text
	case reasonAt:
		return fmt.Sprintf("stays: %s %s", why.text, s.offset(why.at))
	case reasonObstacle:
		return fmt.Sprintf("stays: %s (%s)", why.text, s.name(why.at))
	case reasonUndecoded:
		return fmt.Sprintf("stays: %s does not decode", s.offset(why.at))
	case reasonFar:
		return fmt.Sprintf("stays: no instruction that the kernel emulates within %d", maxSlide)
	case reasonName:
		return s.name(why.at)
	}
	return ""
}

// loops reports whether a direct jump of the same extent leads to At.
func (s *slide) loops() bool {
	return s.ext != nil && s.im.jumps(s.ext.Range, func(in *insn.Inst) bool { return in.Target == s.w.At }) || s.im.Work == 0
}

func (s *slide) place(at *insn.Inst) (Site, reason) {
	w := s.w
	mustMove := w.Sense == After && (len(w.Mem) > 0 || w.Flags)
	stay := s.stay(at, mustMove)
	if stay.Class == Emulated && !mustMove {
		return stay, reason{kind: reasonName, at: at.Addr}
	}
	best, why := s.search(at, mustMove || stay.Class == Refused)
	if best.Class == Emulated || best.Moved && (mustMove || stay.Class == Refused) {
		return best, reason{kind: reasonName, at: best.Addr}
	}
	return stay, why
}

func (im *Image) slide(w *Want) *slide {
	s := &slide{im: im, w: w, ext: im.ExtentAt(w.At), arch: im.Arch()}
	sp := im.Arch().SP()
	s.reads = w.Reads
	for i := range w.Mem {
		s.reads = s.reads.With(w.Mem[i].Base).With(w.Mem[i].Index)
	}
	s.sp = s.reads.Has(sp) || w.Return
	s.reads &^= insn.RegSet(0).With(sp)
	if w.Return && im.Arch() == insn.ARM64 {
		s.reads = s.reads.With(30) // lr, which holds the return address
	}
	return s
}

// stay returns the site at At itself.
func (s *slide) stay(at *insn.Inst, before bool) Site {
	class := classOf(at)
	if at.RedZone && s.begins(at.Addr) {
		class = Emulated
	}
	return Site{Addr: at.Addr, Class: class, Before: before}
}

// begins reports whether addr is the first instruction of a function, where no data lies below sp
// yet.
func (s *slide) begins(addr uint64) bool {
	return s.ext != nil && (addr == s.ext.Lo || addr == s.ext.Lo+4 && s.im.IsMark(s.ext.Lo))
}

func classOf(in *insn.Inst) Class {
	switch {
	case in.Refused || in.RedZone:
		return Refused
	case in.Emulated:
		return Emulated
	}
	return Stepped
}

// name returns a site's name for people: mnemonic and offset from At.
func (s *slide) name(addr uint64) string {
	text := s.im.Format(addr)
	op, _, _ := strings.Cut(strings.TrimPrefix(text, "bnd "), " ")
	return fmt.Sprintf("%s %s", op, s.offset(addr))
}

func (s *slide) offset(addr uint64) string {
	if addr < s.w.At {
		return fmt.Sprintf("-0x%x", s.w.At-addr)
	}
	return fmt.Sprintf("+0x%x", addr-s.w.At)
}

// search walks on from At. It returns the first emulated site or, if any is set and there is none,
// the first site that accepts a probe. Otherwise it returns the reason why there is none.
func (s *slide) search(at *insn.Inst, any bool) (Site, reason) {
	var fallback Site
	if why := s.closed(); why.kind != reasonNone {
		return fallback, why
	}
	in := *at
	for range maxSlide {
		if in.Addr != at.Addr && s.im.Edges[in.Addr] {
			return fallback, reason{reasonAt, "lines that are observed begin or end at", in.Addr}
		}
		if why := s.obstacle(&in); why.kind != reasonNone {
			return fallback, why
		}
		if why := s.landingInside(&in); why.kind != reasonNone {
			return fallback, why
		}
		s.delta -= in.SPChange
		next := in.End()
		if s.delta < 0 && s.readsStack() {
			return fallback, reason{reasonAt, "the stack that the probe reads is given back at", in.Addr}
		}
		if why := s.blocked(next); why.kind != reasonNone {
			return fallback, why
		}
		var err error
		if in, err = s.im.Decode(next); err != nil {
			return fallback, reason{reasonUndecoded, "", next}
		}
		if why := s.landingInside(&in); why.kind != reasonNone {
			return fallback, why
		}
		class := classOf(&in)
		if class == Refused || s.w.Return && s.delta != 0 {
			continue
		}
		here := Site{Addr: next, Class: class, Moved: true, SPDelta: s.delta}
		if class == Emulated {
			return here, reason{}
		}
		if any && !fallback.Moved {
			fallback = here
		}
	}
	return fallback, reason{kind: reasonFar}
}

// closed returns the reason why no probe may move in this function; "" if one may.
func (s *slide) closed() reason {
	switch {
	case s.ext == nil:
		return reason{kind: reasonText, text: "the function's extent is not known"}
	}
	s.im.Landings()
	switch {
	case s.ext.Untiled:
		return reason{kind: reasonText, text: "there is data in the function's code"}
	case s.ext.Open:
		return reason{kind: reasonText, text: "an indirect jump of the function may land anywhere in it"}
	}
	return reason{}
}

// blocked returns the reason why the probe may neither move to addr nor pass it; "" if it may.
func (s *slide) blocked(addr uint64) reason {
	switch {
	case !s.ext.Contains(addr):
		return reason{reasonAt, "the function ends at", addr}
	case s.im.Landings().Has(addr):
		return reason{reasonAt, "a branch may land at", addr}
	case s.w.Stop != nil && s.w.Stop(addr):
		return reason{reasonAt, "another probe's operation begins at", addr}
	}
	return reason{}
}

// landingInside returns the reason why the probe may neither pass in nor sit on it, which is that a
// branch lands inside it, so that control may reach the code after it in another way; "" if none
// does. A branch that skips the lock prefix of the probe's own instruction does not count: it
// performs the same operation, without the lock that a single-threaded process does not need. Nor
// do the branches count that bytes between functions would be, if they were code: they lie inside
// instructions as often as not.
func (s *slide) landingInside(in *insn.Inst) reason {
	for to := in.Addr + 1; to < in.End(); to++ {
		if s.im.Landings().Certain(to) && !(in.Addr == s.w.At && to == in.Addr+1 && s.im.lockPrefix(in.Addr)) {
			return reason{reasonAt, "a branch may land inside of an instruction, at", to}
		}
	}
	return reason{}
}

// lockPrefix reports whether the instruction at addr begins with a lock prefix.
func (im *Image) lockPrefix(addr uint64) bool {
	b, err := im.Bytes(addr, 1)
	return err == nil && im.Arch() == insn.AMD64 && b[0] == 0xf0
}

// obstacle returns the reason why the probe may not pass in; "" if it may.
func (s *slide) obstacle(in *insn.Inst) reason {
	own := s.w.Sense == After && in.Addr == s.w.At // the access itself
	why := ""
	switch {
	case !in.Kind.Straight():
		why = "control may leave"
	case in.SPLost:
		why = "the stack pointer is set"
	case own && s.losesMem(in):
		why = "it changes the address of what the probe reads"
	case own:
		return reason{}
	case !in.Known:
		why = "an instruction that is not modelled"
	case in.Locked && s.w.Sense != Entry:
		why = "synchronisation"
	case in.Writes&s.reads != 0 || s.w.Flags && !in.KeepsFlags:
		why = "it writes what the probe reads"
	default:
		why = s.store(in)
	}
	if why == "" {
		return reason{}
	}
	return reason{reasonObstacle, why, in.Addr}
}

// losesMem reports whether the access itself overwrites a register of its operand's address, so
// that the address is not known after it.
func (s *slide) losesMem(in *insn.Inst) bool {
	for i := range s.w.Mem {
		m := &s.w.Mem[i]
		if !m.Fixed && (!in.Known || in.Writes.Has(m.Base) || in.Writes.Has(m.Index)) {
			return true
		}
	}
	return false
}

// store returns the reason why the probe may not pass the memory writes of in; "" if it may.
func (s *slide) store(in *insn.Inst) string {
	if in.StackWrite && !s.mayPush(in) {
		return "it overwrites stack that the probe reads"
	}
	if s.w.Pass != nil && len(s.w.Mem) == 0 && s.w.Pass(in.Addr) {
		return ""
	}
	for i := range in.Mem[:in.NMem] {
		if m := &in.Mem[i]; m.Write && !s.mayStore(m) {
			return "a store"
		}
	}
	return ""
}

// mayPush reports whether the probe may pass a push: the pushed word lies below the stack pointer
// at At, or the probe reads no stack.
func (s *slide) mayPush(in *insn.Inst) bool {
	return !s.readsStack() || s.delta >= 0 && in.SPChange < 0
}

// readsStack reports whether the probe reads memory that may be its thread's stack.
func (s *slide) readsStack() bool {
	if s.sp {
		return true
	}
	for i := range s.w.Mem {
		if !s.w.Mem[i].Fixed {
			return true
		}
	}
	return false
}

// mayStore reports whether the probe may pass a store. It may if the store is to the thread's own
// stack and the probe does not read there. Only an Entry probe that reads no memory passes other
// stores.
func (s *slide) mayStore(m *insn.Mem) bool {
	onStack := m.Base == s.arch.SP() && m.Index == insn.NoReg && !m.Segment
	if !onStack {
		return s.w.Sense == Entry && len(s.w.Mem) == 0
	}
	for i := range s.w.Mem {
		if !s.w.Mem[i].Fixed {
			return false
		}
	}
	if !s.sp {
		return true
	}
	// The stored bytes must end below sp at At.
	return m.Size > 0 && m.Disp-s.delta+int64(m.Size) <= 0
}

// PlaceReturn finds the site for a probe of the return instruction at ret that reads the given
// registers. The site may be an earlier instruction of the straight line that ends in ret, under
// the rules of Before; sp at ret, where the return address lies, is sp there plus SPDelta.
// PlaceReturn fails as Place does.
func (im *Image) PlaceReturn(ret uint64, reads insn.RegSet) (Site, error) {
	at, err := im.Decode(ret)
	if err != nil {
		return Site{}, fmt.Errorf("place a probe at the return 0x%x: %w", ret, err)
	}
	s := im.slide(&Want{At: ret, Reads: reads &^ insn.RegSet(0).With(im.Arch().SP()), Sense: Before})
	site, why := s.placeReturn(&at)
	site.Why = s.explain(&site, why)
	return site, nil
}

func (s *slide) placeReturn(at *insn.Inst) (Site, reason) {
	stay := s.stay(at, false)
	if stay.Class == Emulated {
		return stay, reason{kind: reasonName, at: at.Addr}
	}
	if why := s.closed(); why.kind != reasonNone {
		return stay, why
	}
	return s.searchBack(stay)
}

// searchBack searches backwards from a return for an emulated instruction.
func (s *slide) searchBack(stay Site) (Site, reason) {
	line := s.lineTo(stay.Addr)
	next := stay.Addr
	for i := len(line) - 1; i >= 0; i-- {
		in := &line[i]
		if s.im.Landings().Has(next) {
			return stay, reason{reasonAt, "a branch may land at", next}
		}
		if why := s.obstacle(in); why.kind != reasonNone {
			return stay, why
		}
		if why := s.landingInside(in); why.kind != reasonNone {
			return stay, why
		}
		s.delta += in.SPChange
		if classOf(in) == Emulated {
			return Site{Addr: in.Addr, Class: Emulated, Moved: true, SPDelta: s.delta}, reason{kind: reasonName, at: in.Addr}
		}
		next = in.Addr
	}
	return stay, reason{kind: reasonText, text: "no instruction before it that the kernel emulates"}
}

// LineBefore returns the instructions before addr that are certain to be executed, one after the
// other, whenever addr is reached: control does not leave between them and no branch lands after
// the first. It returns none if that cannot be proven.
func (im *Image) LineBefore(addr uint64) []insn.Inst {
	s := im.slide(&Want{At: addr})
	if s.closed().kind != reasonNone {
		return nil
	}
	line := s.lineTo(addr)
	next := addr
	for i := len(line) - 1; i >= 0; i-- {
		in := &line[i]
		if s.im.Landings().Has(next) || s.landingInside(in).kind != reasonNone || !in.Kind.Straight() {
			return line[i+1:]
		}
		next = in.Addr
	}
	return line
}

// lineTo returns the last instructions of the extent before addr, at most maxSlide.
func (s *slide) lineTo(addr uint64) []insn.Inst {
	var line []insn.Inst
	s.im.Sweep(s.ext.Range, func(in *insn.Inst) bool {
		if in.Addr >= addr {
			return false
		}
		if len(line) == maxSlide {
			line = append(line[:0], line[1:]...)
		}
		line = append(line, *in)
		return true
	})
	if s.im.Work == 0 {
		return nil // the sweep did not get as far as addr
	}
	return line
}
