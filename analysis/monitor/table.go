package monitor

// Table is a ThreeValued whose states are numbered from 0, the first one, and whose transitions are written out.
type Table struct {
	Propositions int
	Next         []uint8   // by state<<Propositions + letter
	Verdicts     []Verdict // by state
}

// MaxTableStates is the most states that a Table has.
const MaxTableStates = 255

// Table returns the table of a monitor over so many propositions. It is nil if the monitor has more than MaxTableStates
// states, or more than 7 propositions.
func (m *ThreeValued) Table(propositions int) *Table {
	if propositions > 7 {
		return nil
	}
	t := &Table{Propositions: propositions}
	number := map[Pair]int{m.Start(): 0}
	states := []Pair{m.Start()}
	for i := 0; i < len(states); i++ {
		t.Verdicts = append(t.Verdicts, m.Verdict(states[i]))
		for l := Letter(0); l < 1<<propositions; l++ {
			to := m.Next(states[i], l)
			n, known := number[to]
			if !known {
				n = len(states)
				if n == MaxTableStates {
					return nil
				}
				number[to] = n
				states = append(states, to)
			}
			t.Next = append(t.Next, uint8(n))
		}
	}
	return t
}
