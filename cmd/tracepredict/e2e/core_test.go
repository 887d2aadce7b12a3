package e2e

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// The core of the end-to-end tests is what go test -short runs of this package, and make
// test with it: a small part that still has something of everything that a user meets.
// The tables of this file say what belongs to it. The tests of this file fail if a page
// of the documentation has a row that the tables lack, or a table names a test that is
// not there.

// coreFindings has, for each row of the two tables of docs/findings.md, an example with
// such a finding and an innocent one.
var coreFindings = []struct {
	row              string // the first cell
	guilty, innocent coreRun
	found            string // what is found in the guilty one
}{
	{"deadlock", coreRun{example: "bank"}, coreRun{example: "cpp_clean"}, "predicted deadlock of accounts, audit"},
	{"race", coreRun{example: "discover", flags: []string{"--watch-shared"}}, coreRun{example: "condvar", flags: []string{"--watch", "depth"}}, "predicted race of visitors"},
	{"misuse", coreRun{example: "misuse"}, coreRun{example: "reinit"}, "observed misuse of order; observed misuse of shelf"},
	{"typestate",
		coreRun{example: "socket", flags: []string{"--spec", "../../../examples/socket/socket.tps"}},
		coreRun{example: "socket_joined", flags: []string{"--spec", "../../../examples/socket/socket.tps"}},
		"predicted typestate of"},
	{"scope",
		coreRun{example: "board", flags: []string{"--spec", "../../../examples/board/board.tps"}},
		coreRun{example: "board_read", flags: []string{"--spec", "../../../examples/board/board.tps"}},
		"observed scope of board_lock"},
	{"property",
		coreRun{example: "the reservoir", flags: []string{"--spec", "../../../examples/valve/valve.tps"}},
		coreRun{example: "the reservoir", flags: []string{"--spec", "testdata/core/valve_holds.tps"}},
		"predicted property of opening, water; predicted property of opening, water"},
	{"knowledge",
		coreRun{example: "loan", flags: []string{"--spec", "../../../examples/loan/loan.tps"}},
		coreRun{example: "loan_told", flags: []string{"--spec", "../../../examples/loan/loan.tps"}},
		"observed knowledge of"},
	{"observed", coreRun{example: "hang", args: []string{"busy"}, flags: []string{"--on-hang=kill"}}, coreRun{example: "gate"}, "observed deadlock of struct account.mu, struct account.mu"},
	{"confirmed", coreRun{example: "errand", flags: []string{"--confirm", "--watch-shared=off"}}, coreRun{example: "gate", flags: []string{"--confirm"}}, "confirmed deadlock of a, b"},
	{"predicted", coreRun{example: "c11"}, coreRun{example: "joined"}, "predicted deadlock of board, knife"},
	{"likely", coreRun{example: "jobs", flags: []string{"--watch-shared=all", "--watch", "done of struct job"}}, coreRun{example: "recycle", flags: []string{"--watch", "length of struct message"}}, "likely race of done of struct job"},
	{"potential", coreRun{example: "classes", flags: []string{"--lock-classes"}}, coreRun{example: "selfinvert", flags: []string{"--lock-classes"}}, "potential deadlock"},
}

// coreRun is an example with the flags to observe it and its own arguments. The reservoir is the example valve with a
// schedule that the test sets.
type coreRun struct {
	example     string
	flags, args []string
}

// coreCommands has, for each command at the top of docs/cli.md, tests of it.
var coreCommands = map[string][]string{
	"exec":          {"TestExecPassesStreamsArgumentsAndEnvironment", "TestExecStatus", "TestExecStatusWithFindings", "TestConfidence", "TestConfirmed", "TestProfile"},
	"attach":        {"TestAttachUntilInterrupted", "TestAttachUntilTheProgramEnds", "TestAttachDuration", "TestProcessAsArgument"},
	"hang":          {"TestHangCommand", "TestHangCommandJSON"},
	"profile":       {"TestProfileOfAProgram", "TestProfileOfAProcess", "TestContended", "TestScripts"},
	"analyze":       {"TestTraceReplaysAsLive", "TestTraceDamaged"},
	"confirm":       {"TestScripts", "TestConfirmReport", "TestConfirmOtherProgram"},
	"convert":       {"TestScripts"},
	"mine":          {"TestMine", "TestMineAsAnotherUser"},
	"suggest-scope": {"TestScripts", "TestSuggestScope"},
	"check":         {"TestScripts", "TestUnfitSpecification"},
	"sites":         {"TestScripts", "TestSitesOfNamesakes"},
	"diff":          {"TestScripts"},
	"suppressions":  {"TestScripts", "TestLibraryInStaticProgram"},
	"specs":         {"TestScripts", "TestInstalledSpecs"},
	"schema":        {"TestScripts"},
	"repair":        {"TestScripts", "TestRepair"},
	"doctor":        {"TestScripts"},

	"replay-schedule": {"TestScripts", "TestReplayScheduleRefuses", "TestReplayScheduleGDB"},
}

