package synctab

import (
	"errors"
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/bpf"
)

func TestParseErrors(t *testing.T) {
	tests := []struct {
		name, text, want string
	}{
		{"syntax", "[[call]]\nname = [\n", "my.toml:2:9: unexpected EOF"},
		{"misspelt key", "[[call]]\nname = 'a'\noperation='acquire'\n[[call]]\nname = 'f'\n  opration = 'acquire'\n", `my.toml:6:3: unknown key "opration": did you mean "operation"?`},
		{"misspelt key of the first row", "[[call]]\nname = 'a'\noperation='acquire'\nobjet=1\n[[call]]\nname='b'\noperation='acquire'\nobject=1\n", `my.toml:4:1: unknown key "objet"`},
		{"object of a team's operation", "[[call]]\nname = 'f'\noperation = 'team-barrier'\nobject = 1\n", `my.toml:4:1: team-barrier acts on what its thread belongs to: remove object`},
		{"object of an interpreter's lock", "[[call]]\nname = 'f'\noperation = 'interpreter-release'\nobject = 1\n", `my.toml:4:1: interpreter-release acts on what its thread belongs to: remove object`},
		{"object at a function of a wait", "[[call]]\nname = 'f'\noperation = 'sem-wait'\nobject_at = 'f'\n", `my.toml:4:1: only a lock can have no address of its own: remove object_at`},
		{"two objects", "[[call]]\nname = 'f'\noperation = 'release'\nobject = 1\nobject_at = 'f'\n", `my.toml:5:1: the object is either an argument or none: remove object or object_at`},
		{"key in other case", "[[call]]\nName = 'f'\n", `my.toml:2:1: unknown key "Name": did you mean "name"?`},
		{"single brackets", "[call]\nname = 'f'\n", "my.toml:1:1: call is not an array of tables"},
		{"unknown table", "[[cal]]\nname = 'f'\n", `my.toml:1:1: unknown table "cal"`},
		{"misspelt operation", "[[call]]\nname = 'f'\noperation = 'aquire'\n", `my.toml:3:1: unknown operation "aquire": did you mean "acquire"?`},
		{"operation of records only", "[[call]]\nname = 'f'\noperation = 'fork'\n", `unknown operation "fork"`},
		{"nothing near", "[[call]]\nname = 'f'\noperation = 'zzzzzzzzz'\n", "it is one of none, acquire,"},
		{"no operation", "[[call]]\nname = 'f'\n", "my.toml:1:1: this row has no operation"},
		{"no name", "[[call]]\noperation = 'acquire'\n", "my.toml:1:1: this row has no name"},
		{"empty names", "[[call]]\nname = []\noperation = 'acquire'\n", "my.toml:2:1: name is empty"},
		{"name is a number", "[[call]]\nname = 3\noperation = 'acquire'\n", "my.toml:2:1: name is 3"},
		{"version", "[[call]]\nname = 'f@@GLIBC_2.34'\noperation = 'acquire'\n", "write f, a row holds for every version"},
		{"parameters", "[[call]]\nname = 'a::f(int)'\noperation = 'acquire'\n", "write a::f, a row holds for every overload"},
		{"twice", "[[call]]\nname = 'f'\noperation = 'acquire'\n[[call]]\nname = 'f'\noperation = 'release'\n", "my.toml:5:1: f has a row already (line 2)"},
		{"kind", "[[call]]\nname = 'f'\noperation = 'acquire'\nkind = 'mutecks'\n", `my.toml:4:1: unknown kind "mutecks": did you mean "mutex"?`},
		{"wrong kind", "[[call]]\nname = 'f'\noperation = 'signal'\nkind = 'mutex'\n", "signal does not act on a mutex, but on: condition"},
		{"init without kind", "[[call]]\nname = 'f'\noperation = 'init'\n", "this row has no kind"},
		{"object", "[[call]]\nname = 'f'\noperation = 'acquire'\nobject = 0\n", "my.toml:4:1: object is 0: write the number of an argument, 1 to 6"},
		{"object is text", "[[call]]\nname = 'f'\noperation = 'acquire'\nobject = 'rdi'\n", `object is "rdi"`},
		{"try without success", "[[call]]\nname = 'f'\noperation = 'acquire'\ntry = true\n", "how it tells success"},
		{"try of release", "[[call]]\nname = 'f'\noperation = 'release'\ntry = true\n", "my.toml:4:1: release does not wait"},
		{"try and timed", "[[call]]\nname = 'f'\noperation = 'acquire'\ntry = true\ntimed=true\nsuccess='zero'\n", "my.toml:5:1: a call either tries or waits"},
		{"success of release", "[[call]]\nname = 'f'\noperation = 'release'\nsuccess = 'zero'\n", "remove success"},
		{"success", "[[call]]\nname = 'f'\noperation = 'acquire'\nsuccess = 'zerro'\n", `did you mean "zero"?`},
		{"wait without mutex", "[[call]]\nname = 'f'\noperation = 'wait'\n", "a wait needs its mutex: add second = 2"},
		{"second of acquire", "[[call]]\nname = 'f'\noperation = 'acquire'\nsecond = 2\n", "acquire has no second operand"},
		{"shared of a lock", "[[call]]\nname = 'f'\noperation = 'acquire'\nshared = 2\n", "only an init says"},
		{"kind of a mutex", "[[call]]\nname = 'f'\noperation = 'acquire'\nkind_at = 8\n", "remove kind_at"},
		{"kind where nothing is", "[[call]]\nname = 'f'\noperation = 'acquire-read'\nkind_at = 0\n", "kind_at is 0: write how many bytes"},
		{"same operand", "[[call]]\nname = 'f'\noperation = 'wait'\nsecond = 1\n", "the same argument"},
		{"boolean in quotes", "[[call]]\nname = 'f'\noperation = 'acquire'\nunwinds = 'yes'\n", "write true or false, without quotes"},
		{"after a list over lines", "[[call]]\nname = [\n 'f', # ] \"\n \"g]\\\"\",\n]\noperation = 1\n", "my.toml:6:1: operation is 1"},
		{"after a long string", "[[call]]\nname = '''\nobject = ]'''\noperation = 'acquire'\nobject = 9\n", "my.toml:5:1: object is 9"},
		{"several at once", "[[call]]\nname = 'f'\noperation = 'aquire'\nobject = 9\n", "\nmy.toml:3:1:"},
		{"inline table", "call = [{name = 'f', operation = 'aquire'}]\n", "my.toml:1:1: unknown operation"},
		{"too large", strings.Repeat("#", maxSize+1), "larger than 4 MiB"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Parse(strings.NewReader(tt.text), "my.toml")
			if err == nil {
				t.Fatal("no error")
			}
			if !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got  %v\nwant %s", err, tt.want)
			}
			var e *Error
			if !errors.As(err, &e) {
				t.Errorf("%v is no *Error", err)
			}
		})
	}
}

