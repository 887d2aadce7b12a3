package run

// Locks counts what the analysis of lock orders kept and what its bounds left out.
type Locks struct {
	Edges        int  `json:"nestings"`     // number of lock-order edges that were kept
	Acquisitions int  `json:"acquisitions"` // number of acquisitions of these edges that were kept
	Complete     bool `json:"complete"`     // all cycles of the kept edges were searched and reported, and no edge is missing
}

// Properties describes which properties were checked, and on which part of the runs that the
// observed causality allows.
type Properties struct {
	Names       []string     `json:"names"`
	Window      int          `json:"window"`         // the option, in states of a level; 0: no limit
	Queue       int          `json:"queue"`          // the option, in waiting events; 0: no limit
	Complete    bool         `json:"complete"`       // all such runs were checked
	Levels      uint64       `json:"levels"`         // levels of the computation lattice
	States      uint64       `json:"states"`         // global states on these levels that were built
	Dropped     uint64       `json:"states_dropped"` // states that the window left out
	CutLevels   uint64       `json:"levels_cut"`     // levels with such states
	Late        uint64       `json:"late_events"`    // events that arrived when a level to which they belong was closed
	Widest      int          `json:"widest_level"`   // states of the widest level
	Definitions []Definition `json:"-"`              // one for each name
	Notes       []string     `json:"-"`
}

// Definition is the text of a property, in the words of its specification.
type Definition struct {
	Name, Text string
	Where      []Meaning // the meanings of the names in it
}

// Meaning is a name in a specification with its meaning: a proposition, an event or a
// variable of the program.
type Meaning struct{ Name, Text string }

// Protocols counts what was checked of the protocols of the use of objects.
type Protocols struct {
	Objects   uint64 `json:"objects"`   // of which a call was seen
	Calls     uint64 `json:"calls"`     // on them
	Shared    uint64 `json:"shared"`    // objects that two threads or more used
	Unordered uint64 `json:"unordered"` // objects with calls in an order that other schedules may change
}

// Lattice counts the part of the computation lattice that was built.
type Lattice struct {
	Levels    uint64 `json:"levels"`
	States    uint64 `json:"states"`
	Edges     uint64 `json:"edges"`
	Dropped   uint64 `json:"states_dropped"` // states for which a level had no room
	CutLevels uint64 `json:"levels_cut"`     // levels with such states
	Late      uint64 `json:"late_events"`    // events that arrived when a level to which they belong was closed
	Widest    int    `json:"widest_level"`   // states of the widest level
	Queue     int    `json:"longest_queue"`  // largest number of events that waited at a time
}

// ObjectRaces counts what was compared to find the types with objects whose calls race.
type ObjectRaces struct {
	Calls       uint64 `json:"calls"`          // of objects of typestates
	Tuples      uint64 `json:"tuples"`         // added to the database: object, thread, locks held and call, each once, until the object races
	Evicted     uint64 `json:"tuples_evicted"` // to bound memory
	Objects     uint64 `json:"objects"`
	Racing      uint64 `json:"racing_objects"` // with two calls that race
	Types       int    `json:"types"`          // of the typestates
	RacingTypes int    `json:"racing_types"`   // with a racing object
}