// coreStarts has, for each way in which a program comes under observation, tests of it.
var coreStarts = map[string][]string{
	"exec, by the name that a shell finds":      {"TestExecFindsTheProgramAsAShellDoes"},
	"exec, as another user":                     {"TestExecAsAnotherUser", "TestExecObservesAnotherUsersProgram"},
	"exec, through execve":                      {"TestExecFollowsAnExecve", "TestExecFollowsAnExecveToTheSameAddresses"},
	"exec, a script":                            {"TestScripts"},
	"exec, a static program":                    {"TestDeadlockOfStaticPrograms", "TestCounts"},
	"exec, with musl":                           {"TestCountsMusl"},
	"exec, by a dynamic loader":                 {"TestForkedBelowTheLoader"},
	"exec, at a terminal with job control":      {"TestExecInterruptOfTheTerminalArrivesOnce", "TestExecShellJobControl"},
	"exec --follow":                             {"TestFollowForks", "TestFollowPrograms", "TestSuite"},
	"exec, with three capabilities":             {"TestThreeCapabilitiesSuffice"},
	"exec, in a PID namespace":                  {"TestToolInAPIDNamespace"},
	"attach, to threads that are there":         {"TestAttachJoinsEarlierThreads", "TestAttachWhileALockIsHeld"},
	"attach, without the first thread":          {"TestAttachWithoutTheFirstThread", "TestAttachUntilTheOldestThreadEnds"},
	"attach, to a stopped program":              {"TestAttachToAStoppedProgram"},
	"attach, to a program that waits":           {"TestAttachedInWait", "TestHangBefore"},
	"attach, into a container":                  {"TestAttachIntoNamespaces", "TestAttachIntoAnotherRoot"},
	"attach, to replaced files":                 {"TestAttachToReplacedFiles"},
	"attach --follow":                           {"TestFollowAttached"},
	"a library that is loaded later":            {"TestLibrariesLoadedLate"},
	"hardware watchpoints, exec and attach":     {"TestWatchpointSeesAll", "TestWatchpointAttached"},
	"a recorded trace, whole or through a pipe": {"TestTraceThroughAPipe", "TestRecordThenAnalyze"},
}

// coreHarmless has the tests that a program is not harmed, by what could harm it.
var coreHarmless = map[string][]string{
	"being observed":                    {"TestDoesNoHarm", "TestDataBetweenFunctions", "TestExecLeavesTheProgramsSurroundingsAlone", "TestExecWithStandardInputClosed", "TestLongjmp", "TestExceptions", "TestCancel", "TestHandlerInWait"},
	"signals and stops":                 {"TestExecPassesATermination", "TestExecStopAndContinue", "TestAttachStopIsSeenByTheParent", "TestSignalsReachAnotherUsersProgram"},
	"the tool is killed":                {"TestKill", "TestObserverDies", "TestJournalOfAKilledTool", "TestKilledControlGroup", "TestKillDuringAHold", "TestObserveAfterAKill", "TestProgramKilledDuringItsStart", "TestWatchpointsGoWithTheTool"},
	"the program dies":                  {"TestProgramDies", "TestProgramKilledDuringAHold", "TestEndedBeforeItsLibraries"},
	"the tool is slow, or stops":        {"TestAccounting", "TestProgramStoppedDuringAHold", "TestTracedProgramLosesEvents", "TestStoppedToolLosesEvents", "TestLeavesAtOnce"},
	"its children":                      {"TestExecLeavesChildrenAlone", "TestFollowLeavesTheRest"},
	"others that trace":                 {"TestAttachBesideADebugger", "TestLeakCheck", "TestAttachTwiceAtOnce"},
	"journals":                          {"TestJournalsGoWithTheRun", "TestJournalOfAnotherUsersProcess"},
	"privileges":                        {"TestProgramHasWhatItHadWithoutTheTool", "TestToolKeepsThreeCapabilities", "TestMissingCapabilityIsNamed"},
	"output that nobody takes, or full": {"TestTracePipeClosed", "TestTraceDiskFull", "TestReportReaderGone", "TestTraceOfAKilledTool"},
}

