package unwind

import (
	elffile "github.com/tracepredict/tracepredict/probes/elf"
)

// Call frame instructions: DWARF 5, section 7.24, and those of vendors.
const (
	cfaNop               = 0x00
	cfaSetLoc            = 0x01
	cfaAdvance1          = 0x02
	cfaAdvance2          = 0x03
	cfaAdvance4          = 0x04
	cfaOffsetExtended    = 0x05
	cfaRestoreExtended   = 0x06
	cfaUndefined         = 0x07
	cfaSameValue         = 0x08
	cfaRegister          = 0x09
	cfaRememberState     = 0x0a
	cfaRestoreState      = 0x0b
	cfaDefCFA            = 0x0c
	cfaDefCFARegister    = 0x0d
	cfaDefCFAOffset      = 0x0e
	cfaDefCFAExpression  = 0x0f
	cfaExpression        = 0x10
	cfaOffsetExtendedSF  = 0x11
	cfaDefCFASF          = 0x12
	cfaDefCFAOffsetSF    = 0x13
	cfaValOffset         = 0x14
	cfaValOffsetSF       = 0x15
	cfaValExpression     = 0x16
	cfaAdvance8          = 0x1d // MIPS
	cfaNegateRAStatePC   = 0x2c // arm64: the signature depends on the PC too
	cfaNegateRAState     = 0x2d // arm64
	cfaArgsSize          = 0x2e // GNU: number of pushed bytes, which the CFA includes already
	cfaNegOffsetExtended = 0x2f // GNU
)

// extended executes an instruction whose opcode takes a whole byte.
func (m *machine) extended(op byte, c *cie, r *elffile.Cursor) bool {
	switch op {
	case cfaNop:
	case cfaSetLoc:
		to, ok := r.Pointer(c.enc)
		m.loc = to
		return ok
	case cfaAdvance1:
		m.loc += uint64(r.U8()) * c.codeAlign
	case cfaAdvance2:
		m.loc += uint64(r.U16()) * c.codeAlign
	case cfaAdvance4:
		m.loc += uint64(r.U32()) * c.codeAlign
	case cfaAdvance8:
		m.loc += r.U64() * c.codeAlign
	case cfaRememberState:
		if len(m.savedStates) >= maxRemembered {
			return false
		}
		m.savedStates = append(m.savedStates, saved{m.cfa, m.base, m.rules, m.signed})
	case cfaRestoreState:
		last := len(m.savedStates) - 1
		if last < 0 {
			return false
		}
		s := &m.savedStates[last]
		m.cfa, m.base, m.rules, m.signed = s.cfa, s.base, s.rules, s.signed
		m.savedStates = m.savedStates[:last]
	case cfaNegateRAState, cfaNegateRAStatePC:
		m.signed = !m.signed
	case cfaArgsSize:
		r.LEB(false)
	case cfaDefCFA, cfaDefCFASF, cfaDefCFARegister, cfaDefCFAOffset, cfaDefCFAOffsetSF, cfaDefCFAExpression:
		return m.defineCFA(op, c, r)
	default:
		return m.defineRule(op, c, r)
	}
	return true
}

func (m *machine) defineCFA(op byte, c *cie, r *elffile.Cursor) bool {
	switch op {
	case cfaDefCFA, cfaDefCFASF, cfaDefCFARegister:
		m.base = int(min(r.LEB(false), columns))
	case cfaDefCFAExpression:
		m.cfa, m.base = rule{kind: isExpr, expr: r.Take(r.LEB(false))}, -1
		return true
	}
	offset := m.cfa.n
	switch op {
	case cfaDefCFA, cfaDefCFAOffset:
		offset = int64(r.LEB(false))
	case cfaDefCFASF, cfaDefCFAOffsetSF:
		offset = int64(r.LEB(true) * c.dataAlign)
	}
	m.cfa = rule{kind: atOffset, n: offset}
	return m.base >= 0 // an offset alone needs a register defined before
}

func (m *machine) defineRule(op byte, c *cie, r *elffile.Cursor) bool {
	column := r.LEB(false)
	switch op {
	case cfaOffsetExtended:
		m.set(column, rule{kind: atOffset, n: int64(r.LEB(false) * c.dataAlign)})
	case cfaOffsetExtendedSF:
		m.set(column, rule{kind: atOffset, n: int64(r.LEB(true) * c.dataAlign)})
	case cfaNegOffsetExtended:
		m.set(column, rule{kind: atOffset, n: -int64(r.LEB(false) * c.dataAlign)})
	case cfaRestoreExtended:
		m.restore(column)
	case cfaUndefined:
		m.set(column, rule{kind: undefined})
	case cfaSameValue:
		m.set(column, rule{kind: sameValue})
	case cfaRegister:
		m.set(column, rule{kind: inRegister, n: int64(min(r.LEB(false), columns))})
	case cfaExpression:
		m.set(column, rule{kind: atExpr, expr: r.Take(r.LEB(false))})
	case cfaValOffset:
		m.set(column, rule{kind: isOffset, n: int64(r.LEB(false) * c.dataAlign)})
	case cfaValOffsetSF:
		m.set(column, rule{kind: isOffset, n: int64(r.LEB(true) * c.dataAlign)})
	case cfaValExpression:
		m.set(column, rule{kind: isExpr, expr: r.Take(r.LEB(false))})
	default:
		return false
	}
	return true
}