func TestDefaults(t *testing.T) {
	tests := []struct {
		text string
		want Entry
	}{
		{"operation='acquire'", Entry{Op: bpf.OpAcquire, Kind: KindMutex, Object: 1, Unwinds: true}},
		{"operation='acquire-read'", Entry{Op: bpf.OpAcquireRead, Kind: KindRWLock, Object: 1, Unwinds: true}},
		{"operation='release'\nlibrary='*'", Entry{Op: bpf.OpRelease, Kind: KindMutex, Object: 1, Library: AnyLibrary, Unwinds: true}},
		{"operation='interpreter-release'", Entry{Op: bpf.OpInterpreterRelease, Kind: KindThread, Unwinds: true}},
		{"operation='guard-acquire'", Entry{Op: bpf.OpGuardAcquire, Kind: KindOnce, Object: 1, Success: bpf.SuccessNonzero, Unwinds: true}},
		{"operation='acquire'\nkind='spinlock'\nobject=2\nsuccess='true'\ntry=true\nunwinds=false", Entry{Op: bpf.OpAcquire, Kind: KindSpin, Object: 2, Success: bpf.SuccessTrue8, Try: true}},
	}
	for _, tt := range tests {
		got, ok := mustParse(t, "[[call]]\r\nname='f'\r\n"+tt.text).Match("f", "")
		got.Names, got.Source = nil, ""
		if !ok || got.Op != tt.want.Op || got.Kind != tt.want.Kind || got.Object != tt.want.Object || got.Library != tt.want.Library || got.Success != tt.want.Success || got.Try != tt.want.Try || got.Unwinds != tt.want.Unwinds {
			t.Errorf("%s: got %+v", tt.text, got)
		}
	}
}

func TestEmptyText(t *testing.T) {
	if n := len(rowsOf(mustParse(t, "# nothing\n"))); n != 0 {
		t.Errorf("%d rows", n)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(string(builtin))
	f.Add("[[call]]\nname = ['f', 'a::b']\noperation = 'wait'\nsecond = 2\n")
	f.Add("call = [{name = 'f', operation = 'acquire'}]\n")
	f.Add("[[call]]\n'name' = \"\"\"\n[[call]]\"\"\"\n")
	f.Fuzz(func(t *testing.T, text string) {
		table, err := Parse(strings.NewReader(text), "fuzz.toml")
		if err != nil {
			if len(rowsOf(table)) != 0 {
				t.Error("both an error and a table")
			}
			return
		}
		for _, e := range rowsOf(table) {
			if (e.Object < 1) != (e.ObjectAt != "" || operations[e.Op].objectless) || e.Object > MaxArgument || e.Kind == KindNone {
				t.Errorf("accepted %+v", e)
			}
			for _, n := range e.Names {
				if _, ok := table.Match(n, ""); !ok {
					t.Errorf("%q is in the table but does not match", n)
				}
			}
		}
	})
}

func FuzzMatch(f *testing.F) {
	f.Add("_ZN4absl5Mutex4LockEv", "absl::Mutex::Lock()")
	f.Add("x", "operator<(a<b>)")
	f.Add("x", ")(")
	f.Fuzz(func(t *testing.T, linkage, demangled string) {
		table := mustParse(t, "[[call]]\nname = ['a::b', 'operator<']\noperation = 'acquire'\n")
		table.Match(linkage, demangled)
		table.NeedsDemangling(linkage)
	})
}