// coreOrders has tests of what the verdicts rest on: operations, and what orders them.
var coreOrders = []string{
	"TestMutex", "TestRWLock", "TestCond", "TestSem", "TestJoin", "TestHundredThreads",
	"TestHangWhileObserved", "TestHangThatGoesOn", "TestIdleIsNoHang", "TestDeadlockIsReportedWhileTheProgramRuns",
	"TestMisuse", "TestNoMisuse", "TestPropertyReport", "TestPropertyHolds", "TestOnViolation",
	"TestOrderIO", "TestInterpreterLock", "TestLives", "TestPointers", "TestByNameAndPointer", "TestUpdates", "TestUnseenSync",
	"TestWatchSharedLeavesResultsAlone", "TestExamplesText", "TestChains", "TestCoverage",
}

// coreReadme has the commands of the README, in its order. Each is run as it stands
// there, in a folder that has what it names.
var coreReadme = []struct {
	line string
	// statuses are the exit statuses it may have; none: it is run by the script elsewhere.
	statuses  []int
	elsewhere string
	// running: ./server runs meanwhile, and its input ends once the tool says that it
	// observes it.
	running bool
}{
	{line: "sudo ./tracepredict exec --watch tickets -- build/examples/shop", statuses: []int{66}},
	{line: "make demo", elsewhere: ".ci/run"},
	{line: "make test", elsewhere: ".ci/run"},
	{line: "sudo ./tracepredict exec -- ./server --port 8080", statuses: []int{66}},
	{line: "sudo ./tracepredict exec --watch tickets --watch cache.c:hits -- ./server", statuses: []int{66}},
	{line: "sudo ./tracepredict exec --watch server.stats.hits --watch 'slots[3].state' -- ./server", statuses: []int{0}},
	{line: "sudo ./tracepredict exec --watch 'done of struct job' -- ./server", statuses: []int{0}},
	{line: "sudo ./tracepredict exec --budget 1.3x -- ./server", statuses: []int{0, 66}}, // samples may miss the race
	{line: "./tracepredict sites --watch server.stats.hits ./server", statuses: []int{0}},
	{line: "./tracepredict check examples/valve/valve.tps", statuses: []int{0}},
	{line: "sudo ./tracepredict exec --spec examples/valve/valve.tps -- build/examples/valve", statuses: []int{66}},
	{line: "sudo ./tracepredict exec --spec examples/socket/socket.tps -- build/examples/socket", statuses: []int{66}},
	{line: "sudo ./tracepredict attach --duration 30s -p $(pidof -s server)", statuses: []int{0}, running: true},
	{line: "sudo ./tracepredict hang $(pidof -s server)", statuses: []int{0}, running: true},
	{line: "sudo ./tracepredict exec --on-hang=kill -- ./run-tests", statuses: []int{0}},
	{line: "sudo ./tracepredict profile --duration 30s -p $(pidof -s server)", statuses: []int{0}, running: true},
	{line: "sudo ./tracepredict profile --flame locks.html -- ./run-tests", statuses: []int{0}},
	{line: "sudo ./tracepredict exec --confirm -- build/examples/shop </dev/null", statuses: []int{66}},
	{line: "sudo ./tracepredict exec --confirm --format json --output found.json -- build/examples/shop </dev/null", statuses: []int{66}},
	{line: "sudo ./tracepredict replay-schedule found.json 2 -- build/examples/shop", statuses: []int{66}},
	{line: "sudo ./tracepredict exec --format sarif --output found.sarif --format junit --output found.xml -- ./run-tests", statuses: []int{0}},
	{line: "sudo ./tracepredict exec --record shop.trace --watch tickets -- ./shop", statuses: []int{66}},
	{line: "./tracepredict analyze shop.trace", statuses: []int{66}},
	{line: "./tracepredict convert --to perfetto shop.trace shop.pftrace", statuses: []int{0}},
	{line: "./tracepredict convert --to pprof shop.trace shop.pb.gz", statuses: []int{0}},
}

