package report

import (
	"fmt"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/observer/event"
)

// misuse returns the sentence of a misuse: which thread broke the rule on which object, as "T2
// worker unlocks 'm' at pool.c:33, which T1 main thread holds since pool.c:12".
func (n Names) misuse(f *Finding) string {
	wrong := f.Evidence[0]
	who := f.Thread(wrong.Thread).Label()
	what, at := Quoted(wrong.Object), prefixed(" at ", n.At(wrong.Stack))
	switch f.Rule {
	case finding.Relock:
		return fmt.Sprintf("%s locks %s again%s%s", who, what, at, n.atOther(f, ", which it holds since %s", ", which it holds"))
	case finding.UnlockNotHeld:
		return fmt.Sprintf("%s unlocks %s%s, which nobody holds%s", who, what, at, n.atOther(f, ": it locked it last at %s", ""))
	case finding.UnlockByOther:
		return fmt.Sprintf("%s unlocks %s%s, which %s holds%s", who, what, at, n.second(f), n.atOther(f, " since %s", ""))
	case finding.DestroyHeld:
		return fmt.Sprintf("%s destroys %s%s, which %s holds%s", who, what, at, n.holder(f), n.atOther(f, " since %s", ""))
	case finding.FreeHeld:
		return fmt.Sprintf("%s frees the memory of %s%s, which %s holds%s", who, what, at, n.holder(f), n.atOther(f, " since %s", ""))
	case finding.DestroyWaited:
		return fmt.Sprintf("%s destroys %s%s, while %s waits there%s", who, what, at, n.second(f), n.atOther(f, " since %s", ""))
	case finding.DestroyUnordered:
		return fmt.Sprintf("%s destroys %s%s, and nothing orders that after its use by %s%s", who, what, at, n.second(f), n.atOther(f, " at %s", ""))
	case finding.DestroyTwice:
		return fmt.Sprintf("%s destroys %s%s, which %s destroyed before%s", who, what, at, n.holder(f), n.atOther(f, " at %s", ""))
	case finding.ReinitHeld:
		return fmt.Sprintf("%s initialises %s again%s, which %s holds%s", who, what, at, n.holder(f), n.atOther(f, " since %s", ""))
	case finding.ReinitWaited:
		return fmt.Sprintf("%s initialises %s again%s, while %s waits there%s", who, what, at, n.second(f), n.atOther(f, " since %s", ""))
	case finding.OverwrittenWaited:
		return fmt.Sprintf("%s %s %s%s, whose memory was overwritten while %s waits there%s", who, verbs(wrong.Op), what, at, n.second(f), n.atOther(f, " since %s", ""))
	case finding.UseDestroyed:
		return fmt.Sprintf("%s uses %s%s, which %s destroyed%s", who, what, at, n.holder(f), n.atOther(f, " at %s", ""))
	case finding.UnlockInconsistent:
		return fmt.Sprintf("%s unlocks %s%s without making it consistent, though its last owner died with it%s", who, what, at, n.atOther(f, ", when it locked it at %s", ""))
	case finding.WaitNotHeld:
		return n.waitNotHeld(f, who, at)
	case finding.WaitTwoMutexes:
		return fmt.Sprintf("%s waits on %s with %s%s, while %s waits there with %s%s",
			who, what, objectAt(f, 1), at, n.second(f), objectAt(f, 2), n.atOther(f, " since %s", ""))
	}
	return n.misuseOfThread(f, who, at)
}

// misuseOfThread is misuse for the rules on threads.
func (n Names) misuseOfThread(f *Finding, who, at string) string {
	wrong := f.Evidence[0]
	peer := f.Thread(wrong.Peer).Label()
	switch f.Rule {
	case finding.ExitHolding:
		return n.exitHolding(f, who)
	case finding.JoinDetached:
		if len(f.Evidence) > 1 && f.Evidence[1].Op == event.Fork {
			return fmt.Sprintf("%s joins %s%s, which was made detached%s", who, peer, at, n.atOther(f, " at %s", ""))
		}
		return fmt.Sprintf("%s joins %s%s, which %s detached%s", who, peer, at, n.holder(f), n.atOther(f, " at %s", ""))
	case finding.JoinTwice:
		if len(f.Evidence) > 1 && f.Evidence[1].Seq < wrong.Seq {
			return fmt.Sprintf("%s joins %s%s, which %s joined before%s", who, peer, at, n.holder(f), n.atOther(f, " at %s", ""))
		}
		return fmt.Sprintf("%s joins %s%s, which %s is joining%s", who, peer, at, n.second(f), n.atOther(f, " at %s", ""))
	case finding.JoinSelf:
		return fmt.Sprintf("%s joins itself%s", who, at)
	case finding.DetachTwice:
		did := "detached"
		if len(f.Evidence) > 1 && f.Evidence[1].Op == event.Join {
			did = "joined"
		}
		return fmt.Sprintf("%s detaches %s%s, which %s %s before%s", who, peer, at, n.holder(f), did, n.atOther(f, " at %s", ""))
	case finding.NeverJoined:
		return fmt.Sprintf("%s, made by %s%s, has ended, and nobody joined or detached it", peer, who, at)
	}
	return n.generic(f)
}

func (n Names) exitHolding(f *Finding, who string) string {
	if len(f.Evidence) < 2 {
		return who + " ends while it holds a lock"
	}
	if f.Evidence[0].Op == event.QuitHolding {
		return fmt.Sprintf("main has returned, which ends the process, while %s holds %s%s; %s has used it too",
			who, Quoted(f.Evidence[1].Object), n.atOther(f, ", locked at %s", ""), f.Thread(f.Evidence[0].Peer).Label())
	}
	text, acquired := fmt.Sprintf("%s ends while it holds %s", who, Quoted(f.Evidence[1].Object)), f.Evidence[1]
	if acquired.Op == event.Acquire && acquired.Flags&event.Inferred != 0 {
		return text + n.atOther(f, ", which it has again since it was cancelled in its wait at %s", ", which it has again since it was cancelled in its wait")
	}
	return text + n.atOther(f, ", locked at %s", "")
}

func (n Names) waitNotHeld(f *Finding, who, at string) string {
	wrong := f.Evidence[0]
	text := fmt.Sprintf("%s waits on %s%s with %s, which ", who, Quoted(wrong.Object), at, objectAt(f, 1))
	if len(f.Evidence) > 1 && f.Evidence[1].Thread != wrong.Thread {
		return text + fmt.Sprintf("%s holds%s", n.second(f), n.atOther(f, " since %s", ""))
	}
	return text + "it does not hold" + n.atOther(f, ": it locked it last at %s", "")
}

// second returns the name of the thread of the other side.
func (n Names) second(f *Finding) string {
	if len(f.Evidence) < 2 {
		return "another thread"
	}
	return f.Thread(f.Evidence[1].Thread).Label()
}

// holder returns the result of second, or "it" if that is the thread that broke the rule.
func (n Names) holder(f *Finding) string {
	if len(f.Evidence) > 1 && f.Evidence[1].Thread == f.Evidence[0].Thread {
		return "it"
	}
	return n.second(f)
}

// atOther formats the source location of the other side into the text with. If the location
// is unknown, it returns the text instead.
func (n Names) atOther(f *Finding, with, instead string) string {
	if len(f.Evidence) > 1 {
		if at := n.At(f.Evidence[1].Stack); at != "" {
			return fmt.Sprintf(with, at)
		}
	}
	return instead
}

// objectAt returns the name of the object with index i of the finding.
func objectAt(f *Finding, i int) string {
	if i >= len(f.Objects) {
		return "something"
	}
	return Quoted(&f.Objects[i])
}
