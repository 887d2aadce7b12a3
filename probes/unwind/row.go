package unwind

import (
	elffile "github.com/tracepredict/tracepredict/probes/elf"
)

// ruleKind is the kind of rule by which a register's value in the calling frame is found.
type ruleKind uint8

// Rules of DWARF 5, section 6.4.1.
const (
	unspecified ruleKind = iota
	undefined
	sameValue
	atOffset   // saved at CFA + n
	isOffset   // is CFA + n
	inRegister // is in register n
	atExpr     // saved at the address that the expression computes
	isExpr     // is what the expression computes
)

// rule is the rule by which one value is found.
type rule struct {
	kind ruleKind
	n    int64
	expr []byte
}

// row holds the rules that compute the caller's registers from those at an address.
type row struct {
	cfa    rule // atOffset n from register base, or isExpr
	base   int
	ra     int
	rules  []columnRule // without unspecified rules
	signal bool         // the caller was interrupted by a signal: its program counter is exact
	signed bool         // the return address has an authentication code (arm64)
}

type columnRule struct {
	column int
	rule
}

// machine executes call frame instructions.
type machine struct {
	cfa         rule
	base        int
	rules       [columns]rule
	signed      bool
	loc         uint64
	initial     [columns]rule
	savedStates []saved
}

// saved is the state that DW_CFA_remember_state saves.
type saved struct {
	cfa    rule
	base   int
	rules  [columns]rule
	signed bool
}

// Bounds of a program of call frame instructions: the depth of remembered states, and the size in
// bytes. Compilers nest states two deep, and the instructions for a function of a megabyte take
// some ten kilobytes.
const (
	maxRemembered = 64
	maxProgram    = 1 << 18
)

// rowAt returns the row at addr, by executing an entry's instructions up to it; nil if they are
// invalid.
func (s *section) rowAt(f fde, addr uint64) *row {
	m := machine{loc: f.lo, base: -1}
	if !m.run(f.cie, s.Bytes[f.cie.lo:f.cie.hi], s.Addr+uint64(f.cie.lo), s.Data, ^uint64(0)) {
		return nil
	}
	m.initial, m.loc = m.rules, f.lo
	if !m.run(f.cie, f.program, f.addr, s.Data, addr) || m.cfa.kind == unspecified {
		return nil
	}
	row := &row{cfa: m.cfa, base: m.base, ra: f.cie.ra, signal: f.cie.signal, signed: m.signed}
	for i, r := range m.rules {
		if r.kind != unspecified {
			row.rules = append(row.rules, columnRule{i, r})
		}
	}
	return row
}

// rule returns the rule of a column.
func (r *row) rule(column int) rule {
	for i := range r.rules {
		if r.rules[i].column == column {
			return r.rules[i].rule
		}
	}
	return rule{}
}

// run executes instructions up to the first that applies to code after addr. It returns false if
// they are invalid.
func (m *machine) run(c *cie, program []byte, at, data, addr uint64) bool {
	r := elffile.NewCursor(program[:min(len(program), maxProgram)], at, data)
	for r.Left() > 0 {
		op := r.U8()
		switch op >> 6 {
		case 1: // DW_CFA_advance_loc
			m.loc += uint64(op&0x3f) * c.codeAlign
		case 2: // DW_CFA_offset
			m.set(uint64(op&0x3f), rule{kind: atOffset, n: int64(r.LEB(false) * c.dataAlign)})
		case 3: // DW_CFA_restore
			m.restore(uint64(op & 0x3f))
		default:
			if !m.extended(op, c, &r) {
				return false
			}
		}
		if r.Failed() {
			return false
		}
		if m.loc > addr {
			return true
		}
	}
	return len(program) <= maxProgram
}

func (m *machine) set(column uint64, r rule) {
	if column < columns {
		m.rules[column] = r
	}
}

func (m *machine) restore(column uint64) {
	if column < columns {
		m.rules[column] = m.initial[column]
	}
}