// coreTests returns the names of all tests of the core, sorted.
func coreTests() []string {
	names := []string{"TestCoreFindings", "TestCoreTables", "TestReadme", "TestBound"}
	for _, table := range []map[string][]string{coreCommands, coreStarts, coreHarmless} {
		for _, tests := range table {
			names = append(names, tests...)
		}
	}
	names = append(names, coreOrders...)
	slices.Sort(names)
	return slices.Compact(names)
}

// selectCore makes -short select the core, unless -run selects tests.
func selectCore() error {
	flag.Parse()
	if !testing.Short() || flag.Lookup("test.run").Value.String() != "" {
		return nil
	}
	return flag.Set("test.run", "^("+strings.Join(coreTests(), "|")+")$")
}

// TestCoreFindings checks that each kind of finding and each confidence is given to a
// program that deserves it, and nothing to an innocent one.
func TestCoreFindings(t *testing.T) {
	needBPF(t)
	t.Parallel()
	for _, c := range coreFindings {
		t.Run(c.row, func(t *testing.T) {
			t.Parallel()
			if status, r := c.guilty.report(t); !strings.HasPrefix(r.summary(), c.found) || status != 66 && status != 137 {
				t.Errorf("%s: findings %q, want %q; exit status %d, notes: %q", c.guilty.example, r.summary(), c.found, status, r.Run.Notes)
			}
			if status, r := c.innocent.report(t); r.summary() != "" || status != 0 {
				t.Errorf("%s: findings %q, want none; exit status %d, notes: %q", c.innocent.example, r.summary(), status, r.Run.Notes)
			}
		})
	}
}

func (c coreRun) report(t *testing.T) (int, jsonReport) {
	t.Helper()
	args := append([]string{"exec"}, c.flags...)
	var status int
	var r jsonReport
	if c.example == "the reservoir" {
		status, r = reportedBy(t, func(args ...string) *child { return startReservoir(t, args...) }, args...)
	} else {
		start := func(args ...string) *child { return startTool(t, childOptions{Stdin: nothing(t)}, args...) } // as a try needs
		status, r = reportedBy(t, start, append(append(args, "--", example(t, c.example)), c.args...)...)
	}
	for i, f := range r.Findings {
		for j, o := range f.Objects {
			r.Findings[i].Objects[j] = heapAddress.ReplaceAllString(o, "")
		}
	}
	return status, r
}

// TestCoreTables checks that the tables have each row of the pages that they stand for,
// and that the tests that they name are there.
func TestCoreTables(t *testing.T) {
	t.Parallel()
	rows := firstCells(t, "../../../docs/findings.md", 2)
	for _, c := range coreFindings {
		if !slices.Contains(rows, c.row) {
			t.Errorf("docs/findings.md has no row %q any more", c.row)
		}
		rows = slices.DeleteFunc(rows, func(r string) bool { return r == c.row })
	}
	for _, row := range rows {
		t.Errorf("coreFindings has no programs for the row %q of docs/findings.md", row)
	}
	commands := commandsOfPage(t)
	for _, name := range commands {
		if len(coreCommands[name]) == 0 {
			t.Errorf("coreCommands has no test of the command %q of docs/cli.md", name)
		}
	}
	for name := range coreCommands {
		if !slices.Contains(commands, name) {
			t.Errorf("docs/cli.md has no command %q any more", name)
		}
	}
	there := testsOfPackage(t)
	for _, name := range coreTests() {
		if !there[name] {
			t.Errorf("the core names %s, and there is no such test", name)
		}
	}
}

// firstCells returns the first cells, without backquotes, of the first tables of a page.
func firstCells(t *testing.T, page string, tables int) []string {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	var cells []string
	inside := false
	for line := range strings.Lines(string(text)) {
		cell, _, isRow := strings.Cut(strings.TrimPrefix(line, "| "), " |")
		switch {
		case !isRow || !strings.HasPrefix(line, "|"):
			inside = false
		case strings.HasPrefix(line, "| ---"):
			inside = true
			tables--
		case inside && tables >= 0:
			cells = append(cells, strings.Trim(cell, "`"))
		}
	}
	if len(cells) == 0 {
		t.Fatalf("%s has no tables", page)
	}
	return cells
}

