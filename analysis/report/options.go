package report

// Options are the wishes of whoever reads a report. A format uses those that mean something for it.
type Options struct {
	// Width is the width of the terminal, in columns; 0 means 80, less than 32 means 32.
	// Only fingerprints and source locations may exceed it.
	Width int
	// Color adds terminal escapes. The caller sets it for a terminal, if NO_COLOR is not in
	// the environment.
	Color bool
	// Verbose lists every variable that --watch-shared found, each suppression, all findings with
	// their details, and each frame of the stacks of the sides. By default the text lists a bounded
	// number of the variables that threads share, and the ends of long stacks.
	Verbose bool
	// Complete adds the details of all findings, however many they are, as Verbose does. By
	// default a report of more than ten findings has those of the first ten.
	Complete bool
}
