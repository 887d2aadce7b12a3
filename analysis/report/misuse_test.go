package report_test

import (
	"testing"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/report"
	"github.com/tracepredict/tracepredict/analysis/report/reporttest"
	"github.com/tracepredict/tracepredict/observer/event"
)

// TestMisuseSentences checks the sentence for each rule, also if the other side is unknown.
func TestMisuseSentences(t *testing.T) {
	step := func(seq uint64, thread event.ThreadID, op event.Op, object event.ObjectID, at event.StackID) finding.Step {
		return finding.Step{Seq: seq, Thread: thread, Op: op, Object: object, Stack: at}
	}
	peer := func(seq uint64, thread, peer event.ThreadID, op event.Op, at event.StackID) finding.Step {
		return finding.Step{Seq: seq, Thread: thread, Op: op, Peer: peer, Stack: at}
	}
	const front, back, mine = "T2 front_desk", "T3 back_desk", "T1 main thread"
	locks := []event.ObjectID{reporttest.Ledger, reporttest.Till, reporttest.HeapA}
	for _, c := range []struct {
		rule     finding.Rule
		evidence []finding.Step
		want     string
	}{
		{finding.Relock, []finding.Step{step(2, 2, event.AcquireFailed, reporttest.Ledger, 2), step(1, 2, event.Acquire, reporttest.Ledger, 1)},
			front + " locks 'ledger' again at shop/shop.c:22, which it holds since shop/shop.c:20"},
		{finding.UnlockNotHeld, []finding.Step{step(2, 2, event.ReleaseUnheld, reporttest.HeapA, 2)}, front + " unlocks the mutex initialised in order_new at order.c:12 (0x9000) at shop/shop.c:22, which nobody holds"},
		{finding.UnlockNotHeld, []finding.Step{step(2, 2, event.ReleaseUnheld, reporttest.Ledger, 2), step(1, 2, event.Acquire, reporttest.Ledger, 1)},
			front + " unlocks 'ledger' at shop/shop.c:22, which nobody holds: it locked it last at shop/shop.c:20"},
		{finding.UnlockByOther, []finding.Step{step(2, 2, event.ReleaseUnheld, reporttest.Ledger, 0), step(1, 3, event.Acquire, reporttest.Ledger, 4)},
			front + " unlocks 'ledger', which " + back + " holds since desk/shop.c:32"},
		{finding.FreeHeld, []finding.Step{step(2, 2, event.Destroy, reporttest.Ledger, 2), step(1, 3, event.Acquire, reporttest.Ledger, 4)},
			front + " frees the memory of 'ledger' at shop/shop.c:22, which " + back + " holds since desk/shop.c:32"},
		{finding.DestroyHeld, []finding.Step{step(2, 2, event.Destroy, reporttest.Ledger, 2), step(1, 3, event.Acquire, reporttest.Ledger, 4)},
			front + " destroys 'ledger' at shop/shop.c:22, which " + back + " holds since desk/shop.c:32"},
		{finding.DestroyHeld, []finding.Step{step(2, 2, event.Destroy, reporttest.Ledger, 2), step(1, 2, event.Acquire, reporttest.Ledger, 0)},
			front + " destroys 'ledger' at shop/shop.c:22, which it holds"},
		{finding.DestroyWaited, []finding.Step{step(2, 2, event.Destroy, reporttest.Ledger, 2), step(1, 3, event.Wait, reporttest.Ledger, 4)},
			front + " destroys 'ledger' at shop/shop.c:22, while " + back + " waits there since desk/shop.c:32"},
		{finding.DestroyUnordered, []finding.Step{step(2, 2, event.Destroy, reporttest.Ledger, 2), step(1, 3, event.Acquire, reporttest.Ledger, 4)},
			front + " destroys 'ledger' at shop/shop.c:22, and nothing orders that after its use by " + back + " at desk/shop.c:32"},
		{finding.DestroyTwice, []finding.Step{step(2, 2, event.DestroyAgain, reporttest.Ledger, 2), step(1, 3, event.Destroy, reporttest.Ledger, 4)},
			front + " destroys 'ledger' at shop/shop.c:22, which " + back + " destroyed before at desk/shop.c:32"},
		{finding.DestroyTwice, []finding.Step{step(2, 2, event.DestroyAgain, reporttest.Ledger, 2), step(1, 2, event.Destroy, reporttest.Ledger, 1)},
			front + " destroys 'ledger' at shop/shop.c:22, which it destroyed before at shop/shop.c:20"},
		{finding.ReinitHeld, []finding.Step{step(2, 2, event.Init, reporttest.Ledger, 2), step(1, 3, event.Acquire, reporttest.Ledger, 4)},
			front + " initialises 'ledger' again at shop/shop.c:22, which " + back + " holds since desk/shop.c:32"},
		{finding.ReinitWaited, []finding.Step{step(2, 2, event.Init, reporttest.Ledger, 2), step(1, 3, event.Wait, reporttest.Ledger, 4)},
			front + " initialises 'ledger' again at shop/shop.c:22, while " + back + " waits there since desk/shop.c:32"},
		{finding.OverwrittenWaited, []finding.Step{step(2, 2, event.Signal, reporttest.Ledger, 2), step(1, 3, event.Wait, reporttest.Ledger, 4)},
			front + " signals 'ledger' at shop/shop.c:22, whose memory was overwritten while " + back + " waits there since desk/shop.c:32"},
		{finding.UseDestroyed, []finding.Step{step(2, 2, event.UseDestroyed, reporttest.Ledger, 2), step(1, 3, event.Destroy, reporttest.Ledger, 4)},
			front + " uses 'ledger' at shop/shop.c:22, which " + back + " destroyed at desk/shop.c:32"},
		{finding.WaitNotHeld, []finding.Step{step(2, 2, event.Wait, reporttest.Ledger, 2)}, front + " waits on 'ledger' at shop/shop.c:22 with 'till+0x8', which it does not hold"},
		{finding.WaitNotHeld, []finding.Step{step(2, 2, event.Wait, reporttest.Ledger, 2), step(1, 2, event.Acquire, reporttest.Till, 1)},
			front + " waits on 'ledger' at shop/shop.c:22 with 'till+0x8', which it does not hold: it locked it last at shop/shop.c:20"},
		{finding.WaitNotHeld, []finding.Step{step(2, 2, event.Wait, reporttest.Ledger, 2), step(1, 3, event.Acquire, reporttest.Till, 4)},
			front + " waits on 'ledger' at shop/shop.c:22 with 'till+0x8', which " + back + " holds since desk/shop.c:32"},
		{finding.UnlockInconsistent, []finding.Step{step(2, 2, event.ReleaseInconsistent, reporttest.Ledger, 2), step(1, 2, event.Acquire, reporttest.Ledger, 1)},
			front + " unlocks 'ledger' at shop/shop.c:22 without making it consistent, though its last owner died with it, when it locked it at shop/shop.c:20"},
		{finding.ExitHolding, []finding.Step{step(2, 2, event.End, 0, 0), {Seq: 1, Thread: 2, Op: event.Acquire, Flags: event.Inferred | event.InCondWait, Object: reporttest.Ledger, Stack: 1}},
			front + " ends while it holds 'ledger', which it has again since it was cancelled in its wait at shop/shop.c:20"},
		{finding.WaitTwoMutexes, []finding.Step{step(2, 2, event.Wait, reporttest.Ledger, 2), step(1, 3, event.Wait, reporttest.Ledger, 4)},
			front + " waits on 'ledger' with 'till+0x8' at shop/shop.c:22, while " + back + " waits there with the mutex initialised in order_new at order.c:12 (0x9000) since desk/shop.c:32"},
		{finding.ExitHolding, []finding.Step{step(2, 2, event.End, 0, 0), step(1, 2, event.Acquire, reporttest.Ledger, 1)}, front + " ends while it holds 'ledger', locked at shop/shop.c:20"},
		{finding.ExitHolding, []finding.Step{{Seq: 2, Thread: 1, Op: event.QuitHolding, Object: reporttest.Ledger, Peer: 2}, step(1, 1, event.Acquire, reporttest.Ledger, 10)},
			"main has returned, which ends the process, while " + mine + " holds 'ledger', locked at shop/shop.c:60; " + front + " has used it too"},
		{finding.JoinDetached, []finding.Step{peer(2, 1, 2, event.JoinFailed, 10), peer(1, 1, 2, event.Detach, 11)},
			mine + " joins " + front + " at shop/shop.c:60, which it detached at shop/shop.c:61"},
		{finding.JoinDetached, []finding.Step{peer(2, 1, 2, event.JoinFailed, 10), peer(1, 1, 2, event.Fork, 11)},
			mine + " joins " + front + " at shop/shop.c:60, which was made detached at shop/shop.c:61"},
		{finding.JoinTwice, []finding.Step{peer(2, 1, 2, event.JoinFailed, 10), peer(1, 1, 2, event.Join, 11)},
			mine + " joins " + front + " at shop/shop.c:60, which it joined before at shop/shop.c:61"},
		{finding.JoinTwice, []finding.Step{peer(2, 1, 2, event.JoinFailed, 10), peer(3, 3, 2, event.Join, 4)},
			mine + " joins " + front + " at shop/shop.c:60, which " + back + " is joining at desk/shop.c:32"},
		{finding.DetachTwice, []finding.Step{peer(2, 1, 2, event.DetachAgain, 10), peer(1, 3, 2, event.Join, 4)},
			mine + " detaches " + front + " at shop/shop.c:60, which " + back + " joined before at desk/shop.c:32"},
		{finding.DetachTwice, []finding.Step{peer(2, 1, 2, event.DetachAgain, 10), peer(1, 1, 2, event.Detach, 11)},
			mine + " detaches " + front + " at shop/shop.c:60, which it detached before at shop/shop.c:61"},
		{finding.JoinSelf, []finding.Step{peer(2, 2, 2, event.JoinFailed, 2)}, front + " joins itself at shop/shop.c:22"},
		{finding.NeverJoined, []finding.Step{peer(1, 1, 2, event.Fork, 10), step(2, 2, event.End, 0, 0)},
			front + ", made by " + mine + " at shop/shop.c:60, has ended, and nobody joined or detached it"},
		{"of later days", []finding.Step{step(2, 2, event.Release, reporttest.Ledger, 2)}, "misuse on 'ledger': release in sell at shop/shop.c:22 (T2)"},
	} {
		f := finding.Finding{Kind: finding.Misuse, Confidence: finding.Observed, Rule: c.rule, Evidence: c.evidence, Objects: locks}
		for _, s := range c.evidence {
			f.Threads = append(f.Threads, s.Thread)
		}
		if c.evidence[0].Object == reporttest.HeapA {
			f.Objects = []event.ObjectID{reporttest.HeapA}
		}
		// A second finding, so that files of the same name must be distinguished.
		rep := report.Build(reporttest.ShopRun(), []finding.Finding{f, reporttest.Deadlock(reporttest.Ledger, reporttest.Till)}, reporttest.ShopTable())
		if got := rep.Findings[0].Message; got != c.want {
			t.Errorf("%s:\n%s, want\n%s", c.rule, got, c.want)
		}
	}
}