// commandsOfPage returns the commands that the first block of docs/cli.md lists.
func commandsOfPage(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile("../../../docs/cli.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "```\n")
	block, _, _ := strings.Cut(rest, "```")
	var names []string
	for line := range strings.Lines(block) {
		if words := strings.Fields(line); len(words) > 1 && words[0] == "tracepredict" {
			names = append(names, words[1])
		}
	}
	if len(names) < 5 {
		t.Fatalf("docs/cli.md begins with the commands %q", names)
	}
	return names
}

// testsOfPackage returns the names of the tests of this package.
func testsOfPackage(t *testing.T) map[string]bool {
	t.Helper()
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range parsed.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Test") {
				names[f.Name.Name] = true
			}
		}
	}
	return names
}

var readmeCommand = regexp.MustCompile(`^(?:\$ )?((?:sudo )?\./tracepredict .*|make .*)$`)

// readmeCommands returns the commands in the README's blocks of code.
func readmeCommands(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile("../../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	var commands []string
	code := false
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, "```") {
			code = !code
		}
		if m := readmeCommand.FindStringSubmatch(line); code && m != nil {
			command, _, _ := strings.Cut(m[1], " #")
			commands = append(commands, strings.TrimSpace(command))
		}
	}
	return commands
}

// TestReadme runs each command of the README as a newcomer does.
func TestReadme(t *testing.T) {
	t.Parallel()
	atMost(t, 3*time.Minute, "21 commands, one after the other")
	var lines []string
	for _, c := range coreReadme {
		lines = append(lines, c.line)
	}
	if commands := readmeCommands(t); !slices.Equal(commands, lines) {
		t.Fatalf("the README has the commands\n%s\ncoreReadme has\n%s", strings.Join(commands, "\n"), strings.Join(lines, "\n"))
	}
	needBPF(t)
	dir := readmeFolder(t)
	for _, c := range coreReadme {
		if c.elsewhere != "" {
			script, err := os.ReadFile("../../../" + c.elsewhere)
			if err != nil || !regexp.MustCompile(`(?m)^\s*`+strings.Replace(c.line, " ", ` (?:--no-print-directory )?`, 1)+`$`).Match(script) {
				t.Errorf("%s does not run %s (%v)", c.elsewhere, c.line, err)
			}
			continue
		}
		command := childOptions{Dir: dir, Env: []string{"PATH=" + dir + "/bin:" + os.Getenv("PATH")}}
		var server *child
		if c.running {
			server = startChild(t, childOptions{Dir: dir}, filepath.Join(dir, "server"))
			server.waitLine("98 tickets")
			command.Env = append(command.Env, fmt.Sprintf("SERVER=%d", server.pid()))
		}
		shell := startChild(t, command, "/bin/sh", "-c", c.line)
		if c.running {
			poll(t, "the tool to observe, or to end", func() bool { return shell.err.has("tracepredict: observing ") || shell.hasEnded() })
			server.want(0)
		}
		if got := shell.wait(); !slices.Contains(c.statuses, got) {
			t.Errorf("%s: exit status %d, want one of %v\n%s%s", c.line, got, c.statuses, shell.out.String(), shell.err.String())
		}
	}
	for _, name := range []string{"found.sarif", "found.xml", "shop.trace", "shop.pftrace", "locks.html"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Size() == 0 {
			t.Errorf("%s is empty, or %v", name, err)
		}
	}
}

// readmeFolder returns a folder with all that the README's commands name. sudo there
// does nothing more, and pidof finds the server of this test only.
func readmeFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"bin", "build/examples"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range map[string]string{
		"tracepredict":          toolPath(t),
		"server":                build(t, "gcc", "readme/server.c", "testdata/readme/cache.c", "-O1", "-pthread"),
		"run-tests":             build(t, "gcc", "readme/tests.c", "-O1", "-pthread"),
		"shop":                  example(t, "shop"),
		"build/examples/shop":   example(t, "shop"),
		"build/examples/valve":  example(t, "valve"),
		"build/examples/socket": example(t, "socket"),
		"examples":              filepath.Join(root, "examples"),
	} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	for name, script := range map[string]string{"sudo": "#!/bin/sh\nexec \"$@\"\n", "pidof": "#!/bin/sh\necho \"$SERVER\"\n"} {
		if err := os.WriteFile(filepath.Join(dir, "bin", name), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
