package jsonreport

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/analysis/report"
	"github.com/tracepredict/tracepredict/analysis/report/reporttest"
)

// TestReadRefuses: what is no report, or contradicts itself, is refused with what is wrong.
func TestReadRefuses(t *testing.T) {
	whole := string(writeJSON(t, report.Build(reporttest.ShopRun(), reporttest.All(), reporttest.ShopTable())))
	for _, c := range []struct{ text, want string }{
		{"", "it is empty"},
		{"no JSON", "invalid character"},
		{"[]", "cannot unmarshal array"},
		{"{}", "it lacks run, findings, stacks or frames"},
		{`{"runs":[{"tool":{"driver":{"name":"other"}}}]}`, "it lacks run"},
		{whole[:len(whole)/2], "unexpected EOF"},
		{whole + whole, "there is more behind the first report"},
		{strings.Replace(whole, `"kind":"deadlock"`, `"kind":"quarrel"`, 1), `finding 0: there is no kind "quarrel"`},
		{strings.Replace(whole, `"confidence":"predicted"`, `"confidence":"sure"`, 1), `there is no confidence "sure"`},
		{strings.Replace(whole, `"operation":"acquire"`, `"operation":"ask"`, 1), `there is no operation "ask"`},
		{strings.Replace(whole, `"stack_id":1`, `"stack_id":99999`, 1), "there is no stack 99999"},
		{strings.Replace(whole, `"own_frame":1`, `"own_frame":77`, 1), "there is no frame 77"},
		{strings.Replace(whole, `"explains":[0`, `"explains":[-1`, 1), "side -1 is to explain it"},
		{strings.Replace(whole, `"address":"0x`, `"address":"0y`, 1), "is no address"},
	} {
		_, err := Read(strings.NewReader(c.text), "found.json")
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "read the report found.json: ") {
			t.Errorf("%.60q: %v, want %q", c.text, err, c.want)
		}
	}
	if _, err := Read(strings.NewReader(whole), "found.json"); err != nil {
		t.Error(err)
	}
}

// TestReadSteering: what says how another run is led is read as it was written, and refused if it cannot be followed.
func TestReadSteering(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{`{"files":[{"path":"p","build_id":""}],"steps":[{"thread":[0],"file":0,"address":8,"after":[1],"text":"a"},{"thread":[1],"file":0,"address":8,"text":"b"}]}`, ""},
		{`{"files":[],"steps":[{"thread":[0],"file":0,"address":8,"text":"a"}]}`, "is in file 0, and there are 0"},
		{`{"files":[{"path":"p","build_id":""}],"steps":[{"thread":[0],"file":0,"address":8,"after":[1],"text":"a"}]}`, "waits for step 1, and there are 1"},
		{`{"files":[{"path":"p","build_id":""}],"steps":[],"meets":[{"thread":[0],"file":0,"address":8,"text":"a"}]}`, "meets has the length 1, not 2"},
	} {
		var s report.Steering
		if err := json.Unmarshal([]byte(c.text), &s); err != nil {
			t.Fatal(err)
		}
		switch err := checkSteering(&s); {
		case c.want == "" && err != nil, c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %v, want %q", c.text, err, c.want)
		}
	}
}
